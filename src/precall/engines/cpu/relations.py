"""Both sides of every pair, on the CPU: who holds whom, who is nearest, whose ratio is largest.

One sweep tells queries and references what they are to each other.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from precall.engines.answers import Met
from precall.engines.cpu.counts import settle
from precall.engines.cpu.pairs import (
    are_too_many,
    canonical_squared,
    fast_squared,
    is_within_by,
)
from precall.engines.cpu.rulers import code_limits, least_distance
from precall.engines.cpu.tiling.tiles import ALL, STRIP, find_hits
from precall.runtime.compiling import helper, njit

_MEETINGS = 16  # that a row needs to find the best, on any ruler
_MEETING = 4  # pairs in doubt that take as long as one that is measured canonically


class Ratios(NamedTuple):
    """What references measure queries by."""

    weights: Any  # (n_ratios, n_queries); negative where one is left out
    largest: Any  # (n_ratios,) of these queries
    offset: float  # added to squared distances


class Side(NamedTuple):
    """What is known of the rows of one side: see :class:`Met`; and what could still be better."""

    in_own: Any
    in_others: Any
    nearest: Any
    squared: Any
    is_held: Any
    ratio: Any
    nearest_limits: Any  # (n,) largest code of a pair that may be as near; -1 if nobody asks
    limits: Any  # (n,) largest code of a pair that may be as good in any way

    @classmethod
    def of(cls, seen: Met, *, wants_best: bool) -> Self:
        """Begin to count, with the best that was seen before."""
        limits = np.full((2, len(seen.squared)), ALL if wants_best else -1, np.int64)
        counts = np.zeros_like(seen.in_own), np.zeros_like(seen.in_others)
        best = seen.nearest.copy(), seen.squared.copy(), seen.is_held.copy(), seen.ratio.copy()
        return cls(*counts, *best, *limits)

    def begin_again(self, seen: Met, nearest_limits: Any) -> None:
        """Begin to count again in the same arrays, with what was seen and how near it was."""
        self.in_own[:], self.in_others[:] = 0, 0
        self.nearest[:], self.squared[:] = seen.nearest, seen.squared
        self.is_held[:], self.ratio[:] = seen.is_held, seen.ratio
        self.nearest_limits[:] = self.limits[:] = nearest_limits

    def met(self) -> Met:
        """Return what was found."""
        return Met(*self[:6])


@helper()
def narrow(best, i, largest, error, ruler):
    """Find the largest code of a pair that may be as near as the best, or have as large a ratio."""
    best.nearest_limits[i] = code_limits(best.squared[i], error, ruler)[1]
    _narrow_ratios(best, i, largest, error, ruler)


@helper()
def _narrow_ratios(best, i, largest, error, ruler):
    """Find the largest code that matters, where the one that may be as near is known."""
    limit = best.nearest_limits[i]
    for ball in range(best.ratio.shape[1]):
        threshold = np.inf
        if largest[ball] <= 0.0:  # then at most copies have a ratio
            threshold = largest[ball]
        elif best.ratio[i, ball] > 0.0:
            threshold = largest[ball] / best.ratio[i, ball] * (1.0 + 1e-12)
        if threshold > best.squared[i]:  # or the limit of the nearest is the larger one
            limit = max(limit, code_limits(threshold, error, ruler)[1])
    best.limits[i] = limit


@helper()
def _narrow_again(best, largest, errors, largest_other, ruler):
    """Narrow what was found out before about rows: others have errors of their own."""
    for i in range(len(best.limits)):
        if best.limits[i] >= 0 and best.squared[i] < np.inf:
            narrow(best, i, largest, errors[i] + largest_other, ruler)


@helper()
def _narrow_ratios_again(best, largest, errors, largest_other, ruler):
    """Narrow what was found out before about rows: others have ratios of their own."""
    for i in range(len(best.limits)):
        if best.limits[i] >= 0 and best.squared[i] < np.inf:
            _narrow_ratios(best, i, largest, errors[i] + largest_other, ruler)


@helper()
def may_be_larger(least_squared, weights, i, ratio, j):
    """Whether reference ``j`` may have a larger ratio by query ``i`` than by any other so far.

    Their squared distance is at least ``least_squared``.
    """
    for r in range(ratio.shape[1]):
        weight = weights[r, i]
        if weight > 0.0 and weight >= ratio[j, r] * least_squared:
            return True
        if weight == 0.0 and least_squared <= 0.0 and ratio[j, r] < 1.0:
            return True
    return False


@helper()
def compare(best, i, squared, stored, thresholds, j, ratios):
    """Compare the other row ``j`` with the best of row ``i``; whether it is any better."""
    is_better = squared < best.squared[i]
    if is_better:
        best.squared[i], best.nearest[i] = squared, stored
        for ball in range(best.is_held.shape[1]):
            best.is_held[i, ball] = False
    if squared == best.squared[i]:
        best.nearest[i] = min(best.nearest[i], stored)
        for ball in range(best.is_held.shape[1]):
            best.is_held[i, ball] |= squared <= thresholds[ball, j]
    for r in range(best.ratio.shape[1]):
        weight = ratios.weights[r, j]
        if weight < 0.0:
            continue
        if squared + ratios.offset > 0.0:
            ratio = weight / (squared + ratios.offset)
        else:
            ratio = np.inf if weight > 0.0 else 1.0
        if ratio > best.ratio[i, r]:
            best.ratio[i, r] = ratio
            is_better = True
    return is_better


@helper()
def _meet(queries, i, references, j, thresholds, ratios, bound, of_query, of_near):
    """Measure a pair that may be the best of either, and narrow down what could be better."""
    query, reference = queries.rows[i], references.near[j]
    x, y, ruler = queries.base[query], references.base[reference], bound.ruler
    fast = fast_squared(x, y)
    least = fast * (1.0 - 2.0 * ruler.relative) - 2.0 * ruler.absolute
    is_near = least <= of_query.squared[i] or least <= of_near.squared[j]
    if not is_near and not may_be_larger(least, ratios.weights, i, of_near.ratio, j):
        return
    squared = canonical_squared(x, y)
    if compare(of_query, i, squared, reference, thresholds.of_near, j, ratios):
        error = bound.row_error[i] + bound.largest_col_error
        narrow(of_query, i, ratios.largest, error, ruler)
    if compare(of_near, j, squared, query, thresholds.of_query, i, ratios):
        error = bound.col_error[j] + bound.largest_row_error
        narrow(of_near, j, ratios.largest, error, ruler)


@helper()
def _relate_far(queries, references, thresholds, ratios, bound, of_query, of_far):
    """Relate the queries to the references that are not in tiles."""
    ruler = bound.ruler
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for t in range(len(references.far)):
            reference = references.base[references.far[t]]
            fast = fast_squared(query, reference)
            for ball in range(len(thresholds.of_query)):
                threshold = thresholds.of_query[ball, i]
                inside = is_within_by(fast, query, reference, threshold, ruler)
                of_query.in_own[i, ball] += inside
                of_far.in_others[t, ball] += inside
            for ball in range(len(thresholds.of_far)):
                threshold = thresholds.of_far[ball, t]
                inside = is_within_by(fast, query, reference, threshold, ruler)
                of_query.in_others[i, ball] += inside
                of_far.in_own[t, ball] += inside
            if of_far.limits[t] < 0:
                continue
            least = fast * (1.0 - 2.0 * ruler.relative) - 2.0 * ruler.absolute
            is_near = least <= of_query.squared[i] or least <= of_far.squared[t]
            if is_near or may_be_larger(least, ratios.weights, i, of_far.ratio, t):
                squared = canonical_squared(query, reference)
                far, row = references.far[t], queries.rows[i]
                compare(of_query, i, squared, far, thresholds.of_far, t, ratios)
                compare(of_far, t, squared, row, thresholds.of_query, i, ratios)


@helper()
def _limit_tiles(ball_limits, best, tile):
    """Let pass what may be in a ball, and what may be the best."""
    n = len(best.limits)
    for i in range(n):
        tile[i] = max(ball_limits[i], best.limits[i])
    for i in range(n, len(tile)):  # padding
        tile[i] = ball_limits[i]


@njit(cache=True, nogil=True, allocates=False)
def relate(
    tiles, bound, queries, references, thresholds, row_limits, col_limits, ratios, hits, row_tile,
    col_tile, of_query, of_near, of_far,
):  # fmt: skip
    """Count who is in whose ball, and find for each side who is nearest, and the largest ratios.

    Parameters
    ----------
    thresholds
        The balls of queries and of references.
    row_limits, col_limits
        Limits of the same: :class:`BallLimits`.
    hits, row_tile, col_tile
        To work in; the latter as long as the norms of rows and of columns.
    of_query, of_near, of_far
        Output: of each :class:`Side`; counts are added to and the best is improved.

    Returns
    -------
    Whether it was done; if not, too many pairs on the grid were in doubt.
    """
    kernel, a, b, row_norm, col_norm, n_rows, n_cols = tiles
    found, room, masks, places = hits
    ruler = bound.ruler
    _narrow_again(of_query, ratios.largest, bound.row_error, bound.largest_col_error, ruler)
    _narrow_ratios_again(of_near, ratios.largest, bound.col_error, bound.largest_row_error, ruler)
    (row_inner, row_outer, row_ball), (col_inner, col_outer, col_ball) = row_limits, col_limits
    _limit_tiles(row_ball, of_query, row_tile)
    _limit_tiles(col_ball, of_near, col_tile)
    query_own, query_others, row_best = of_query.in_own, of_query.in_others, of_query.limits
    near_own, near_others, col_best = of_near.in_own, of_near.in_others, of_near.limits
    row_error, col_error, col_nearest = bound.row_error, bound.col_error, of_near.nearest_limits
    of_rows, of_cols, weights, col_ratio = (
        thresholds.of_query, thresholds.of_near, ratios.weights, of_near.ratio,
    )  # fmt: skip
    n_in_doubt = -_MEETING * _MEETINGS * (n_rows + n_cols)
    for b_panel in range(b.shape[0]):
        for start in range(0, a.shape[0], STRIP):
            n_hits = find_hits(
                kernel, a, b, row_norm, col_norm, n_rows, n_cols, start,
                min(start + STRIP, a.shape[0]), b_panel, row_tile, col_tile, found, room, masks,
                places,
            )  # fmt: skip
            for t in range(n_hits):
                i, j, code = np.int64(found[0, t]), np.int64(found[1, t]), found[2, t]
                for ball in range(len(of_rows)):
                    inside = code <= row_inner[i, ball]
                    if not inside and code <= row_outer[i, ball]:
                        inside = settle(queries, i, references, j, of_rows[ball, i], ruler)
                        n_in_doubt += 1
                    query_own[i, ball] += inside
                    near_others[j, ball] += inside
                for ball in range(len(of_cols)):
                    inside = code <= col_inner[j, ball]
                    if not inside and code <= col_outer[j, ball]:
                        inside = settle(queries, i, references, j, of_cols[ball, j], ruler)
                        n_in_doubt += 1
                    query_others[i, ball] += inside
                    near_own[j, ball] += inside
                is_near = code <= row_best[i] or code <= col_nearest[j]
                if not is_near and code <= col_best[j]:
                    least = least_distance(np.int64(code), row_error[i] + col_error[j], ruler)
                    is_near = may_be_larger(least * least, weights, i, col_ratio, j)
                if is_near:
                    _meet(queries, i, references, j, thresholds, ratios, bound, of_query, of_near)
                    row_tile[i] = max(row_ball[i], row_best[i])
                    col_tile[j] = max(col_ball[j], col_best[j])
                    n_in_doubt += _MEETING
        if not ruler.is_direct and are_too_many(n_in_doubt, n_rows * (b_panel + 1) * b.shape[2]):
            return False
    _relate_far(queries, references, thresholds, ratios, bound, of_query, of_far)
    return True
