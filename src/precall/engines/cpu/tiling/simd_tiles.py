"""The tile kernels for AVX-512 VNNI and AVX2, emitted as LLVM IR.

Each is one stand-alone LLVM function over raw pointers, kept apart (noinline) so that nothing of
the caller competes for its registers, and compiled when first needed (``tile_functions``). What a
tile is, is said in ``tiles``; ``portable_tiles`` does the same in plain loops.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from precall.engines.cpu.kernel_choice import KERNELS, Kernel, TileShape

_I16, _I32, _I64 = (ir.IntType(bits) for bits in (16, 32, 64))
_F64 = ir.DoubleType()

Tile = dict[tuple[int, int], ir.Value]  # (row, part) -> vector, held in a register


class _TileEmitter(ABC):
    """Emits ``int32 name(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks)``.

    Register tile: ``shape.rows`` x ``parts`` vectors of ``lanes`` sums.
    """

    element: ClassVar[ir.Type]  # what a step takes of each row
    summed: ClassVar[ir.Type]

    def __init__(self, module: ir.Module, kernel: Kernel, shape: TileShape, lanes: int) -> None:
        self.shape, self.lanes = shape, lanes
        self.vector = ir.VectorType(self.summed, lanes)
        self.int32s = ir.VectorType(_I32, lanes)
        self.parts, self.rows = range(shape.cols // lanes), range(shape.rows)
        pointer = _I32.as_pointer()
        signature = ir.FunctionType(_I32, [pointer, pointer, _I64] + [pointer] * 6)
        self.function = ir.Function(module, signature, _name(shape))
        self.function.linkage = "internal"
        # String attributes are not in llvmlite's list of known ones, hence set.add. With these the
        # code compiles even if Numba was told to target a lesser CPU (NUMBA_CPU_NAME=generic), and
        # the AVX2 kernel is not rewritten with AVX-512 instructions where they exist.
        features = ",".join("+" + feature for feature in kernel.needs)
        target = f'"target-cpu"="{kernel.cpu}"', f'"target-features"="{features}"'
        for attribute in ("noinline", "nounwind", *target):
            set.add(self.function.attributes, attribute)

    @abstractmethod
    def begin(self, b: ir.IRBuilder, row_norm: ir.Value, col_norm: ir.Value) -> ir.Value:
        """What the sum of a pair begins with."""

    @abstractmethod
    def add(self, b: ir.IRBuilder, acc: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """Add to sums what one step of columns x and a row y is worth."""

    @abstractmethod
    def bound(self, b: ir.IRBuilder, limit: ir.Value) -> ir.Value:
        """Turn limits of codes into what sums are compared with."""

    @abstractmethod
    def is_hit(self, b: ir.IRBuilder, sums: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
        """Tell which sums may be within either bound; none that is may be left out."""

    @abstractmethod
    def codes(
        self, b: ir.IRBuilder, sums: ir.Value, row_norm: ir.Value, col_norm: ir.Value
    ) -> ir.Value:
        """Turn sums into the int32 codes of squared distances."""

    def emit(self) -> ir.Function:
        """Sum, test, and write the codes down if any was a hit."""
        a, b, n_steps, row_limit, row_norm, col_norm, col_limit, out, masks = self.function.args
        labels = ("entry", "loop", "test", "keep", "done")
        entry, loop, test, keep, done = map(self.function.append_basic_block, labels)
        start = ir.IRBuilder(entry)
        first = self._of_pairs(start, row_norm, col_norm, self.begin)
        start.branch(loop)
        sums = self._sum(entry, loop, test, first, a, b, n_steps)

        check = ir.IRBuilder(test)
        any_hit = self._test(check, sums, row_limit, col_limit, masks)
        check.cbranch(check.icmp_unsigned("!=", any_hit, ir.Constant(_I32, 0)), keep, done)

        write = ir.IRBuilder(keep)
        col_norms = [self._load(write, col_norm, part) for part in self.parts]
        for (row, part), value in sums.items():
            codes = self.codes(write, value, self._broadcast(write, row_norm, row), col_norms[part])
            at = self._address(write, out, row * self.shape.cols + part * self.lanes)
            write.store(codes, write.bitcast(at, self.int32s.as_pointer()), align=4)
        write.branch(done)
        ir.IRBuilder(done).ret(any_hit)
        return self.function

    def _of_pairs(
        self,
        b: ir.IRBuilder,
        of_rows: ir.Value,
        of_cols: ir.Value,
        combine: Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value],
    ) -> Tile:
        """Combine numbers of rows and of columns for all pairs."""
        cols = [self._load(b, of_cols, part) for part in self.parts]
        combined = {}
        for row in self.rows:
            of_row = self._broadcast(b, of_rows, row)
            for part in self.parts:
                combined[row, part] = combine(b, of_row, cols[part])
        return combined

    def _sum(
        self,
        entry: ir.Block,
        loop: ir.Block,
        after: ir.Block,
        first: Tile,
        a: ir.Value,
        b: ir.Value,
        n_steps: ir.Value,
    ) -> Tile:
        """Take all steps; all accumulators are loop-carried phi nodes: registers."""
        step = ir.IRBuilder(loop)
        at = step.phi(_I64)
        accumulators = {
            (row, part): step.phi(self.vector) for row in self.rows for part in self.parts
        }
        a, b = (step.bitcast(side, self.element.as_pointer()) for side in (a, b))
        a_step = step.gep(a, [step.mul(at, ir.Constant(_I64, self.shape.rows))])
        b_step = step.gep(b, [step.mul(at, ir.Constant(_I64, self.shape.cols))])
        columns = [self._load(step, b_step, part) for part in self.parts]
        sums = {}
        for row in self.rows:
            of_row = self._broadcast(step, a_step, row)
            for part in self.parts:
                sums[row, part] = self.add(step, accumulators[row, part], columns[part], of_row)
        next_step = step.add(at, ir.Constant(_I64, 1))
        at.add_incoming(ir.Constant(_I64, 0), entry)
        at.add_incoming(next_step, loop)
        for key, accumulator in accumulators.items():
            accumulator.add_incoming(first[key], entry)
            accumulator.add_incoming(sums[key], loop)
        step.cbranch(step.icmp_signed("<", next_step, n_steps), loop, after)
        return sums

    def _test(
        self,
        check: ir.IRBuilder,
        sums: Tile,
        row_limit: ir.Value,
        col_limit: ir.Value,
        masks: ir.Value,
    ) -> ir.Value:
        """Write the hits of each row as bits, and return all of them together."""
        of_cols = [self.bound(check, self._load(check, col_limit, part)) for part in self.parts]
        any_hit: ir.Value = ir.Constant(_I32, 0)
        for row in self.rows:
            of_row = self.bound(check, self._broadcast(check, row_limit, row))
            mask: ir.Value = ir.Constant(_I32, 0)
            for part in self.parts:
                is_hit = self.is_hit(check, sums[row, part], of_row, of_cols[part])
                hits = self._bits(check, is_hit)
                mask = check.or_(mask, check.shl(hits, ir.Constant(_I32, part * self.lanes)))
            check.store(mask, self._address(check, masks, row))
            any_hit = check.or_(any_hit, mask)
        return any_hit

    def _bits(self, b: ir.IRBuilder, flags: ir.Value) -> ir.Value:
        """Flags as the low bits of an int32.

        With AVX2 a bitcast would do, but LLVM merges those of a row into a longer sequence of
        packs.
        """
        if self.lanes != 8 or self.summed is not _I32:
            return b.zext(b.bitcast(flags, ir.IntType(self.lanes)), _I32)
        v8f32 = ir.VectorType(ir.FloatType(), 8)
        name = "llvm.x86.avx.movmsk.ps.256"
        signs = b.module.declare_intrinsic(name, fnty=ir.FunctionType(_I32, [v8f32]))
        return b.call(signs, [b.bitcast(b.sext(flags, self.int32s), v8f32)])

    def _address(self, builder: ir.IRBuilder, base: ir.Value, offset: int) -> ir.Value:
        return builder.gep(base, [ir.Constant(_I64, offset)])

    def _load(self, builder: ir.IRBuilder, base: ir.Value, part: int) -> ir.Value:
        """A vector of what ``base`` points to."""
        at = self._address(builder, base, part * self.lanes)
        item = base.type.pointee
        vector = ir.VectorType(item, self.lanes)
        return builder.load(builder.bitcast(at, vector.as_pointer()), align=4)

    def _broadcast(self, builder: ir.IRBuilder, base: ir.Value, row: int) -> ir.Value:
        item = builder.load(self._address(builder, base, row), align=4)
        undefined = ir.Constant(ir.VectorType(base.type.pointee, self.lanes), ir.Undefined)
        single = builder.insert_element(undefined, item, ir.Constant(_I32, 0))
        return builder.shuffle_vector(single, undefined, ir.Constant(self.int32s, None))


class _GridEmitter(_TileEmitter):
    """Sums products of pairs of int16; the code is Q = ‖q‖² + ‖q′‖² − 2q·q′.

    A sum begins with the halves of both norms, rounded down, so that in the end it is −Q/2 but for
    what was rounded: one comparison tells hits, and a few more.
    """

    element, summed = _I32, _I32

    def begin(self, b: ir.IRBuilder, row_norm: ir.Value, col_norm: ir.Value) -> ir.Value:
        """−⌊‖q‖²/2⌋ − ⌊‖q′‖²/2⌋."""
        of_col = b.sub(ir.Constant(self.int32s, None), self._half(b, col_norm))
        return b.sub(of_col, self._half(b, row_norm))

    def _half(self, b: ir.IRBuilder, values: ir.Value) -> ir.Value:
        return b.ashr(values, ir.Constant(self.int32s, [1] * self.lanes))

    def bound(self, b: ir.IRBuilder, limit: ir.Value) -> ir.Value:
        """Q ≤ limit only if the sum is above −⌊limit/2⌋ − 1."""
        return b.not_(self._half(b, limit))

    def is_hit(self, b: ir.IRBuilder, sums: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
        """Above the lower bound; select(x < y) is folded into one "minimum" instruction."""
        lower = b.select(b.icmp_signed("<", one, other), one, other)
        return b.icmp_signed(">", sums, lower)

    def add(self, b: ir.IRBuilder, acc: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """``acc + x.even * y.even + x.odd * y.odd``."""
        pairs = ir.VectorType(_I16, 2 * self.lanes)
        x, y = b.bitcast(x, pairs), b.bitcast(y, pairs)
        if self.lanes == 16:  # in one instruction
            name = "llvm.x86.avx512.vpdpwssd.512"
            types_of = [self.vector, pairs, pairs]
            dot = b.module.declare_intrinsic(name, fnty=ir.FunctionType(self.vector, types_of))
            return b.call(dot, [acc, x, y])
        name = "llvm.x86.avx2.pmadd.wd"
        madd = b.module.declare_intrinsic(name, fnty=ir.FunctionType(self.vector, [pairs, pairs]))
        return b.add(acc, b.call(madd, [x, y]))

    def codes(
        self, b: ir.IRBuilder, sums: ir.Value, row_norm: ir.Value, col_norm: ir.Value
    ) -> ir.Value:
        """Q, with what was rounded."""
        one = ir.Constant(self.int32s, [1] * self.lanes)
        rounded = b.add(b.and_(row_norm, one), b.and_(col_norm, one))
        return b.sub(rounded, b.add(sums, sums))


class _DirectEmitter(_TileEmitter):
    """Sums squared differences of float64; the code is the upper word of the sum, rounded up."""

    element, summed = _F64, _F64

    def begin(self, b: ir.IRBuilder, row_norm: ir.Value, col_norm: ir.Value) -> ir.Value:
        """Nothing."""
        return ir.Constant(self.vector, None)

    def add(self, b: ir.IRBuilder, acc: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """``acc + (x - y)²``."""
        difference = b.fsub(x, y)
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        fma = b.module.declare_intrinsic(f"llvm.fma.v{self.lanes}f64", fnty=signature)
        return b.call(fma, [difference, difference, acc])

    def bound(self, b: ir.IRBuilder, limit: ir.Value) -> ir.Value:
        """A code within the limit is below this: AVX2 has ">", and no ">="."""
        return b.add(limit, ir.Constant(self.int32s, [1] * self.lanes))

    def is_hit(self, b: ir.IRBuilder, sums: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
        """Whether the code is below the larger one."""
        larger = b.select(b.icmp_signed(">", one, other), one, other)
        return b.icmp_signed(">", larger, self._upper(b, sums))

    def codes(
        self, b: ir.IRBuilder, sums: ir.Value, row_norm: ir.Value, col_norm: ir.Value
    ) -> ir.Value:
        """The upper words."""
        return self._upper(b, sums)

    def _upper(self, b: ir.IRBuilder, sums: ir.Value) -> ir.Value:
        """The upper 32 of 64 bits, rounded up: they grow with the sum."""
        words = ir.VectorType(_I64, self.lanes)
        up, shift = (ir.Constant(words, [value] * self.lanes) for value in (2**32 - 1, 32))
        upper = b.lshr(b.add(b.bitcast(sums, words), up), shift)
        return b.trunc(upper, self.int32s)


def _name(shape: TileShape) -> str:
    return f"knn_tile_{shape.code}"


_INT32S = types.CPointer(types.int32)
TILE_FUNCTION = types.int32(_INT32S, _INT32S, types.intp, *[_INT32S] * 6)


def _emitted(name: str, *, is_direct: bool, lanes: int) -> Any:
    """A tile function that jitted code can call."""
    kernel, emitter = KERNELS[name], _DirectEmitter if is_direct else _GridEmitter
    shape = kernel.shape(is_direct=is_direct)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.call(emitter(builder.module, kernel, shape, lanes).emit(), args)

    @intrinsic
    def tile(
        typingctx: Any, a: Any, b: Any, n_steps: Any, row_limit: Any, row_norm: Any,
        col_norm: Any, col_limit: Any, codes: Any, masks: Any,
    ) -> Any:  # fmt: skip
        return TILE_FUNCTION, codegen

    return tile


_avx512_grid = _emitted("avx512", is_direct=False, lanes=16)
_avx512_direct = _emitted("avx512", is_direct=True, lanes=8)
_avx2_grid = _emitted("avx2", is_direct=False, lanes=8)
_avx2_direct = _emitted("avx2", is_direct=True, lanes=4)


# Each is written out, as Numba's disk cache does not see what a closure holds.
def avx512_grid(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks):
    """A grid tile in AVX-512."""
    return _avx512_grid(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks)


def avx512_direct(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks):
    """A direct tile in AVX-512."""
    return _avx512_direct(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks)


def avx2_grid(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks):
    """A grid tile in AVX2."""
    return _avx2_grid(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks)


def avx2_direct(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks):
    """A direct tile in AVX2."""
    return _avx2_direct(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks)
