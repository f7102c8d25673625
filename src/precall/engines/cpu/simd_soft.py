"""Two loops of the soft cover that LLVM does not vectorise by itself, emitted as LLVM IR.

One measures eight rows at a time: the sum of a canonical distance must be taken in index order, so
it is the rows that go side by side, and their features are transposed in registers. It is made of
plain vector operations, which LLVM turns into whatever the machine has. The other packs the hits of
a tile, with the one instruction of AVX-512 that does so; other kernels go from bit to bit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from precall.engines.cpu.kernel_choice import KERNELS, is_supported
from precall.engines.cpu.simd_tiles import internal_function, lowest_bit

__all__ = [
    "ROWS_AT_ONCE",
    "avx512_keep_hits",
    "distances_of_eight",
    "keep_hits",
    "lowest_bit_of_word",
]

ROWS_AT_ONCE = 8

_I1, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 16, 32, 64))
_F64 = ir.DoubleType()
_EIGHT = ir.VectorType(_F64, ROWS_AT_ONCE)
_SIXTEEN = ir.VectorType(_I32, 16)
_N_COLS_AT_ONCE = 4
_FETCHED_BYTES = 256


def _constant(value: int) -> ir.Value:
    return ir.Constant(_I64, value)


def _spread(builder: ir.IRBuilder, value: ir.Value, vector: ir.VectorType) -> ir.Value:
    """``value`` in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    lanes = ir.Constant(ir.VectorType(_I32, vector.count), None)
    return builder.shuffle_vector(single, undefined, lanes)


class _DistanceEmitter:
    """Emits ``void name(query, base, rows, d, out)``: distances of a query to eight rows.

    Four features of the eight rows at a time, and then those that remain, one by one.
    """

    def __init__(self, module: ir.Module, name: str, item: ir.Type) -> None:
        self.item, self.module = item, module
        f64s, i64s = _F64.as_pointer(), _I64.as_pointer()
        signature = ir.FunctionType(ir.VoidType(), [f64s, item.as_pointer(), i64s, _I64, f64s])
        self.function = internal_function(module, signature, name)

    def emit(self) -> ir.Function:
        query, base, rows, d, out = self.function.args
        labels = ("entry", "fours", "between", "singles", "done")
        entry, fours, between, singles, done = map(self.function.append_basic_block, labels)
        first = ir.IRBuilder(entry)
        starts = []
        for r in range(ROWS_AT_ONCE):
            row = first.load(first.gep(rows, [_constant(r)]))
            starts.append(first.gep(base, [first.mul(row, d)]))
        self._fetch_next(first, base, rows, d)
        n_whole = first.and_(d, _constant(-_N_COLS_AT_ONCE))
        first.cbranch(first.icmp_signed(">", n_whole, _constant(0)), fours, between)
        zero = ir.Constant(_EIGHT, [0.0] * ROWS_AT_ONCE)
        step = ir.IRBuilder(fours)
        j, total = self._loop(step, entry, _constant(0), zero)
        whole = self._add(step, total, query, j, self._four_columns(step, starts, j))
        self._repeat(step, j, total, whole, _N_COLS_AT_ONCE, n_whole, between)
        join = ir.IRBuilder(between)
        so_far = self._either(join, (zero, entry), (whole, fours))
        join.cbranch(join.icmp_signed("<", n_whole, d), singles, done)
        step = ir.IRBuilder(singles)
        j, total = self._loop(step, between, n_whole, so_far)
        rest = self._add(step, total, query, j, [self._column(step, starts, j)])
        self._repeat(step, j, total, rest, 1, d, done)
        end = ir.IRBuilder(done)
        squared = self._either(end, (so_far, between), (rest, singles))
        root = self.module.declare_intrinsic(
            "llvm.sqrt.v8f64", fnty=ir.FunctionType(_EIGHT, [_EIGHT])
        )
        end.store(end.call(root, [squared]), end.bitcast(out, _EIGHT.as_pointer()), align=8)
        end.ret_void()
        return self.function

    def _fetch_next(self, first: ir.IRBuilder, base: ir.Value, rows: ir.Value, d: ir.Value) -> None:
        """Fetch the beginnings of the next eight rows: no machine foresees where they are."""
        byte = ir.IntType(8).as_pointer()
        fetch = self.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        )
        how = [ir.Constant(_I32, value) for value in (0, 3, 1)]  # to read, to keep, data
        for r in range(ROWS_AT_ONCE, 2 * ROWS_AT_ONCE):
            row = first.load(first.gep(rows, [_constant(r)]))
            start = first.bitcast(first.gep(base, [first.mul(row, d)]), byte)
            for line in range(0, _FETCHED_BYTES, 64):
                first.call(fetch, [first.gep(start, [_constant(line)]), *how])

    def _loop(
        self, step: ir.IRBuilder, before: ir.Block, j: ir.Value, total: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """Begin a loop over features: what j and the sums are in it."""
        phis = step.phi(_I64), step.phi(_EIGHT)
        for phi, value in zip(phis, (j, total), strict=True):
            phi.add_incoming(value, before)
        return phis

    def _repeat(
        self, step: ir.IRBuilder, j: ir.Value, total: ir.Value, new_total: ir.Value,
        width: int, end: ir.Value, after: ir.Block,
    ) -> None:  # fmt: skip
        next_j = step.add(j, _constant(width))
        j.add_incoming(next_j, step.block)
        total.add_incoming(new_total, step.block)
        step.cbranch(step.icmp_signed("<", next_j, end), step.block, after)

    def _either(self, builder: ir.IRBuilder, *sources: tuple[ir.Value, ir.Block]) -> ir.Value:
        phi = builder.phi(_EIGHT)
        for value, block in sources:
            phi.add_incoming(value, block)
        return phi

    def _add(
        self, step: ir.IRBuilder, total: ir.Value, query: ir.Value, j: ir.Value,
        columns: Sequence[ir.Value],
    ) -> ir.Value:  # fmt: skip
        """Add the squared differences of some columns, one after the other."""
        for c, column in enumerate(columns):
            value = _spread(step, step.load(step.gep(query, [step.add(j, _constant(c))])), _EIGHT)
            wide = column if self.item == _F64 else step.fpext(column, _EIGHT)
            difference = step.fsub(value, wide)
            total = step.fadd(total, step.fmul(difference, difference))
        return total

    def _four_columns(
        self, step: ir.IRBuilder, starts: list[ir.Value], j: ir.Value
    ) -> list[ir.Value]:
        """Features j to j + 3 of the eight rows: an 8 × 4 block, transposed.

        Every shuffle is one instruction of AVX, within halves of a register.
        """
        four = ir.VectorType(self.item, _N_COLS_AT_ONCE)
        align = 8 if self.item == _F64 else 4
        rows = [
            step.load(step.bitcast(step.gep(start, [j]), four.as_pointer()), align=align)
            for start in starts
        ]

        def shuffle(x: ir.Value, y: ir.Value, *lanes: int) -> ir.Value:
            return step.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, 8), lanes))

        halves = [shuffle(rows[r], rows[r + 4], *range(8)) for r in range(4)]
        pairs = [
            shuffle(halves[r], halves[r + 1], *lanes)
            for lanes in ((0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15))
            for r in (0, 2)
        ]
        return [
            shuffle(pairs[p], pairs[p + 1], *lanes)
            for p in (0, 2)
            for lanes in ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
        ]

    def _column(self, step: ir.IRBuilder, starts: list[ir.Value], j: ir.Value) -> ir.Value:
        column: ir.Value = ir.Constant(ir.VectorType(self.item, ROWS_AT_ONCE), ir.Undefined)
        for r, start in enumerate(starts):
            item = step.load(step.gep(start, [j]))
            column = step.insert_element(column, item, ir.Constant(_I32, r))
        return column


