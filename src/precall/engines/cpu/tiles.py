"""Exact int16 dot-product tiles, tested for hits while still in registers.

Rows are int16 vectors ``q`` with ``|q|^2 <= MAX_NORM``. For a row ``i`` of A and a row
``j`` of B (a "column" of the tile), with ``u = -2 * (q_i . q_j)``::

  hit(i, j) = u <= row_limit[i] - col_norm[j] or u <= col_limit[j] - row_norm[i]

A tile (12 x 32 for AVX-512) lives in registers over *all* features, is tested there, and is
written to memory only when it holds a hit. Three kernels give bit-identical results: AVX512-VNNI
and AVX2 emitted as LLVM IR, and plain Numba loops. The kernel is a run-time argument of one
driver, not a closure or a frozen global: Numba's disk cache sees neither (see ``tile_hits``).
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from precall.engines.cpu.kernel_choice import AVX2, AVX512
from precall.engines.cpu.simd_tiles import avx2_tile_hits, avx512_tile_hits

# With these, no int32 expression below can overflow, every real limit is expressible
# ("never" and "always" included) and a padding row or column (whose dots are all 0) cannot hit.
MAX_NORM = 2**29 - 2
MIN_LIMIT = -(2**29) + 1  # -|q|^2 - 1 (never a hit) fits
MAX_LIMIT = 3 * 2**29 - 1  # 2 |q_i| |q_j| + |q_j|^2 (always a hit) fits
PAD_NORM = MAX_LIMIT + 1


def pack(q: NDArray[np.int16], panel_rows: int) -> NDArray[Any]:
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


def pad(values: NDArray[np.int64], panel_rows: int, fill: int) -> NDArray[Any]:
    """``values`` as int32, extended with ``fill`` to whole panels."""
    padded = np.full(-(-len(values) // panel_rows) * panel_rows, fill, dtype=np.int32)
    padded[: len(values)] = values
    return padded


@njit(cache=True, nogil=True)
def _portable_tile_hits(
    a: np.ndarray, a_panel: int, b: np.ndarray, b_panel: int,
    row_limit: np.ndarray, row_norm: np.ndarray, col_norm: np.ndarray, col_limit: np.ndarray,
    dots: np.ndarray, masks: np.ndarray,
) -> Any:  # fmt: skip
    n_pairs, n_rows, n_cols = a.shape[1], a.shape[2], b.shape[2]
    # A pair read as one int32 and taken apart by shifts vectorises (LLVM even finds vpmaddwd);
    # two int16 reads with a stride of two are eight times slower.
    pairs = b.view(np.int32)[b_panel]
    dots[:] = 0
    for p in range(n_pairs):
        for r in range(n_rows):
            even, odd = np.int32(a[a_panel, p, r, 0]), np.int32(a[a_panel, p, r, 1])
            row = dots[r]
            for c in range(n_cols):
                pair = pairs[p, c, 0]
                # int32 products are int64 in Numba: the cast lets LLVM narrow them again
                row[c] += np.int32(even * np.int32(np.int16(pair)) + odd * np.int32(pair >> 16))

    norms = col_norm[b_panel * n_cols : (b_panel + 1) * n_cols]
    limits = col_limit[b_panel * n_cols : (b_panel + 1) * n_cols]
    any_hit = np.int32(0)
    for r in range(n_rows):
        limit, norm = row_limit[a_panel * n_rows + r], row_norm[a_panel * n_rows + r]
        row = dots[r]
        row_hits: Any = 0
        for c in range(n_cols):  # hits are rare: a vectorised test first, then the bits
            row_hits += np.int32(2 * row[c]) >= min(
                np.int32(norms[c] - limit), np.int32(norm - limits[c])
            )
        mask = np.uint32(0)
        if row_hits:
            any_hit = np.int32(1)
            for c in range(n_cols):
                if 2 * row[c] >= min(norms[c] - limit, norm - limits[c]):
                    mask |= np.uint32(1) << np.uint32(c)
        masks[r] = mask
    return any_hit


# Inlined: a call would push the 70 words that eight arrays are made of: 40 cycles per tile.
@njit(cache=True, nogil=True, inline="always")
def tile_hits(
    kernel: int, a: np.ndarray, a_panel: int, b: np.ndarray, b_panel: int,
    row_limit: np.ndarray, row_norm: np.ndarray, col_norm: np.ndarray, col_limit: np.ndarray,
    dots: np.ndarray, masks: np.ndarray,
) -> Any:  # fmt: skip
    """Test one tile: returns non-zero if it has hits, with the rows' hit bits in ``masks``.

    ``dots`` (rows x cols) is meaningful only when there are hits.
    """
    if kernel == AVX512:
        return avx512_tile_hits(
            a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, dots, masks
        )
    if kernel == AVX2:
        return avx2_tile_hits(
            a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, dots, masks
        )
    return _portable_tile_hits(
        a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit, dots, masks
    )
