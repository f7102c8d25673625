"""Bits of masks, and of float64."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from precall.runtime.compiling import helper

_I1, _I64, _F64 = ir.IntType(1), ir.IntType(64), ir.DoubleType()


@intrinsic
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Index of the lowest set bit of a non-zero uint32."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.zext(builder.cttz(args[0], ir.Constant(_I1, 1)), _I64)

    return types.intp(types.uint32), codegen


@intrinsic
def bits_of(typingctx: Any, value: Any) -> Any:
    """The 64 bits of a float64."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.bitcast(args[0], _I64)

    return types.int64(types.float64), codegen


@intrinsic
def float_of(typingctx: Any, bits: Any) -> Any:
    """The float64 with these 64 bits."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.bitcast(args[0], _F64)

    return types.float64(types.int64), codegen


@helper()
def code_of(squared):
    """The upper word of a squared distance, rounded up: 0 for 0 alone."""
    return (bits_of(squared) + np.int64(2**32 - 1)) >> 32
