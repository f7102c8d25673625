"""Tiles of pairs, compared in registers, and the pairs of a tile that matter: its hits.

A tile has rows of A and rows of B (its "columns"). Each pair gets an int32 *code* that grows with
its distance (``rulers``), and

  hit(i, j) = code(i, j) <= max(row_limit[i], col_limit[j]).

Two kinds of tiles: *grid* tiles multiply int16 vectors q with ‖q‖² <= MAX_NORM, and the code is
Q = ‖q‖² + ‖q′‖² − 2q·q′, exact; *direct* tiles add squared differences in float64, and the code is
the upper word of the sum. A tile lives in registers over *all* features, is tested there, and is
written to memory only when it holds a hit. Of each kind three kernels give the same hits: AVX-512
and AVX2 emitted as LLVM IR, and plain Numba loops. The kernel is a run-time argument of one driver,
not a closure or a frozen global: Numba's disk cache sees neither (see ``tile_hits``).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.kernel_choice import (
    AVX2,
    AVX2_DIRECT,
    AVX512,
    AVX512_DIRECT,
    PORTABLE,
    TileShape,
)
from precall.engines.cpu.tiling.simd_tiles import (
    avx2_direct_hits,
    avx2_grid_hits,
    avx512_direct_hits,
    avx512_grid_hits,
    bits_of,
    lowest_bit,
)
from precall.runtime.compiling import njit

MAX_NORM = 2**29 - 2  # then Q <= 4 MAX_NORM, and all that it is made of, fits an int32
ALL = 2**31 - 8  # a limit that every pair is within: 4 MAX_NORM, and beyond every upper word
NONE = -1  # a limit that no pair is within
STRIP = 16  # tiles of one panel of columns whose hits are listed together


class Tiles(NamedTuple):
    """Queries and references, packed."""

    kernel: int
    a: Any  # panels of queries
    b: Any  # panels of references
    row_norm: Any  # ‖q‖² of queries, padded to panels; 0 in direct tiles
    col_norm: Any  # ‖q‖² of references, padded to panels; 0 in direct tiles
    n_rows: int  # that are no padding
    n_cols: int


class Hits(NamedTuple):
    """Room for the hits of a strip of tiles."""

    found: Any  # (3, most) int32: row, column and code of each
    tiles: Any  # (STRIP * panel_rows, panel_cols) int32: the codes of tiles with hits
    masks: Any  # (STRIP * panel_rows,) uint32: which of them may be hits
    places: Any  # (STRIP + panel_rows,) which tiles, and which rows of one, have any


def pack_grid(q: NDArray[np.int16], panel_rows: int) -> NDArray[Any]:
    """Pack int16 rows as ``(n_panels, n_pairs, panel_rows, 2)``, zero-padded.

    One step of a kernel consumes a pair of features of every row of a panel, so a panel is
    read strictly in sequence.
    """
    n, d = q.shape
    n_panels, n_pairs = -(-n // panel_rows), max(1, -(-d // 2))
    rows = np.zeros((n_panels * panel_rows, 2 * n_pairs), dtype=np.int16)
    rows[:n, :d] = q
    # A pair is moved as one int32: the transposition then has a plain 4-byte item.
    pairs = rows.view(np.int32).reshape(n_panels, panel_rows, n_pairs)
    packed = np.ascontiguousarray(pairs.transpose(0, 2, 1))
    return packed.view(np.int16).reshape(n_panels, n_pairs, panel_rows, 2)


def pack_direct(base: NDArray[Any], rows: NDArray[np.intp], panel_rows: int) -> NDArray[Any]:
    """Pack rows as float64, one feature a step.

    Seen as int16, ``(n_panels, d, panel_rows, 4)``, as jitted functions want one type for all.
    """
    n_panels, d = -(-len(rows) // panel_rows), base.shape[1]
    packed = np.zeros((n_panels, d, panel_rows))
    for panel in range(n_panels):
        chosen = base[rows[panel * panel_rows : (panel + 1) * panel_rows]]
        packed[panel, :, : len(chosen)] = chosen.T
    return packed.view(np.int16).reshape(n_panels, d, panel_rows, 4)


def pad(values: NDArray[Any], panel_rows: int, fill: int) -> NDArray[np.int32]:
    """``values`` as int32, extended with ``fill`` to whole panels."""
    padded = np.full(-(-len(values) // panel_rows) * panel_rows, fill, dtype=np.int32)
    padded[: len(values)] = values
    return padded


def room_for_hits(shape: TileShape) -> Hits:
    """Allocate what the hits of one strip need."""
    height = STRIP * shape.rows
    found = np.empty((3, height * shape.cols), np.int32)
    tiles, masks = np.empty((height, shape.cols), np.int32), np.empty(height, np.uint32)
    return Hits(found, tiles, masks, np.empty(STRIP + shape.rows, np.int64))


@njit(cache=True, nogil=True)
def code_of(squared):
    """The upper word of a squared distance, rounded up: 0 for 0 alone."""
    return (bits_of(squared) + np.int64(2**32 - 1)) >> 32


@njit(cache=True, nogil=True)
def _grid_codes(a, a_panel, b, b_panel, row_norm, col_norm, codes):
    n_pairs, n_rows, n_cols = a.shape[1], a.shape[2], b.shape[2]
    # A pair read as one int32 and taken apart by shifts vectorises (LLVM even finds vpmaddwd);
    # two int16 reads with a stride of two are eight times slower.
    pairs = b.view(np.int32)[b_panel]
    codes[:] = 0
    for p in range(n_pairs):
        for r in range(n_rows):
            even, odd = np.int32(a[a_panel, p, r, 0]), np.int32(a[a_panel, p, r, 1])
            row = codes[r]
            for c in range(n_cols):
                pair = pairs[p, c, 0]
                # int32 products are int64 in Numba: the cast lets LLVM narrow them again
                row[c] += np.int32(even * np.int32(np.int16(pair)) + odd * np.int32(pair >> 16))
    for r in range(n_rows):
        norm, row = row_norm[a_panel * n_rows + r], codes[r]
        for c in range(n_cols):
            row[c] = np.int32(norm + col_norm[b_panel * n_cols + c] - 2 * row[c])


@njit(cache=True, nogil=True)
def _direct_codes(a, a_panel, b, b_panel, codes):
    n_steps, n_rows, n_cols = a.shape[1], a.shape[2], b.shape[2]
    values, columns = a.view(np.float64)[a_panel], b.view(np.float64)[b_panel]
    sums = np.zeros((n_rows, n_cols))
    for p in range(n_steps):
        for r in range(n_rows):
            value, row = values[p, r, 0], sums[r]
            for c in range(n_cols):
                difference = columns[p, c, 0] - value
                row[c] += difference * difference
    for r in range(n_rows):
        for c in range(n_cols):
            codes[r, c] = np.int32(code_of(sums[r, c]))


@njit(cache=True, nogil=True)
def _portable_tile_hits(
    kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, tiles, masks, place
):
    n_rows, n_cols = a.shape[2], b.shape[2]
    codes = tiles[place * n_rows : (place + 1) * n_rows]
    if kernel == PORTABLE:
        _grid_codes(a, a_panel, b, b_panel, row_norm, col_norm, codes)
    else:
        _direct_codes(a, a_panel, b, b_panel, codes)
    limits = col_limit[b_panel * n_cols : (b_panel + 1) * n_cols]
    any_hit = np.int32(0)
    for r in range(n_rows):
        limit, row = row_limit[a_panel * n_rows + r], codes[r]
        row_hits = 0
        for c in range(n_cols):  # hits are rare: a vectorised test first, then the bits
            row_hits += row[c] <= max(limit, limits[c])
        mask = np.uint32(0)
        if row_hits:
            any_hit = np.int32(1)
            for c in range(n_cols):
                if row[c] <= max(limit, limits[c]):
                    mask |= np.uint32(1) << np.uint32(c)
        masks[place * n_rows + r] = mask
    return any_hit


# Inlined: a call would push the 70 words that eight arrays are made of: 40 cycles per tile.
@njit(cache=True, nogil=True, inline="always")
def _tile_hits(
    kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, codes, masks, place
):
    if kernel == AVX512:
        return avx512_grid_hits(
            a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, codes, masks, place
        )
    if kernel == AVX512_DIRECT:
        return avx512_direct_hits(
            a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, codes, masks, place
        )
    if kernel == AVX2:
        return avx2_grid_hits(
            a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, codes, masks, place
        )
    if kernel == AVX2_DIRECT:
        return avx2_direct_hits(
            a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, codes, masks, place
        )
    return _portable_tile_hits(
        kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, codes, masks,
        place,
    )  # fmt: skip


# Arrays are arguments of their own: taken out of a tuple once a tile, or once a hit, each of them
# would have its references counted, which costs more than the hit.
@njit(cache=True, nogil=True, inline="always")
def find_hits(
    kernel, a, b, row_norm, col_norm, n_rows, n_cols, start, stop, b_panel, row_limit, col_limit,
    found, tiles, masks, places,
):  # fmt: skip
    """Compare a strip of tiles, and list its hits; returns how many there are.

    Parameters
    ----------
    kernel, a, b, row_norm, col_norm, n_rows, n_cols
        Of :class:`Tiles`.
    start, stop
        The panels of rows, at most ``STRIP``.
    row_limit, col_limit
        int32, padded to panels.
    found, tiles, masks, places
        Output: of :class:`Hits`.
    """
    n_tiles = 0
    for panel in range(start, stop):
        any_hit = _tile_hits(
            kernel, a, panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, tiles, masks,
            n_tiles,
        )  # fmt: skip
        places[n_tiles] = panel
        n_tiles += any_hit != 0
    height, width, n = a.shape[2], b.shape[2], 0
    first_col = b_panel * width
    known = np.uint32(0xFFFFFFFF)  # columns that are no padding
    if n_cols - first_col < width:
        known = np.uint32((1 << (n_cols - first_col)) - 1)
    for tile in range(n_tiles):
        first_row, first, n_hit_rows = places[tile] * height, tile * height, 0
        for r in range(min(height, n_rows - first_row)):  # no branches
            places[STRIP + n_hit_rows] = r
            n_hit_rows += (masks[first + r] & known) != 0
        for t in range(n_hit_rows):
            r = places[STRIP + t]
            mask, limit = masks[first + r] & known, row_limit[first_row + r]
            while mask:
                c = lowest_bit(mask)
                mask &= np.uint32(mask - np.uint32(1))
                code = tiles[first + r, c]
                found[0, n], found[1, n], found[2, n] = first_row + r, first_col + c, code
                n += code <= max(limit, col_limit[first_col + c])
    return n
