"""The tile kernels for AVX-512 VNNI and AVX2, emitted as LLVM IR.

Each is one stand-alone LLVM function over raw pointers, called by a small Numba intrinsic, and kept
apart (noinline) so that nothing of the caller competes for its registers. What a tile is, and the
same in plain loops, is in ``tiles``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from precall.engines.cpu.kernel_choice import KERNELS, Kernel, is_supported

_I1, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 16, 32, 64))


class _Simd(NamedTuple):
    """What differs between the SIMD kernels."""

    kernel: Kernel
    lanes: int  # int32 lanes of a vector register
    multiply_add: Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]
    bits: Callable[[ir.IRBuilder, ir.Value], ir.Value]


def _avx512_multiply_add(b: ir.IRBuilder, acc: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    """``acc + x.even * y.even + x.odd * y.odd`` for 16 int32 lanes, in one instruction."""
    v16i32, v32i16 = ir.VectorType(_I32, 16), ir.VectorType(_I16, 32)
    name = "llvm.x86.avx512.vpdpwssd.512"
    dot = b.module.declare_intrinsic(name, fnty=ir.FunctionType(v16i32, [v16i32, v32i16, v32i16]))
    return b.call(dot, [acc, b.bitcast(x, v32i16), b.bitcast(y, v32i16)])


def _avx2_multiply_add(b: ir.IRBuilder, acc: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    """The same for 8 int32 lanes, in two instructions."""
    v8i32, v16i16 = ir.VectorType(_I32, 8), ir.VectorType(_I16, 16)
    name = "llvm.x86.avx2.pmadd.wd"
    madd = b.module.declare_intrinsic(name, fnty=ir.FunctionType(v8i32, [v16i16, v16i16]))
    return b.add(acc, b.call(madd, [b.bitcast(x, v16i16), b.bitcast(y, v16i16)]))


def _avx512_bits(b: ir.IRBuilder, hits: ir.Value) -> ir.Value:
    """16 flags as the low bits of an int32 (a comparison writes a mask register anyway)."""
    return b.zext(b.bitcast(hits, ir.IntType(16)), _I32)


def _avx2_bits(b: ir.IRBuilder, hits: ir.Value) -> ir.Value:
    """8 flags as the low bits of an int32.

    A bitcast as above would do, but LLVM merges those of a row into a longer sequence of packs.
    """
    v8f32 = ir.VectorType(ir.FloatType(), 8)
    name = "llvm.x86.avx.movmsk.ps.256"
    signs = b.module.declare_intrinsic(name, fnty=ir.FunctionType(_I32, [v8f32]))
    return b.call(signs, [b.bitcast(b.sext(hits, ir.VectorType(_I32, 8)), v8f32)])


Tile = dict[tuple[int, int], ir.Value]  # (row, half) -> vector of int32, held in a register


class _TileEmitter:
    """Emits ``int32 name(a, b, n_pairs, row_limit, row_norm, col_norm, col_limit, dots, masks)``.

    Register tile: ``kernel.rows`` x ``halves`` vectors of ``lanes`` int32.
    """

    def __init__(self, module: ir.Module, name: str, simd: _Simd) -> None:
        self.simd, self.kernel, self.lanes = simd, simd.kernel, simd.lanes
        self.vector = ir.VectorType(_I32, simd.lanes)
        self.halves = range(simd.kernel.cols // simd.lanes)
        self.rows = range(simd.kernel.rows)
        pointer = _I32.as_pointer()
        signature = ir.FunctionType(_I32, [pointer, pointer, _I64] + [pointer] * 6)
        self.function = ir.Function(module, signature, name)
        self.function.linkage = "internal"
        # String attributes are not in llvmlite's list of known ones, hence set.add. With these the
        # code compiles even if Numba was told to target a lesser CPU (NUMBA_CPU_NAME=generic), and
        # the AVX2 kernel is not rewritten with AVX-512 instructions where they exist.
        features = ",".join("+" + feature for feature in self.kernel.needs)
        target = f'"target-cpu"="{self.kernel.cpu}"', f'"target-features"="{features}"'
        for attribute in ("noinline", "nounwind", *target):
            set.add(self.function.attributes, attribute)

    def emit(self) -> ir.Function:
        """Multiply, test, and write the products down if any was a hit."""
        a, b, n_pairs, row_limit, row_norm, col_norm, col_limit, dots, masks = self.function.args
        labels = ("entry", "loop", "test", "keep", "done")
        entry, loop, test, keep, done = map(self.function.append_basic_block, labels)
        ir.IRBuilder(entry).branch(loop)
        sums = self._multiply(entry, loop, test, a, b, n_pairs)

        check = ir.IRBuilder(test)
        any_hit = self._test(check, sums, row_limit, row_norm, col_norm, col_limit, masks)
        check.cbranch(check.icmp_unsigned("!=", any_hit, ir.Constant(_I32, 0)), keep, done)

        write = ir.IRBuilder(keep)
        for (row, half), value in sums.items():
            self._store(write, value, dots, row * self.kernel.cols + half * self.lanes)
        write.branch(done)
        ir.IRBuilder(done).ret(any_hit)
        return self.function

    def _multiply(
        self,
        entry: ir.Block,
        loop: ir.Block,
        after: ir.Block,
        a: ir.Value,
        b: ir.Value,
        n_pairs: ir.Value,
    ) -> Tile:
        """One step per pair of features; all accumulators are loop-carried phi nodes: registers."""
        step = ir.IRBuilder(loop)
        pair = step.phi(_I64)
        accumulators = {
            (row, half): step.phi(self.vector) for row in self.rows for half in self.halves
        }
        a_step = step.gep(a, [step.mul(pair, ir.Constant(_I64, self.kernel.rows))])
        b_step = step.gep(b, [step.mul(pair, ir.Constant(_I64, self.kernel.cols))])
        columns = [self._load(step, b_step, half) for half in self.halves]
        sums = {}
        for row in self.rows:
            row_pair = self._broadcast(step, a_step, row)
            for half in self.halves:
                accumulator = accumulators[row, half]
                sums[row, half] = self.simd.multiply_add(step, accumulator, columns[half], row_pair)
        next_pair = step.add(pair, ir.Constant(_I64, 1))
        pair.add_incoming(ir.Constant(_I64, 0), entry)
        pair.add_incoming(next_pair, loop)
        for at, accumulator in accumulators.items():
            accumulator.add_incoming(ir.Constant(self.vector, None), entry)
            accumulator.add_incoming(sums[at], loop)
        step.cbranch(step.icmp_signed("<", next_pair, n_pairs), loop, after)
        return sums

    def _test(
        self,
        check: ir.IRBuilder,
        sums: Tile,
        row_limit: ir.Value,
        row_norm: ir.Value,
        col_norm: ir.Value,
        col_limit: ir.Value,
        masks: ir.Value,
    ) -> ir.Value:
        """Write the hits of each row as bits, and return all of them together.

        2 dot > min(col_norm - 1 - row_limit, row_norm - (col_limit + 1)) is the definition with u
        negated, and with ">" because AVX2 has no ">=".
        """
        one = ir.Constant(self.vector, [1] * self.lanes)
        col_norms = [check.sub(self._load(check, col_norm, half), one) for half in self.halves]
        col_limits = [check.add(self._load(check, col_limit, half), one) for half in self.halves]
        any_hit: ir.Value = ir.Constant(_I32, 0)
        for row in self.rows:
            limit = self._broadcast(check, row_limit, row)
            norm = self._broadcast(check, row_norm, row)
            mask: ir.Value = ir.Constant(_I32, 0)
            for half in self.halves:
                by_row = check.sub(col_norms[half], limit)
                by_col = check.sub(norm, col_limits[half])
                # select(x < y) is folded into one "minimum" instruction
                bound = check.select(check.icmp_signed("<", by_row, by_col), by_row, by_col)
                doubled = check.add(sums[row, half], sums[row, half])
                bits = self.simd.bits(check, check.icmp_signed(">", doubled, bound))
                mask = check.or_(mask, check.shl(bits, ir.Constant(_I32, half * self.lanes)))
            check.store(mask, self._address(check, masks, row))
            any_hit = check.or_(any_hit, mask)
        return any_hit

    def _address(self, builder: ir.IRBuilder, base: ir.Value, offset: int) -> ir.Value:
        return builder.gep(base, [ir.Constant(_I64, offset)])

    def _load(self, builder: ir.IRBuilder, base: ir.Value, half: int) -> ir.Value:
        at = self._address(builder, base, half * self.lanes)
        return builder.load(builder.bitcast(at, self.vector.as_pointer()), align=4)

    def _store(self, builder: ir.IRBuilder, value: ir.Value, base: ir.Value, offset: int) -> None:
        at = self._address(builder, base, offset)
        builder.store(value, builder.bitcast(at, self.vector.as_pointer()), align=4)

    def _broadcast(self, builder: ir.IRBuilder, base: ir.Value, row: int) -> ir.Value:
        item = builder.load(self._address(builder, base, row), align=4)
        undefined = ir.Constant(self.vector, ir.Undefined)
        single = builder.insert_element(undefined, item, ir.Constant(_I32, 0))
        zeros = ir.Constant(ir.VectorType(_I32, self.lanes), None)
        return builder.shuffle_vector(single, undefined, zeros)


_AVX512_SIMD = _Simd(KERNELS["avx512"], 16, _avx512_multiply_add, _avx512_bits)
_AVX2_SIMD = _Simd(KERNELS["avx2"], 8, _avx2_multiply_add, _avx2_bits)


def _simd_call(simd: _Simd) -> Callable[..., ir.Value]:
    """Code generator of a call to the SIMD tile function on array arguments at panel offsets."""
    kernel = simd.kernel

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        if not is_supported(kernel):  # never chosen by best_kernel; x86 names would not compile
            return ir.Constant(_I32, 0)
        name = f"knn_tile_{kernel.name}"
        function = builder.module.globals.get(name)
        if function is None:
            function = _TileEmitter(builder.module, name, simd).emit()

        def pointer(position: int, offset: ir.Value | None = None) -> ir.Value:
            array = context.make_array(signature.args[position])(context, builder, args[position])
            data = builder.bitcast(array.data, _I32.as_pointer())
            return data if offset is None else builder.gep(data, [offset])

        a_panel, b_panel = args[1], args[3]
        n_pairs = builder.extract_value(
            context.make_array(signature.args[0])(context, builder, args[0]).shape, 1
        )
        first_row = builder.mul(a_panel, ir.Constant(_I64, kernel.rows))
        first_col = builder.mul(b_panel, ir.Constant(_I64, kernel.cols))
        return builder.call(
            function,
            [
                pointer(0, builder.mul(first_row, n_pairs)),
                pointer(2, builder.mul(first_col, n_pairs)),
                n_pairs,
                pointer(4, first_row),
                pointer(5, first_row),
                pointer(6, first_col),
                pointer(7, first_col),
                pointer(8),
                pointer(9),
            ],
        )

    return codegen


_PACKED = types.Array(types.int16, 4, "C")
_INT32S = types.Array(types.int32, 1, "C")
_TILE_SIGNATURE = types.int32(
    _PACKED, types.intp, _PACKED, types.intp,
    _INT32S, _INT32S, _INT32S, _INT32S,
    types.Array(types.int32, 2, "C"), types.Array(types.uint32, 1, "C"),
)  # fmt: skip


@intrinsic
def avx512_tile_hits(
    typingctx: Any, a: Any, a_panel: Any, b: Any, b_panel: Any,
    row_limit: Any, row_norm: Any, col_norm: Any, col_limit: Any, dots: Any, masks: Any,
) -> Any:  # fmt: skip
    """Test a tile of 12 x 32 pairs."""
    return _TILE_SIGNATURE, _simd_call(_AVX512_SIMD)


@intrinsic
def avx2_tile_hits(
    typingctx: Any, a: Any, a_panel: Any, b: Any, b_panel: Any,
    row_limit: Any, row_norm: Any, col_norm: Any, col_limit: Any, dots: Any, masks: Any,
) -> Any:  # fmt: skip
    """Test a tile of 6 x 16 pairs."""
    return _TILE_SIGNATURE, _simd_call(_AVX2_SIMD)


@intrinsic
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Index of the lowest set bit of a non-zero uint32."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.zext(builder.cttz(args[0], ir.Constant(_I1, 1)), _I64)

    return types.intp(types.uint32), codegen
