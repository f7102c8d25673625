"""The tile kernels in plain loops, for machines without AVX2: the same hits as ``simd_tiles``."""

import numpy as np
from numba import carray

from precall.engines.cpu.kernel_choice import KERNELS
from precall.engines.cpu.tiling.bits import code_of
from precall.runtime.compiling import helper

_ROWS, _COLS = KERNELS["portable"].grid[1:]  # of grid tiles and of direct ones


@helper()
def _grid_codes(a, b, row_norm, col_norm, codes):
    codes[:] = 0
    # A pair read as one int32 and taken apart by shifts vectorises (LLVM even finds vpmaddwd);
    # two int16 reads with a stride of two are eight times slower.
    for p in range(len(a)):
        for r in range(_ROWS):
            even, odd = np.int32(np.int16(a[p, r])), np.int32(a[p, r] >> 16)
            row = codes[r]
            for c in range(_COLS):
                pair = b[p, c]
                # int32 products are int64 in Numba: the cast lets LLVM narrow them again
                row[c] += np.int32(even * np.int32(np.int16(pair)) + odd * np.int32(pair >> 16))
    for r in range(_ROWS):
        norm, row = row_norm[r], codes[r]
        for c in range(_COLS):
            row[c] = np.int32(norm + col_norm[c] - 2 * row[c])


@helper(allocates=True)
def _direct_codes(a, b, codes):
    sums = np.zeros((_ROWS, _COLS))
    for p in range(len(a)):
        for r in range(_ROWS):
            value, row = a[p, r], sums[r]
            for c in range(_COLS):
                difference = b[p, c] - value
                row[c] += difference * difference
    for r in range(_ROWS):
        for c in range(_COLS):
            codes[r, c] = np.int32(code_of(sums[r, c]))


@helper()
def _mark_hits(codes, row_limit, col_limit, masks):
    """Write the hits of each row as bits; whether there are any."""
    any_hit = np.int32(0)
    for r in range(_ROWS):
        limit, row = row_limit[r], codes[r]
        row_hits = 0
        for c in range(_COLS):  # hits are rare: a vectorised test first, then the bits
            row_hits += row[c] <= max(limit, col_limit[c])
        mask = np.uint32(0)
        if row_hits:
            any_hit = np.int32(1)
            for c in range(_COLS):
                if row[c] <= max(limit, col_limit[c]):
                    mask |= np.uint32(1) << np.uint32(c)
        masks[r] = mask
    return any_hit


def portable_grid(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks):
    """A grid tile in plain loops."""
    tile, norms = carray(codes, (_ROWS, _COLS)), (carray(row_norm, _ROWS), carray(col_norm, _COLS))
    _grid_codes(carray(a, (n_steps, _ROWS)), carray(b, (n_steps, _COLS)), norms[0], norms[1], tile)
    limits = carray(row_limit, _ROWS), carray(col_limit, _COLS)
    return _mark_hits(tile, limits[0], limits[1], carray(masks, _ROWS))


def portable_direct(a, b, n_steps, row_limit, row_norm, col_norm, col_limit, codes, masks):
    """A direct tile in plain loops."""
    tile, rows = carray(codes, (_ROWS, _COLS)), carray(a, (n_steps, 2 * _ROWS)).view(np.float64)
    _direct_codes(rows, carray(b, (n_steps, 2 * _COLS)).view(np.float64), tile)
    limits = carray(row_limit, _ROWS), carray(col_limit, _COLS)
    return _mark_hits(tile, limits[0], limits[1], carray(masks, _ROWS))
