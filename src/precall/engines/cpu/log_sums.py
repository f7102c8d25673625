"""Sums of log(distance / limit) on the CPU.

Sums that are below the floor need no digits, and codes show most of them to be. So a block of
queries meets the references tile by tile, collects what may be within its largest open limit, and
bounds the sum from above; what remains open at the end is measured.
"""

from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.pairs import are_too_many, fast_squared
from precall.engines.cpu.rulers import code_limits, largest_of
from precall.engines.cpu.tiling.tiles import NONE, find_hits
from precall.runtime.compiling import helper, njit

_CAPACITY = 4096

_PANELS_BETWEEN = 2  # looks
_ROOT_ERROR = 2.0**-22  # relative, of √Q in float32
_AT_ONCE = 64  # hits that are bounded together
_BLOCK = 96  # queries: their lists stay in the second-level cache
_LEAST_LIMIT = 1e-300  # so that a limit of 0 holds what is at distance 0 alone


class _Found(NamedTuple):
    """What is known of a block of queries."""

    codes: Any  # (n_block, width) int32: of what may be within the largest open limit
    kept: Any  # (n_block, width) int32: index among the near references
    sizes: Any  # (n_block,)
    n_bounded: Any  # (n_block,) how many of them at_most knows
    at_most: Any  # (n_block,) bound of exp of the sum of the largest open limit
    n_open: Any  # (n_block,) limits, the smallest ones, whose sum may be above the floor
    is_complete: Any  # (n_block,) whether no hit was dropped from the list


class _Limits(NamedTuple):
    """Several limits, and d/limit in terms of codes: d/limit ≤ (root + ρ + ρ′)·scale + least.

    The root is √Q on the grid, and that of the largest F with a direct code.
    """

    limits: Any  # (n_limits,) ascending
    scales: Any
    least: Any
    tile: Any  # (n_limits + 1, n_padded) of each query's tiles; the last row lets nothing pass
    error: Any  # (n_queries,) ρ + largest ρ′
    negligible: float  # exp(floor)
    is_direct: bool


@helper(allocates=True)
def _in_steps(limits, floor, row_norm, bound):
    """Express the limits in terms of codes."""
    error, ruler = bound.row_error + bound.largest_col_error, bound.ruler
    tile = np.full((len(limits) + 1, len(row_norm)), NONE, dtype=np.int32)
    scales, least = np.zeros(len(limits)), np.ones(len(limits))
    for t in range(len(limits)):
        if limits[t] > 0.0:
            scales[t] = (1.0 + 4.0 * ruler.relative + _ROOT_ERROR) * ruler.step / limits[t]
            least[t] = np.sqrt(ruler.absolute) / limits[t]
        for i in range(len(error)):
            tile[t, i] = code_limits(limits[t] * limits[t], error[i], ruler)[1]
    return _Limits(limits, scales, least, tile, error, np.exp(floor), ruler.is_direct)


@helper(fastmath={"reassoc"})
def _product_at_most(found, s, start, limits, t, error):
    """Bound the product of d/limit over a list, from ``start`` on."""
    codes, scale, least = found.codes, limits.scales[t], limits.least[t]
    product = 1.0
    # unsigned, as an index that might be negative is not vectorised
    if limits.is_direct:
        for u in range(np.uint64(start), np.uint64(found.sizes[s])):
            factor = np.sqrt(largest_of(codes[s, u])) * scale + least
            product *= factor if factor < 1.0 else 1.0
        return product
    for u in range(np.uint64(start), np.uint64(found.sizes[s])):
        root = np.float64(np.sqrt(np.float32(codes[s, u])))
        factor = (root + error) * scale + least
        product *= factor if factor < 1.0 else 1.0
    return product


@helper()
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


@helper()
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


@helper()
def _sweep(tiles, never, first, limits, row_limit, found, open_rows, hits):
    """Collect what may be within the limits of a block of queries that begins at ``first``."""
    kernel, a, b, row_norm, col_norm, n_queries, n_cols = tiles
    pairs, room, masks, places = hits
    n_rows, n_panels = a.shape[2], b.shape[0]
    codes, kept, sizes = found.codes, found.kept, found.sizes
    last, start = min(first + len(open_rows), a.shape[0]), first * n_rows
    for a_panel in range(first, last):
        open_rows[a_panel - first] = min(n_rows, n_queries - a_panel * n_rows)
    for b_panel in range(n_panels):
        for a_panel in range(first, last):
            if open_rows[a_panel - first] == 0:
                continue
            n_hits = find_hits(
                kernel, a, b, row_norm, col_norm, n_queries, n_cols, a_panel, a_panel + 1, b_panel,
                row_limit, never, pairs, room, masks, places,
            )  # fmt: skip
            for t in range(n_hits):
                s = pairs[0, t] - start
                codes[s, sizes[s]], kept[s, sizes[s]] = pairs[2, t], pairs[1, t]
                sizes[s] += 1
        is_last = b_panel == n_panels - 1
        if (is_last or (b_panel + 1) % _PANELS_BETWEEN == 0) and not _look(
            found, start, limits, row_limit, is_last, n_rows, open_rows
        ):
            break


@helper(fastmath={"reassoc"})
def _product(distances, n, inverse):
    """Multiply min(1, distance / limit); what underflows is below every floor."""
    product = 1.0
    for t in range(n):
        ratio = distances[t] * inverse
        product *= ratio if ratio < 1.0 else 1.0
    return product


@helper()
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


@helper(allocates=True)
def _finish(found, start, queries, references, limits, floor, sums):
    """Measure what may be above the floor; returns how many pairs that were."""
    inverses = 1.0 / np.maximum(limits.limits, _LEAST_LIMIT)
    distances, total = np.empty(_AT_ONCE), np.empty(len(sums))
    query = np.empty(queries.base.shape[1])
    n_measured = 0
    for i in range(start, min(start + len(found.sizes), len(queries.rows))):
        s = i - start
        if found.n_open[s] == 0:
            continue
        query[:] = queries.base[queries.rows[i]]
        n_listed = found.sizes[s] if found.is_complete[s] else -1
        n_measured += len(references.near) if n_listed < 0 else n_listed
        n_open = _measure(
            query, references, found.kept[s], n_listed, inverses, found.n_open[s], floor,
            distances, total,
        )  # fmt: skip
        sums[:n_open, i] = total[:n_open]
    return n_measured


@njit(cache=True, nogil=True)
def sum_logs(tiles, bound, queries, references, never, limits, floor, hits, sums):
    """Σ log(distance / limit) over the references within each of several limits.

    Parameters
    ----------
    never
        Limits of references that nothing satisfies.
    limits
        (n_limits,) ascending.
    floor
        Sums below it are given as it.
    hits
        To work in.
    sums
        Output, (n_limits, n_queries).

    Returns
    -------
    Whether it was done; if not, too many pairs on the grid were in doubt.
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
    open_rows = np.empty(n_panels, np.int64)
    sums[:] = floor
    n_measured = 0
    for first in range(0, a.shape[0], n_panels):
        found.sizes[:] = found.n_bounded[:] = 0
        found.n_open[:], found.at_most[:], found.is_complete[:] = len(limits), 1.0, True
        _sweep(tiles, never, first, in_steps, row_limit, found, open_rows, hits)
        n_measured += _finish(found, first * n_rows, queries, references, in_steps, floor, sums)
        n_pairs = (first + n_panels) * n_rows * len(references.near)
        if not bound.ruler.is_direct and are_too_many(n_measured, n_pairs):
            return False
    return True
