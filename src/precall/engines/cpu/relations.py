"""Between the classes, on the CPU: who holds whom, who is nearest, and how realistic.

Queries are samples of the real class, references all of the generated one, and one sweep tells both
sides what they are to each other.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

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

__all__ = ["Best", "Counted", "Places", "Realism", "relate"]


class Places(NamedTuple):
    """Where samples stand in their class."""

    queries: Any  # (n_queries,)
    near: Any  # (n_near,)
    far: Any  # (n_far,)


class Realism(NamedTuple):
    """What the realism of references is measured by."""

    squared_radii: Any  # (n_ks, n_queries) of the queries; negative where one is left out
    largest: Any  # (n_ks,) of all queries, of other chunks too
    offset: float  # added to squared distances


class Counted(NamedTuple):
    """Each (n, n_balls, 2): balls of others that hold me, others in my ball."""

    by_query: Any
    by_near: Any
    by_far: Any


class Best(NamedTuple):
    """The best of the other class seen so far, for each sample of one."""

    nearest: Any  # (n,) place of the nearest, the first if several
    squared: Any  # (n,) squared distance to it
    holds: Any  # (n, n_balls) whether its ball, or that of one as near, holds the sample
    realism: Any  # (n, n_ks) squared
    nearest_limits: Any  # (n,) largest Q of a pair that may be as near; -1 if nobody wants to know
    limits: Any  # (n,) largest Q of a pair that may be as good in any way

    @classmethod
    def unknown(cls, n: int, n_balls: int, n_ks: int, *, wanted: bool) -> Self:
        """Nothing seen yet."""
        return cls(
            np.full(n, np.iinfo(np.int64).max),
            np.full(n, np.inf),
            np.zeros((n, n_balls), np.bool_),
            np.zeros((n, n_ks)),
            np.full(n, LARGEST_Q if wanted else -1, np.int64),
            np.full(n, LARGEST_Q if wanted else -1, np.int64),
        )

    def select(self, chosen: NDArray[np.intp]) -> Self:
        """Copy what is known of some samples."""
        return type(self)(*(field[chosen] for field in self))

    def improve(self, chosen: NDArray[np.intp], other: Self) -> None:
        """Learn what else was seen of some samples, in any order and any number of times."""
        known = self.select(chosen)
        is_nearer, ties = other.squared < known.squared, other.squared == known.squared
        first = np.minimum(other.nearest, known.nearest)
        self.nearest[chosen] = np.where(
            is_nearer, other.nearest, np.where(ties, first, known.nearest)
        )
        self.squared[chosen] = np.minimum(other.squared, known.squared)
        held = np.where(ties[:, None], other.holds | known.holds, known.holds)
        self.holds[chosen] = np.where(is_nearer[:, None], other.holds, held)
        self.realism[chosen] = np.maximum(other.realism, known.realism)


@njit(cache=True, nogil=True)
def _narrow(best, i, largest, error, bound):
    """Find the largest Q of a pair that may be as near, or as flattering, as the best so far."""
    limit = integer_limits(best.squared[i], error, bound.step, bound.relative, bound.absolute)[1]
    best.nearest_limits[i] = limit
    for ball in range(best.realism.shape[1]):
        threshold = np.inf
        if best.realism[i, ball] > 0.0:
            threshold = largest[ball] / best.realism[i, ball] * (1.0 + 1e-12)
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
def _may_flatter(distance, squared_radii, i, realism, j, error, step):
    """Whether reference ``j`` may be more realistic by query ``i`` than by any other so far."""
    least = max(np.sqrt(np.float64(distance)) - error, 0.0) * step * (1.0 - 1e-12)
    for ball in range(realism.shape[1]):
        if squared_radii[ball, i] >= realism[j, ball] * (least * least):
            return True
    return False


@njit(cache=True, nogil=True)
def _compare(best, i, squared, place, thresholds, j, realism):
    """Compare the other sample ``j`` with the best of sample ``i``; whether it is any better."""
    is_better = squared < best.squared[i]
    if is_better:
        best.squared[i], best.nearest[i] = squared, place
        for ball in range(best.holds.shape[1]):
            best.holds[i, ball] = False
    if squared == best.squared[i]:
        best.nearest[i] = min(best.nearest[i], place)
        for ball in range(best.holds.shape[1]):
            best.holds[i, ball] |= squared <= thresholds[ball, j]
    for ball in range(best.realism.shape[1]):
        radius = realism.squared_radii[ball, j]
        if radius < 0.0:
            continue
        if squared + realism.offset > 0.0:
            ratio = radius / (squared + realism.offset)
        else:
            ratio = np.inf if radius > 0.0 else 1.0
        if ratio > best.realism[i, ball]:
            best.realism[i, ball] = ratio
            is_better = True
    return is_better


@njit(cache=True, nogil=True)
def _meet(queries, i, references, j, places, thresholds, realism, bound, of_query, of_near):
    """Measure a pair that may be the best of either, and narrow down what could be better."""
    squared = canonical_squared(queries.base[queries.rows[i]], references.base[references.near[j]])
    if _compare(of_query, i, squared, places.near[j], thresholds.of_near, j, realism):
        error = bound.row_error[i] + bound.largest_col_error
        _narrow(of_query, i, realism.largest, error, bound)
    if _compare(of_near, j, squared, places.queries[i], thresholds.of_query, i, realism):
        error = bound.col_error[j] + bound.largest_row_error
        _narrow(of_near, j, realism.largest, error, bound)


@njit(cache=True, nogil=True)
def _record(in_row_ball, in_col_ball, by_row, i, by_col, j, ball):
    by_row[i, ball, 0] += in_col_ball
    by_row[i, ball, 1] += in_row_ball
    by_col[j, ball, 0] += in_row_ball
    by_col[j, ball, 1] += in_col_ball


@njit(cache=True, nogil=True)
def _relate_far(queries, references, places, thresholds, realism, bound, counted, of_query, of_far):
    """Relate the queries to the references that are not on the grid."""
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for t in range(len(references.far)):
            reference = references.base[references.far[t]]
            for ball in range(len(thresholds.of_query)):
                in_row_ball = is_within(query, reference, thresholds.of_query[ball, i], bound)
                in_col_ball = is_within(query, reference, thresholds.of_far[ball, t], bound)
                _record(in_row_ball, in_col_ball, counted.by_query, i, counted.by_far, t, ball)
            if of_far.limits[t] >= 0:
                squared = canonical_squared(query, reference)
                _compare(of_query, i, squared, places.far[t], thresholds.of_far, t, realism)
                _compare(of_far, t, squared, places.queries[i], thresholds.of_query, i, realism)


@njit(cache=True, nogil=True)
def _tile_limits(ball_limits, best, norms):
    """Limits of tiles that let pass what may be in a ball, and what may be the best."""
    limits = ball_limits.copy()
    for i in range(len(best.limits)):
        limits[i] = max(limits[i], clip_limit(best.limits[i] - norms[i]))
    return limits


@njit(cache=True, nogil=True)
def relate(
    tiles, bound, queries, references, places, thresholds, realism, counted,
    of_query, of_near, of_far,
):  # fmt: skip
    """Count who is in whose ball, and find for each side who is nearest and how realistic it is.

    Parameters
    ----------
    thresholds
        The own balls of queries and of references, for several k.
    counted
        Output, added to.
    of_query, of_near, of_far
        Output, improved; the queries have no realism.
    """
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols = a.shape[2], b.shape[2]
    _narrow_again(of_near, realism.largest, bound)
    limits = limits_of_balls(tiles, thresholds, bound)
    row_inner, row_outer, col_inner, col_outer, row_ball, col_ball = limits
    n_balls, by_query, by_near = len(thresholds.of_query), counted.by_query, counted.by_near
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
                    for ball in range(n_balls):
                        in_row_ball = distance <= row_inner[i, ball]
                        if not in_row_ball and distance <= row_outer[i, ball]:
                            threshold = thresholds.of_query[ball, i]
                            in_row_ball = settle(queries, i, references, j, threshold, bound)
                        in_col_ball = distance <= col_inner[j, ball]
                        if not in_col_ball and distance <= col_outer[j, ball]:
                            threshold = thresholds.of_near[ball, j]
                            in_col_ball = settle(queries, i, references, j, threshold, bound)
                        _record(in_row_ball, in_col_ball, by_query, i, by_near, j, ball)
                    is_near = distance <= row_best[i] or distance <= of_near.nearest_limits[j]
                    if not is_near and (
                        distance > col_best[j]
                        or not _may_flatter(
                            distance, realism.squared_radii, i, of_near.realism, j,
                            row_error[i] + col_error[j], bound.step,
                        )
                    ):  # fmt: skip
                        continue
                    _meet(
                        queries, i, references, j, places, thresholds, realism, bound, of_query,
                        of_near,
                    )  # fmt: skip
                    row_tile[i] = max(row_ball[i], clip_limit(row_best[i] - row_norm[i]))
                    col_tile[j] = max(col_ball[j], clip_limit(col_best[j] - col_norm[j]))
    _relate_far(queries, references, places, thresholds, realism, bound, counted, of_query, of_far)
