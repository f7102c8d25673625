"""Tiles of pairs, compared in registers, and the pairs of a tile that matter: its hits.

A tile has rows of A and rows of B (its "columns"). Each pair gets an int32 *code* that grows with
its distance (``rulers``), and

  hit(i, j) = code(i, j) <= max(row_limit[i], col_limit[j]).

Two kinds of tiles: *grid* tiles multiply int16 vectors q with ‖q‖² <= MAX_NORM, and the code is
Q = ‖q‖² + ‖q′‖² − 2q·q′, exact; *direct* tiles add squared differences in float64, and the code is
the upper word of the sum. A tile lives in registers over *all* features, is tested there, and is
written to memory only when it holds a hit. Of each kind three kernels give the same hits: AVX-512
and AVX2 emitted as LLVM IR, and plain Numba loops. The sweeps call them by address
(``tile_functions``).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.kernel_choice import TileShape
from precall.engines.cpu.tiling.bits import lowest_bit
from precall.engines.cpu.tiling.tile_functions import tile_hits
from precall.runtime.compiling import helper, njit

MAX_NORM = 2**29 - 2  # then Q <= 4 MAX_NORM, and all that it is made of, fits an int32
ALL = 2**31 - 8  # a limit that every pair is within: 4 MAX_NORM, and beyond every upper word
NONE = -1  # a limit that no pair is within
STRIP = 16  # tiles of one panel of columns whose hits are listed together


class Tiles(NamedTuple):
    """Queries and references, packed."""

    kernel: int  # its address
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


def pack_grid(q: NDArray[np.int16], rows: NDArray[np.intp], panel_rows: int) -> NDArray[Any]:
    """Pack rows of integers as ``(n_panels, n_pairs, panel_rows, 2)``, zero-padded.

    One step of a kernel consumes a pair of features of every row of a panel, so a panel is
    read strictly in sequence.
    """
    n_panels, n_pairs = -(-len(rows) // panel_rows), max(1, -(-q.shape[1] // 2))
    packed = np.zeros((n_panels, n_pairs, panel_rows, 2), np.int16)
    _pack_grid(q, rows, packed)
    return packed


@njit(cache=True, nogil=True, allocates=False)
def _pack_grid(q, rows, packed):
    """The loop of :func:`pack_grid`."""
    height = packed.shape[2]
    for i in range(len(rows)):
        row, panel, r = q[rows[i]], packed[i // height], i % height
        for j in range(len(row)):
            panel[j >> 1, r, j & 1] = row[j]


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


# Arrays are arguments of their own: a sweep counts references, so it takes them out of tuples once
# and not for every strip.
@helper()
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
    n_tiles = compare_strip(
        kernel, a, b, row_norm, col_norm, start, stop, b_panel, row_limit, col_limit, tiles, masks,
        places,
    )  # fmt: skip
    return list_hits(
        n_tiles, a.shape[2], b.shape[2], n_rows, n_cols, b_panel, row_limit, col_limit, found,
        tiles, masks, places,
    )  # fmt: skip


@helper()
def compare_strip(
    kernel, a, b, row_norm, col_norm, start, stop, b_panel, row_limit, col_limit, tiles, masks,
    places,
):  # fmt: skip
    """Compare a strip of tiles; returns how many have hits, which are kept."""
    n_tiles = 0
    for panel in range(start, stop):
        any_hit = tile_hits(
            kernel, a, panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, tiles, masks,
            n_tiles,
        )  # fmt: skip
        places[n_tiles] = panel
        n_tiles += any_hit != 0
    return n_tiles


@helper()
def list_hits(
    n_tiles, height, width, n_rows, n_cols, b_panel, row_limit, col_limit, found, tiles, masks,
    places,
):  # fmt: skip
    """List the hits of the tiles that were kept; returns how many there are.

    Limits may be less than those that the tiles were compared with.
    """
    first_col, n = b_panel * width, 0
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
