"""Tile kernels as C functions: compiled when first needed, and called by their address.

So a sweep, whose code is the same for all of them, is compiled without any of the six, and each of
them once and not again in every sweep. An address is an argument, not a closure or a frozen global:
Numba's disk cache sees neither.
"""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from precall.engines.cpu.kernel_choice import (
    AVX2,
    AVX2_DIRECT,
    AVX512,
    AVX512_DIRECT,
    PORTABLE,
    PORTABLE_DIRECT,
    TileShape,
)
from precall.engines.cpu.tiling.portable_tiles import portable_direct, portable_grid
from precall.engines.cpu.tiling.simd_tiles import (
    TILE_FUNCTION,
    avx2_direct,
    avx2_grid,
    avx512_direct,
    avx512_grid,
)
from precall.runtime.compiling import c_function

_FUNCTIONS: dict[int, Callable[..., Any]] = {
    AVX512: avx512_grid,
    AVX512_DIRECT: avx512_direct,
    AVX2: avx2_grid,
    AVX2_DIRECT: avx2_direct,
    PORTABLE: portable_grid,
    PORTABLE_DIRECT: portable_direct,
}


_LOCK = Lock()  # all threads want the same one first


@cache
def _compiled(code: int) -> Any:
    return c_function(_FUNCTIONS[code], TILE_FUNCTION)


def address_of(shape: TileShape) -> int:
    """Where the kernel is that compares tiles of this shape."""
    with _LOCK:
        address: int = _compiled(shape.code).address
    return address


_PACKED = types.Array(types.int16, 4, "C")
_INT32S = types.Array(types.int32, 1, "C")
_SIGNATURE = types.int32(
    types.intp, _PACKED, types.intp, _PACKED, types.intp,
    _INT32S, _INT32S, _INT32S, _INT32S,
    types.Array(types.int32, 2, "C"), types.Array(types.uint32, 1, "C"), types.intp,
)  # fmt: skip
_I16, _I32, _I64 = (ir.IntType(bits) for bits in (16, 32, 64))


def _call(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
    """Code generator of a call at panel offsets of array arguments."""
    pointers = _I32.as_pointer()
    kind = ir.FunctionType(_I32, [pointers, pointers, _I64] + [pointers] * 6)
    function, a_panel, b_panel, place = (args[position] for position in (0, 2, 4, 11))

    def array(position: int) -> Any:
        return context.make_array(signature.args[position])(context, builder, args[position])

    def at(position: int, offset: ir.Value) -> ir.Value:
        data = builder.bitcast(array(position).data, pointers)
        return builder.gep(data, [offset])

    n_steps, height, int16s = (builder.extract_value(array(1).shape, axis) for axis in (1, 2, 3))
    width = builder.extract_value(array(3).shape, 2)
    int32s = builder.mul(n_steps, builder.lshr(int16s, ir.Constant(_I64, 1)))  # of a row
    first_row, first_col = builder.mul(a_panel, height), builder.mul(b_panel, width)
    first_code = builder.mul(place, height)
    return builder.call(
        builder.inttoptr(function, kind.as_pointer()),
        [
            at(1, builder.mul(first_row, int32s)),
            at(3, builder.mul(first_col, int32s)),
            n_steps,
            at(5, first_row),
            at(6, first_row),
            at(7, first_col),
            at(8, first_col),
            at(9, builder.mul(first_code, width)),
            at(10, first_code),
        ],
    )


@intrinsic
def tile_hits(
    typingctx: Any, kernel: Any, a: Any, a_panel: Any, b: Any, b_panel: Any,
    row_limit: Any, row_norm: Any, col_norm: Any, col_limit: Any, codes: Any, masks: Any,
    place: Any,
) -> Any:  # fmt: skip
    """Compare the rows of two panels: whether any pair is a hit, its code and mask as ``place``."""
    return _SIGNATURE, _call
