"""Sums of log(distance / limit) on the CPU.

Sums that are below the floor need no digits, and Q shows most of them to be. So a block of queries
meets the references tile by tile, collects what may be within its largest open limit, and bounds
the sum from above; what remains open at the end is measured.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines.cpu.pairs import clip_limit, fast_squared, integer_limits
from precall.engines.cpu.simd_tiles import lowest_bit
from precall.engines.cpu.tiles import MIN_LIMIT, tile_hits

_CAPACITY = 4096

_PANELS_BETWEEN = 2  # looks
_ROOT_ERROR = 2.0**-22  # relative, of √Q in float32
_AT_ONCE = 64  # hits that are bounded together
_BLOCK = 96  # queries: their lists stay in the second-level cache
_LEAST_LIMIT = 1e-300  # so that a limit of 0 holds what is at distance 0 alone


class _Found(NamedTuple):
    """What is known of a block of queries."""

    distances: Any  # (n_block, width) int32: Q of what may be within the largest open limit
    kept: Any  # (n_block, width) int32: index among the near references
    sizes: Any  # (n_block,)
    n_bounded: Any  # (n_block,) how many of them at_most knows
    at_most: Any  # (n_block,) bound of exp of the sum of the largest open limit
    n_open: Any  # (n_block,) limits, the smallest ones, whose sum may be above the floor
    is_complete: Any  # (n_block,) whether no hit was dropped from the list


class _Limits(NamedTuple):
    """Several limits, and d/limit in terms of Q: d/limit ≤ (√Q + ρ + ρ′)·scale + least."""

    limits: Any  # (n_limits,) ascending
    scales: Any
    least: Any
    tile: Any  # (n_limits + 1, n_padded) of each query's tiles; the last row lets nothing pass
    error: Any  # (n_queries,) ρ + largest ρ′
    negligible: float  # exp(floor)


@njit(cache=True, nogil=True)
def _in_steps(limits, floor, row_norm, bound):
    """Express the limits in terms of Q."""
    error = bound.row_error + bound.largest_col_error
    tile = np.full((len(limits) + 1, len(row_norm)), MIN_LIMIT, dtype=np.int32)
    scales, least = np.zeros(len(limits)), np.ones(len(limits))
    for t in range(len(limits)):
        if limits[t] > 0.0:
            scales[t] = (1.0 + 4.0 * bound.relative + _ROOT_ERROR) * bound.step / limits[t]
            least[t] = np.sqrt(bound.absolute) / limits[t]
        for i in range(len(error)):
            outer = integer_limits(
                limits[t] * limits[t], error[i], bound.step, bound.relative, bound.absolute
            )[1]
            tile[t, i] = clip_limit(np.int64(outer) - row_norm[i])
    return _Limits(limits, scales, least, tile, error, np.exp(floor))


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _product_at_most(found, s, start, limits, t, error):
    """Bound the product of d/limit over a list, from ``start`` on."""
    distances, scale, least = found.distances, limits.scales[t], limits.least[t]
    product = 1.0
    # unsigned, as an index that might be negative is not vectorised
    for u in range(np.uint64(start), np.uint64(found.sizes[s])):
        root = np.float64(np.sqrt(np.float32(distances[s, u])))
        factor = (root + error) * scale + least
        product *= factor if factor < 1.0 else 1.0
    return product


@njit(cache=True, nogil=True)
def _narrow(found, s, limits, error):
    """Close the limits whose sum is surely below the floor."""
    top = found.n_open[s] - 1
    at_most = found.at_most[s]
    at_most *= _product_at_most(found, s, found.n_bounded[s], limits, top, error)
    while at_most < limits.negligible and top > 0:
        top -= 1
        at_most = _product_at_most(found, s, 0, limits, top, error)
    found.n_open[s] = top + (at_most >= limits.negligible)
    found.at_most[s], found.n_bounded[s] = at_most, found.sizes[s]


@njit(cache=True, nogil=True, error_model="numpy")
def _look(found, start, limits, row_limit, is_last, n_rows, open_rows):
    """Bound the lists that have grown; whether anything else is to be collected."""
    n_open_rows = 0
    for i in range(start, min(start + len(found.sizes), len(limits.error))):
        s = i - start
        is_full, n_new = found.sizes[s] > _CAPACITY, found.sizes[s] - found.n_bounded[s]
        if found.n_open[s] and (is_last or is_full or n_new >= _AT_ONCE):
            _narrow(found, s, limits, limits.error[i])
            row_limit[i] = limits.tile[found.n_open[s] - 1, i]  # the last row if none is left
            open_rows[s // n_rows] -= found.n_open[s] == 0
        if is_full:
            found.is_complete[s] = False
            found.sizes[s] = found.n_bounded[s] = 0
        n_open_rows += found.n_open[s] > 0
    return n_open_rows > 0


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(tiles, never, first, limits, row_limit, found, open_rows, dots, masks):
    """Collect what may be within the limits of a block of queries that begins at ``first``."""
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols, n_panels = a.shape[2], b.shape[2], b.shape[0]
    distances, kept, sizes = found.distances, found.kept, found.sizes
    last = min(first + len(open_rows), a.shape[0])
    for a_panel in range(first, last):
        open_rows[a_panel - first] = min(n_rows, len(limits.error) - a_panel * n_rows)
    for b_panel in range(n_panels):
        for a_panel in range(first, last):
            if open_rows[a_panel - first] == 0 or not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, never, dots, masks
            ):
                continue
            for r in range(n_rows):
                mask, i, s = masks[r], a_panel * n_rows + r, (a_panel - first) * n_rows + r
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j = b_panel * n_cols + c
                    distances[s, sizes[s]] = np.int32(row_norm[i] + col_norm[j] - 2 * dots[r, c])
                    kept[s, sizes[s]] = j
                    sizes[s] += 1
        is_last = b_panel == n_panels - 1
        if (is_last or (b_panel + 1) % _PANELS_BETWEEN == 0) and not _look(
            found, first * n_rows, limits, row_limit, is_last, n_rows, open_rows
        ):
            break


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _product(distances, n, inverse):
    """Multiply min(1, distance / limit); what underflows is below every floor."""
    product = 1.0
    for t in range(n):
        ratio = distances[t] * inverse
        product *= ratio if ratio < 1.0 else 1.0
    return product


@njit(cache=True, nogil=True, error_model="numpy")
def _measure(query, references, listed, n_listed, inverses, n_open, floor, distances, total):
    """Sum up what is listed, or all that is on the grid, and all that is not; what is left open.

    One logarithm serves many pairs, and limits whose sum is below the floor are left alone.
    """
    n_near = len(references.near) if n_listed < 0 else n_listed
    n_all = n_near + len(references.far)
    total[:] = 0.0
    start = 0
    while start < n_all and n_open > 0:
        n = min(len(distances), n_all - start)
        for t in range(n):
            if start + t >= n_near:
                row = references.far[start + t - n_near]
            else:
                row = references.near[start + t if n_listed < 0 else listed[start + t]]
            distances[t] = np.sqrt(fast_squared(query, references.base[row]))
        for a in range(n_open):
            total[a] += np.log(_product(distances, n, inverses[a]))
        while n_open > 0 and total[n_open - 1] < floor:
            n_open -= 1
        start += n
    return n_open


@njit(cache=True, nogil=True)
def _finish(found, start, queries, references, limits, floor, sums):
    """Measure what may be above the floor."""
    inverses = 1.0 / np.maximum(limits.limits, _LEAST_LIMIT)
    distances, total = np.empty(_AT_ONCE), np.empty(len(sums))
    query = np.empty(queries.base.shape[1])
    for i in range(start, min(start + len(found.sizes), len(queries.rows))):
        s = i - start
        if found.n_open[s] == 0:
            continue
        query[:] = queries.base[queries.rows[i]]
        n_listed = found.sizes[s] if found.is_complete[s] else -1
        n_open = _measure(
            query, references, found.kept[s], n_listed, inverses, found.n_open[s], floor,
            distances, total,
        )  # fmt: skip
        sums[:n_open, i] = total[:n_open]


@njit(cache=True, nogil=True)
def sum_logs(tiles, bound, never, queries, references, limits, floor, sums):
    """Σ log(distance / limit) over the references within each of several limits.

    Parameters
    ----------
    limits
        (n_limits,) ascending.
    floor
        Sums below it are given as it.
    sums
        Output, (n_limits, n_queries).
    """
    a, row_norm = tiles.a, tiles.row_norm
    n_rows, n_cols = a.shape[2], tiles.b.shape[2]
    in_steps = _in_steps(limits, floor, row_norm, bound)
    row_limit = in_steps.tile[len(limits) - 1].copy()
    n_panels = min(_BLOCK // n_rows, a.shape[0])
    n = n_panels * n_rows
    width = min(_CAPACITY, len(tiles.col_norm)) + _PANELS_BETWEEN * n_cols
    found = _Found(
        np.empty((n, width), np.int32), np.empty((n, width), np.int32), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n, np.bool_),
    )  # fmt: skip
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks, open_rows = np.empty(n_rows, dtype=np.uint32), np.empty(n_panels, np.int64)
    sums[:] = floor
    for first in range(0, a.shape[0], n_panels):
        found.sizes[:] = found.n_bounded[:] = 0
        found.n_open[:], found.at_most[:], found.is_complete[:] = len(limits), 1.0, True
        _sweep(tiles, never, first, in_steps, row_limit, found, open_rows, dots, masks)
        _finish(found, first * n_rows, queries, references, in_steps, floor, sums)
