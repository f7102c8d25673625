"""Both sides of every pair, on the CPU: who holds whom, who is nearest, whose ratio is largest.

One sweep tells queries and references what they are to each other.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit

from precall.engines.answers import Met
from precall.engines.cpu.counts import limits_of_balls, settle
from precall.engines.cpu.pairs import (
    LARGEST_Q,
    canonical_squared,
    clip_limit,
    integer_limits,
    is_within,
)
from precall.engines.cpu.simd_tiles import lowest_bit
from precall.engines.cpu.tiles import tile_hits


class Ratios(NamedTuple):
    """What references measure queries by."""

    weights: Any  # (n_ratios, n_queries); negative where one is left out
    largest: Any  # (n_ratios,) of all queries, of other chunks too
    offset: float  # added to squared distances


class Side(NamedTuple):
    """What is known of the rows of one side: see :class:`Met`; and what could still be better."""

    in_own: Any
    in_others: Any
    nearest: Any
    squared: Any
    is_held: Any
    ratio: Any
    nearest_limits: Any  # (n,) largest Q of a pair that may be as near; -1 if nobody wants to know
    limits: Any  # (n,) largest Q of a pair that may be as good in any way

    @classmethod
    def of(cls, seen: Met, *, wants_best: bool) -> Self:
        """Begin to count, with the best that was seen before."""
        limits = np.full((2, len(seen.squared)), LARGEST_Q if wants_best else -1, np.int64)
        counts = np.zeros_like(seen.in_own), np.zeros_like(seen.in_others)
        best = seen.nearest.copy(), seen.squared.copy(), seen.is_held.copy(), seen.ratio.copy()
        return cls(*counts, *best, *limits)

    def met(self) -> Met:
        """Return what was found."""
        return Met(*self[:6])


@njit(cache=True, nogil=True)
def _narrow(best, i, largest, error, bound):
    """Find the largest Q of a pair that may be as near, or have as large a ratio, as the best."""
    limit = integer_limits(best.squared[i], error, bound.step, bound.relative, bound.absolute)[1]
    best.nearest_limits[i] = limit
    for ball in range(best.ratio.shape[1]):
        threshold = np.inf
        if best.ratio[i, ball] > 0.0:
            threshold = largest[ball] / best.ratio[i, ball] * (1.0 + 1e-12)
        widest = integer_limits(threshold, error, bound.step, bound.relative, bound.absolute)[1]
        limit = max(limit, widest)
    best.limits[i] = limit


@njit(cache=True, nogil=True)
def _narrow_again(of_near, largest, bound):
    """Narrow what other queries, with errors of their own, have found out about references."""
    for j in range(len(of_near.limits)):
        if of_near.squared[j] < np.inf:
            _narrow(of_near, j, largest, bound.col_error[j] + bound.largest_row_error, bound)


@njit(cache=True, nogil=True)
def _may_be_larger(distance, weights, i, ratio, j, error, step):
    """Whether reference ``j`` may have a larger ratio by query ``i`` than by any other so far."""
    least = max(np.sqrt(np.float64(distance)) - error, 0.0) * step * (1.0 - 1e-12)
    for r in range(ratio.shape[1]):  # noqa: SIM110 - compiled
        if weights[r, i] >= ratio[j, r] * (least * least):
            return True
    return False


@njit(cache=True, nogil=True)
def _compare(best, i, squared, stored, thresholds, j, ratios):
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


@njit(cache=True, nogil=True)
def _meet(queries, i, references, j, thresholds, ratios, bound, of_query, of_near):
    """Measure a pair that may be the best of either, and narrow down what could be better."""
    query, reference = queries.rows[i], references.near[j]
    squared = canonical_squared(queries.base[query], references.base[reference])
    if _compare(of_query, i, squared, reference, thresholds.of_near, j, ratios):
        error = bound.row_error[i] + bound.largest_col_error
        _narrow(of_query, i, ratios.largest, error, bound)
    if _compare(of_near, j, squared, query, thresholds.of_query, i, ratios):
        error = bound.col_error[j] + bound.largest_row_error
        _narrow(of_near, j, ratios.largest, error, bound)


@njit(cache=True, nogil=True)
def _relate_far(queries, references, thresholds, ratios, bound, of_query, of_far):
    """Relate the queries to the references that are not on the grid."""
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for t in range(len(references.far)):
            reference = references.base[references.far[t]]
            for ball in range(len(thresholds.of_query)):
                inside = is_within(query, reference, thresholds.of_query[ball, i], bound)
                of_query.in_own[i, ball] += inside
                of_far.in_others[t, ball] += inside
            for ball in range(len(thresholds.of_far)):
                inside = is_within(query, reference, thresholds.of_far[ball, t], bound)
                of_query.in_others[i, ball] += inside
                of_far.in_own[t, ball] += inside
            if of_far.limits[t] >= 0:
                squared = canonical_squared(query, reference)
                far, row = references.far[t], queries.rows[i]
                _compare(of_query, i, squared, far, thresholds.of_far, t, ratios)
                _compare(of_far, t, squared, row, thresholds.of_query, i, ratios)


@njit(cache=True, nogil=True)
def _tile_limits(ball_limits, best, norms):
    """Limits of tiles that let pass what may be in a ball, and what may be the best."""
    limits = ball_limits.copy()
    for i in range(len(best.limits)):
        limits[i] = max(limits[i], clip_limit(best.limits[i] - norms[i]))
    return limits


@njit(cache=True, nogil=True)
def relate(tiles, bound, queries, references, thresholds, ratios, of_query, of_near, of_far):
    """Count who is in whose ball, and find for each side who is nearest, and the largest ratios.

    Parameters
    ----------
    thresholds
        The balls of queries and of references.
    of_query, of_near, of_far
        Output: of each :class:`Side`; counts are added to and the best is improved.
    """
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols = a.shape[2], b.shape[2]
    _narrow_again(of_near, ratios.largest, bound)
    limits = limits_of_balls(tiles, thresholds, bound)
    row_inner, row_outer, col_inner, col_outer, row_ball, col_ball = limits
    n_query_balls, n_near_balls = len(thresholds.of_query), len(thresholds.of_near)
    query_own, query_others = of_query.in_own, of_query.in_others
    near_own, near_others = of_near.in_own, of_near.in_others
    row_best, col_best = of_query.limits, of_near.limits
    row_error, col_error = bound.row_error, bound.col_error
    row_tile = _tile_limits(row_ball, of_query, row_norm)
    col_tile = _tile_limits(col_ball, of_near, col_norm)
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    for b_panel in range(b.shape[0]):
        for a_panel in range(a.shape[0]):
            if not tile_hits(
                kernel, a, a_panel, b, b_panel, row_tile, row_norm, col_norm, col_tile, dots, masks
            ):
                continue
            for r in range(n_rows):
                mask = masks[r]
                i = a_panel * n_rows + r
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j = b_panel * n_cols + c
                    distance = np.int32(row_norm[i] + col_norm[j] - 2 * dots[r, c])
                    for ball in range(n_query_balls):
                        inside = distance <= row_inner[i, ball]
                        if not inside and distance <= row_outer[i, ball]:
                            threshold = thresholds.of_query[ball, i]
                            inside = settle(queries, i, references, j, threshold, bound)
                        query_own[i, ball] += inside
                        near_others[j, ball] += inside
                    for ball in range(n_near_balls):
                        inside = distance <= col_inner[j, ball]
                        if not inside and distance <= col_outer[j, ball]:
                            threshold = thresholds.of_near[ball, j]
                            inside = settle(queries, i, references, j, threshold, bound)
                        query_others[i, ball] += inside
                        near_own[j, ball] += inside
                    is_near = distance <= row_best[i] or distance <= of_near.nearest_limits[j]
                    if not is_near and (
                        distance > col_best[j]
                        or not _may_be_larger(
                            distance, ratios.weights, i, of_near.ratio, j,
                            row_error[i] + col_error[j], bound.step,
                        )
                    ):  # fmt: skip
                        continue
                    _meet(queries, i, references, j, thresholds, ratios, bound, of_query, of_near)
                    row_tile[i] = max(row_ball[i], clip_limit(row_best[i] - row_norm[i]))
                    col_tile[j] = max(col_ball[j], clip_limit(col_best[j] - col_norm[j]))
    _relate_far(queries, references, thresholds, ratios, bound, of_query, of_far)