@intrinsic
def distances_of_eight(
    typingctx: Any, query: Any, base: Any, rows: Any, start: Any, out: Any, at: Any
) -> Any:
    """Write the canonical distances of ``query`` to eight rows into ``out[at : at + 8]``.

    ``query`` is float64, ``base`` float32 or float64, in C order. The rows are those stored at
    ``rows[start : start + 8]``; the eight after them must exist, too, and are fetched.
    """

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        def data(position: int, offset: ir.Value | None = None) -> ir.Value:
            array = context.make_array(signature.args[position])(context, builder, args[position])
            return array.data if offset is None else builder.gep(array.data, [offset])

        name = f"distances_of_eight_{base.dtype}"
        function = builder.module.globals.get(name)
        if function is None:
            item = ir.FloatType() if base.dtype == types.float32 else _F64
            function = _DistanceEmitter(builder.module, name, item).emit()
        shape = context.make_array(base)(context, builder, args[1]).shape
        d = builder.extract_value(shape, 1)
        builder.call(function, [data(0), data(1), data(2, args[3]), d, data(4, args[5])])
        return context.get_dummy_value()

    return types.void(query, base, rows, types.intp, out, types.intp), codegen


class _HitEmitter:
    """Emits ``void name(masks, dots, row_norm, col_norm, places, distances, kept, sizes, width)``.

    Everything of a tile, where a list of its first row begins, and how far apart lists are.
    """

    def __init__(self, module: ir.Module, name: str) -> None:
        self.kernel, i32s = KERNELS["avx512"], _I32.as_pointer()
        signature = ir.FunctionType(ir.VoidType(), [i32s] * 7 + [_I64.as_pointer(), _I64])
        self.function = internal_function(module, signature, name, self.kernel)
        flags = ir.VectorType(_I1, 16)
        self.compress = module.declare_intrinsic(
            "llvm.x86.avx512.mask.compress.v16i32",
            fnty=ir.FunctionType(_SIXTEEN, [_SIXTEEN, _SIXTEEN, flags]),
        )

    def emit(self) -> ir.Function:
        """Go from row to row, and append the hits of those that have any."""
        masks = self.function.args[0]
        labels = ("entry", "row", "pack", "next", "done")
        entry, row, pack, after, done = map(self.function.append_basic_block, labels)
        ir.IRBuilder(entry).branch(row)
        check = ir.IRBuilder(row)
        r = check.phi(_I64)
        mask = check.load(check.gep(masks, [r]))
        check.cbranch(check.icmp_unsigned("!=", mask, ir.Constant(_I32, 0)), pack, after)
        append = ir.IRBuilder(pack)
        self._append(append, r, mask)
        append.branch(after)
        step = ir.IRBuilder(after)
        next_row = step.add(r, _constant(1))
        r.add_incoming(_constant(0), entry)
        r.add_incoming(next_row, after)
        step.cbranch(step.icmp_signed("<", next_row, _constant(self.kernel.rows)), row, done)
        ir.IRBuilder(done).ret_void()
        return self.function

    def _append(self, b: ir.IRBuilder, r: ir.Value, mask: ir.Value) -> None:
        _, dots, row_norm, col_norm, places, distances, kept, sizes, width = self.function.args

        def vector(base: ir.Value, offset: ir.Value) -> ir.Value:
            return b.bitcast(b.gep(base, [offset]), _SIXTEEN.as_pointer())

        size = b.load(b.gep(sizes, [r]))
        norm = _spread(b, b.load(b.gep(row_norm, [r])), _SIXTEEN)
        for first in range(0, self.kernel.cols, 16):
            bits = b.trunc(b.lshr(mask, ir.Constant(_I32, first)), _I16)
            of_tile = b.add(b.mul(r, _constant(self.kernel.cols)), _constant(first))
            dot = b.load(vector(dots, of_tile), align=4)
            norms = b.add(norm, b.load(vector(col_norm, _constant(first)), align=4))
            distance = b.sub(norms, b.add(dot, dot))
            place = b.load(vector(places, _constant(first)), align=4)
            at = b.add(b.mul(r, width), size)
            for values, out in ((distance, distances), (place, kept)):
                hits = b.bitcast(bits, ir.VectorType(_I1, 16))
                packed = b.call(self.compress, [values, ir.Constant(_SIXTEEN, None), hits])
                b.store(packed, vector(out, at), align=4)
            size = b.add(size, b.zext(b.ctpop(bits), _I64))
        b.store(size, b.gep(sizes, [r]))


