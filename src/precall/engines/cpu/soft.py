"""The soft cover on the CPU: 1 − ∏ min(1, d/R) over all references of the other class.

Most products of large R are too small to matter, and Q shows it. So a block of queries meets the
references tile by tile, collects what may be within R, and bounds its products from above; what
remains open at the end is measured and multiplied as defined.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines.cpu.kernel_choice import AVX512
from precall.engines.cpu.pairs import clip_limit, integer_limits
from precall.engines.cpu.simd_soft import (
    ROWS_AT_ONCE,
    avx512_keep_hits,
    distances_of_eight,
    keep_hits,
    lowest_bit_of_word,
)
from precall.engines.cpu.tiles import MIN_LIMIT, tile_hits

__all__ = ["cover_softly"]

_COVERED = 2.0**-54  # 1 less this, or less, is 1
_CAPACITY = 4096
_SPARE = 128  # hits of the panels between two looks at the lists, and what packing them overwrites
_PANELS_BETWEEN = 2  # looks
_ROOT_ERROR = 2.0**-22  # relative, of √Q in float32
_AT_ONCE = 64  # hits that are bounded, or multiplied, together
_BLOCK = 96  # queries: their lists stay in the second-level cache


class _Found(NamedTuple):
    """What is known of a block of queries."""

    distances: Any  # (n_block, width) int32: Q of what may be within the largest open R
    kept: Any  # (n_block, width) int32: where these references stand in their class
    sizes: Any  # (n_block,)
    n_bounded: Any  # (n_block,) how many of them at_most knows
    at_most: Any  # (n_block,) bound of the product of the largest open R
    n_open: Any  # (n_block,) radii, the smallest ones, whose product may matter
    is_complete: Any  # (n_block,) whether no hit was dropped from the list


class _Radii(NamedTuple):
    """Several R, and d/R in terms of Q: d/R ≤ (√Q + ρ + ρ′)·scale + least."""

    radii: Any  # (n_radii,) ascending
    scales: Any
    least: Any
    limits: Any  # (n_radii + 1, n_padded) of each query's tiles; the last row lets nothing pass
    error: Any  # (n_queries,) ρ + largest ρ′


class _Scratch(NamedTuple):
    """Room to work in."""

    words: Any  # (n_fit / 64,) a bit for each reference, all 0
    rows: Any  # (n_fit + 16,)
    query: Any  # (d,) float64
    distances: Any  # (_AT_ONCE,)
    factors: Any  # (_AT_ONCE,)
    missed: Any  # (n_radii,)


@njit(cache=True, nogil=True)
def _in_steps(radii, row_norm, bound):
    """Express the radii in terms of Q."""
    error = bound.row_error + bound.largest_col_error
    limits = np.full((len(radii) + 1, len(row_norm)), MIN_LIMIT, dtype=np.int32)
    scales, least = np.zeros(len(radii)), np.ones(len(radii))
    for t in range(len(radii)):
        if radii[t] > 0.0:
            scales[t] = (1.0 + 4.0 * bound.relative + _ROOT_ERROR) * bound.step / radii[t]
            least[t] = np.sqrt(bound.absolute) / radii[t]
        for i in range(len(error)):
            outer = integer_limits(
                radii[t] * radii[t], error[i], bound.step, bound.relative, bound.absolute
            )[1]
            limits[t, i] = clip_limit(np.int64(outer) - row_norm[i])
    return _Radii(radii, scales, least, limits, error)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _product_at_most(found, s, start, radii, t, error):
    """Bound the product of radius ``t`` over a list, from ``start`` on."""
    distances, scale, least = found.distances, radii.scales[t], radii.least[t]
    product = 1.0
    # unsigned, as an index that might be negative is not vectorised
    for u in range(np.uint64(start), np.uint64(found.sizes[s])):
        root = np.float64(np.sqrt(np.float32(distances[s, u])))
        factor = (root + error) * scale + least
        product *= factor if factor < 1.0 else 1.0
    return product


@njit(cache=True, nogil=True)
def _narrow(found, s, radii, error):
    """Close the radii whose product is surely too small to matter."""
    top = found.n_open[s] - 1
    at_most = found.at_most[s]
    at_most *= _product_at_most(found, s, found.n_bounded[s], radii, top, error)
    while at_most < _COVERED and top > 0:
        top -= 1
        at_most = _product_at_most(found, s, 0, radii, top, error)
    found.n_open[s] = top + (at_most >= _COVERED)
    found.at_most[s], found.n_bounded[s] = at_most, found.sizes[s]


@njit(cache=True, nogil=True, error_model="numpy")
def _look(found, start, radii, row_limit, is_last, n_rows, open_rows):
    """Bound the lists that have grown; whether anything else is to be collected."""
    n_open_rows = 0
    for i in range(start, min(start + len(found.sizes), len(radii.error))):
        s = i - start
        is_full, n_new = found.sizes[s] > _CAPACITY, found.sizes[s] - found.n_bounded[s]
        if found.n_open[s] and (is_last or is_full or n_new >= _AT_ONCE):
            _narrow(found, s, radii, radii.error[i])
            row_limit[i] = radii.limits[found.n_open[s] - 1, i]  # the last row if none is left
            open_rows[s // n_rows] -= found.n_open[s] == 0
        if is_full:
            found.is_complete[s] = False
            found.sizes[s] = found.n_bounded[s] = 0
        n_open_rows += found.n_open[s] > 0
    return n_open_rows > 0


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(tiles, never, places, first, radii, row_limit, found, open_rows, dots, masks):
    """Collect what may be within R of a block of queries that begins with panel ``first``."""
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols, n_panels = a.shape[2], b.shape[2], b.shape[0]
    distances, kept, sizes = found.distances, found.kept, found.sizes
    last = min(first + len(open_rows), a.shape[0])
    for a_panel in range(first, last):
        open_rows[a_panel - first] = min(n_rows, len(radii.error) - a_panel * n_rows)
    for b_panel in range(n_panels):
        for a_panel in range(first, last):
            if open_rows[a_panel - first] == 0 or not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, never, dots, masks
            ):
                continue
            row, col, s = a_panel * n_rows, b_panel * n_cols, (a_panel - first) * n_rows
            if kernel == AVX512:
                avx512_keep_hits(
                    masks, dots, row_norm, row, col_norm, places, col, distances, kept, sizes, s
                )
            else:
                keep_hits(
                    masks, dots, row_norm, row, col_norm, places, col, distances, kept, sizes, s
                )
        is_last = b_panel == n_panels - 1
        if (is_last or (b_panel + 1) % _PANELS_BETWEEN == 0) and not _look(
            found, first * n_rows, radii, row_limit, is_last, n_rows, open_rows
        ):
            break


@njit(cache=True, nogil=True)
def _rows_in_order(found, s, limit, far, in_order, words, rows):
    """Find where the collected references are stored, in the order of the class: how many."""
    if not found.is_complete[s]:
        rows[: len(in_order)] = in_order
        return len(in_order)
    for t in range(found.sizes[s]):
        place, is_within = found.kept[s, t], found.distances[s, t] <= limit
        words[place >> 6] |= np.uint64(is_within) << np.uint64(place & 63)
    for place in far:
        words[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    size = 0
    for w in range(len(words)):
        word = words[w]
        words[w] = 0
        while word:
            rows[size] = in_order[64 * w + lowest_bit_of_word(word)]
            word &= word - np.uint64(1)
            size += 1
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _multiply(base, size, radii, n_open, scratch):
    """∏ min(1, d/R) over the first rows, in their order; how many products matter."""
    rows, distances, factors, missed = (
        scratch.rows, scratch.distances, scratch.factors, scratch.missed,
    )  # fmt: skip
    rows[size : size + 2 * ROWS_AT_ONCE] = rows[max(size - 1, 0)]  # whole groups, and one ahead
    missed[:] = 1.0
    start = 0
    while start < size and n_open > 0:
        n = min(_AT_ONCE, size - start)
        for t in range(0, n, ROWS_AT_ONCE):
            distances_of_eight(scratch.query, base, rows, start + t, distances, t)
        for a in range(n_open):
            radius = radii[a]
            for t in range(n):
                ratio = distances[t] / radius
                factors[t] = ratio if distances[t] < radius else np.float64(distances[t] > 0.0)
            product = missed[a]
            for t in range(n):
                product *= factors[t]
            missed[a] = product
        while n_open > 0 and missed[n_open - 1] <= _COVERED:
            n_open -= 1
        start += _AT_ONCE
    return n_open


@njit(cache=True, nogil=True)
def _finish(found, start, queries, base, far, in_order, radii, row_norm, scratch, covered):
    """Multiply, in the order of the class, the products that are not too small to matter."""
    for i in range(start, min(start + len(found.sizes), len(queries.rows))):
        s = i - start
        n_open = found.n_open[s]
        if n_open == 0:
            continue
        limit = radii.limits[n_open - 1, i] + row_norm[i]
        size = _rows_in_order(found, s, limit, far, in_order, scratch.words, scratch.rows)
        scratch.query[:] = queries.base[queries.rows[i]]
        n_open = _multiply(base, size, radii.radii, n_open, scratch)
        for t in range(n_open):
            covered[t, i] = 1.0 - scratch.missed[t]


@njit(cache=True, nogil=True)
def cover_softly(tiles, bound, never, queries, references, places, in_order, radii, covered):
    """1 − ∏ min(1, d/R) over all references, multiplied in their own order, for several R.

    As soon as Q shows a product to be too small to matter it is left alone. In many dimensions that
    is soon: there R reaches across most of the data. The larger R, the sooner.

    Parameters
    ----------
    in_order
        (n_fit,) where each reference is stored, in the order of the class.
    radii
        (n_radii,) R, ascending.
    covered
        Output, (n_radii, n_queries).
    """
    a, row_norm = tiles.a, tiles.row_norm
    n_rows, n_cols, n_fit, d = a.shape[2], tiles.b.shape[2], len(in_order), queries.base.shape[1]
    in_steps = _in_steps(radii, row_norm, bound)
    row_limit = in_steps.limits[len(radii) - 1].copy()
    near = np.zeros(len(tiles.col_norm), dtype=np.int32)
    near[: len(places.near)] = places.near
    n_panels = min(_BLOCK // n_rows, a.shape[0])
    n, width = n_panels * n_rows, _CAPACITY + _SPARE
    found = _Found(
        np.empty((n, width), np.int32), np.empty((n, width), np.int32), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n, np.bool_),
    )  # fmt: skip
    scratch = _Scratch(
        np.zeros((n_fit + 63) // 64, np.uint64), np.empty(n_fit + 2 * ROWS_AT_ONCE, np.int64),
        np.empty(d), np.empty(_AT_ONCE), np.empty(_AT_ONCE), np.empty(len(radii)),
    )  # fmt: skip
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks, open_rows = np.empty(n_rows, dtype=np.uint32), np.empty(n_panels, np.int64)
    covered[:] = 1.0
    for first in range(0, a.shape[0], n_panels):
        found.sizes[:] = found.n_bounded[:] = 0
        found.n_open[:], found.at_most[:], found.is_complete[:] = len(radii), 1.0, True
        _sweep(tiles, never, near, first, in_steps, row_limit, found, open_rows, dots, masks)
        _finish(
            found, first * n_rows, queries, references.base, places.far, in_order, in_steps,
            row_norm, scratch, covered,
        )  # fmt: skip