@intrinsic
def avx512_keep_hits(
    typingctx: Any, masks: Any, dots: Any, row_norm: Any, first_row: Any, col_norm: Any,
    places: Any, first_col: Any, distances: Any, kept: Any, sizes: Any, first: Any,
) -> Any:  # fmt: skip
    """See :func:`keep_hits`. Writes beyond what it keeps: leave room for 16 more."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        if not is_supported(KERNELS["avx512"]):  # never chosen by best_kernel
            return context.get_dummy_value()

        def array(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, args[position])

        def data(position: int, offset: ir.Value) -> ir.Value:
            return builder.gep(array(position).data, [offset])

        name = "keep_hits_avx512"
        function = builder.module.globals.get(name)
        if function is None:
            function = _HitEmitter(builder.module, name).emit()
        _, _, _, first_row, _, _, first_col, _, _, _, first = args
        width = builder.extract_value(array(7).shape, 1)
        start = builder.mul(first, width)
        builder.call(
            function,
            [
                data(0, _constant(0)),
                data(1, _constant(0)),
                data(2, first_row),
                data(4, first_col),
                data(5, first_col),
                data(7, start),
                data(8, start),
                data(9, first),
                width,
            ],
        )
        return context.get_dummy_value()

    at = types.intp
    signature = types.void(
        masks, dots, row_norm, at, col_norm, places, at, distances, kept, sizes, at
    )  # fmt: skip
    return signature, codegen


@njit(cache=True, nogil=True)
def keep_hits(
    masks, dots, row_norm, first_row, col_norm, places, first_col, distances, kept, sizes, first
):
    """Append the hits of a tile to the lists of its rows: Q, and where each reference stands.

    Parameters
    ----------
    masks, dots
        What ``tile_hits`` wrote.
    first_row, first_col
        Where the tile begins.
    distances, kept, sizes
        Output, (n_lists, width), (n_lists, width) and (n_lists,).
    first
        The list of the tile's first row.
    """
    for r in range(len(masks)):
        mask, size = masks[r], sizes[first + r]
        while mask:
            c = lowest_bit(mask)
            mask &= np.uint32(mask - np.uint32(1))
            norms = row_norm[first_row + r] + col_norm[first_col + c]
            distances[first + r, size] = np.int32(norms - 2 * dots[r, c])
            kept[first + r, size] = places[first_col + c]
            size += 1
        sizes[first + r] = size


@intrinsic
def lowest_bit_of_word(typingctx: Any, word: Any) -> Any:
    """Index of the lowest set bit of a non-zero uint64."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.cttz(args[0], ir.Constant(_I1, 1))

    return types.intp(types.uint64), codegen
