"""Sweep 2 of the CPU engine: how many references are near each query."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines._cpu_nearest import count_at_most
from precall.engines._cpu_pairs import clip_limit, integer_limits, is_within
from precall.engines._simd_tiles import lowest_bit, popcount
from precall.engines._tiles import MIN_LIMIT, tile_hits

__all__ = ["Thresholds", "count_cross", "count_near"]

_CROWDED = 8  # of 32 pairs


class Thresholds(NamedTuple):
    """Squared radii of several balls at once."""

    of_query: Any  # (n_query_balls, n_queries)
    of_near: Any  # (n_reference_balls, n_near)
    of_far: Any  # (n_reference_balls, n_far)


class _Limits(NamedTuple):
    """Q up to which a pair is surely within a ball, and up to which it may be."""

    row_inner: Any  # (n_queries, n_query_balls)
    row_outer: Any
    col_inner: Any  # (n_near, n_reference_balls)
    col_outer: Any
    row_tile: Any  # the loosest of each row and column, as tile_hits wants them
    col_tile: Any


@njit(cache=True, nogil=True)
def _integer_limits_of(thresholds, errors, other_error, bound):
    inner = np.empty((thresholds.shape[1], thresholds.shape[0]), dtype=np.int32)
    outer = np.empty_like(inner)
    for i in range(inner.shape[0]):
        for ball in range(inner.shape[1]):
            inner[i, ball], outer[i, ball] = integer_limits(
                thresholds[ball, i],
                errors[i] + other_error,
                bound.step,
                bound.relative,
                bound.absolute,
            )
    return inner, outer


@njit(cache=True, nogil=True)
def _tile_limits(outer, norms):
    limits = np.full(len(norms), MIN_LIMIT, dtype=np.int32)
    for i in range(outer.shape[0]):
        for ball in range(outer.shape[1]):
            limits[i] = max(limits[i], clip_limit(np.int64(outer[i, ball]) - norms[i]))
    return limits


@njit(cache=True, nogil=True)
def _limits(tiles, thresholds, bound):
    row_inner, row_outer = _integer_limits_of(
        thresholds.of_query, bound.row_error, bound.largest_col_error, bound
    )
    col_inner, col_outer = _integer_limits_of(
        thresholds.of_near, bound.col_error, bound.largest_row_error, bound
    )
    row_tile = _tile_limits(row_outer, tiles.row_norm)
    col_tile = _tile_limits(col_outer, tiles.col_norm)
    return _Limits(row_inner, row_outer, col_inner, col_outer, row_tile, col_tile)


@njit(cache=True, nogil=True)
def _settle(queries, i, references, j, threshold, bound):
    """Whether a pair that Q leaves open is within a ball. Looks at its rows, so: not for all."""
    query, reference = queries.base[queries.rows[i]], references.base[references.near[j]]
    return is_within(query, reference, threshold, bound)


@njit(cache=True, nogil=True)
def _count_row(distances, inner, outer, queries, i, references, first, threshold, bound):
    """Count consecutive references within one ball of a query, whole vectors at a time."""
    n_within, n_open = count_at_most(distances, inner, outer)
    if n_open > n_within:
        for c in range(len(distances)):
            if inner < distances[c] <= outer:
                n_within += _settle(queries, i, references, first + c, threshold, bound)
    return n_within


@njit(cache=True, nogil=True)
def _count_far(queries, references, thresholds, bound, counts):
    """Count the references that are not on the grid."""
    n_query_balls = thresholds.of_query.shape[0]
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for t in range(len(references.far)):
            reference = references.base[references.far[t]]
            for ball in range(n_query_balls):
                counts[i, ball] += is_within(query, reference, thresholds.of_query[ball, i], bound)
            for ball in range(thresholds.of_far.shape[0]):
                within = is_within(query, reference, thresholds.of_far[ball, t], bound)
                counts[i, n_query_balls + ball] += within


@njit(cache=True, nogil=True)
def count_near(tiles, bound, queries, references, thresholds, counts):
    """Count the references near each query, for several balls at once.

    Parameters
    ----------
    thresholds
        Balls around the queries in ``of_query``, balls around the references in the others.
    counts
        Output, (n_queries, n_query_balls + n_reference_balls).
    """
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols = a.shape[2], b.shape[2]
    n_query_balls, n_reference_balls = len(thresholds.of_query), len(thresholds.of_near)
    n_near = len(references.near)
    limits = _limits(tiles, thresholds, bound)
    row_inner, row_outer, col_inner, col_outer, row_tile, col_tile = limits
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    scratch = np.empty(n_cols, dtype=np.int32)
    counts[:] = 0
    for b_panel in range(b.shape[0]):
        first = b_panel * n_cols
        distances = scratch[: min(n_cols, n_near - first)]
        for a_panel in range(a.shape[0]):
            if not tile_hits(
                kernel, a, a_panel, b, b_panel, row_tile, row_norm, col_norm, col_tile, dots, masks
            ):
                continue
            for r in range(n_rows):
                mask = masks[r]
                if mask == 0:
                    continue
                i = a_panel * n_rows + r
                for c in range(len(distances)):
                    distances[c] = np.int32(row_norm[i] + col_norm[first + c] - 2 * dots[r, c])
                is_crowded = popcount(mask) > _CROWDED
                if is_crowded:
                    for ball in range(n_query_balls):
                        counts[i, ball] += _count_row(
                            distances, row_inner[i, ball], row_outer[i, ball], queries, i,
                            references, first, thresholds.of_query[ball, i], bound,
                        )  # fmt: skip
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j, distance = first + c, distances[c]
                    for ball in range(0 if is_crowded else n_query_balls):
                        if distance <= row_inner[i, ball]:
                            counts[i, ball] += 1
                        elif distance <= row_outer[i, ball]:
                            threshold = thresholds.of_query[ball, i]
                            counts[i, ball] += _settle(queries, i, references, j, threshold, bound)
                    for ball in range(n_reference_balls):
                        at = n_query_balls + ball
                        if distance <= col_inner[j, ball]:
                            counts[i, at] += 1
                        elif distance <= col_outer[j, ball]:
                            threshold = thresholds.of_near[ball, j]
                            counts[i, at] += _settle(queries, i, references, j, threshold, bound)
    _count_far(queries, references, thresholds, bound, counts)


# ---------------------------------------------------------------------------------------------
# Both sides at once: who is in whose ball


@njit(cache=True, nogil=True)
def _record(in_row_ball, in_col_ball, by_row, i, by_col, j, ball):
    """Count one pair: entry 0 is "balls of others that hold me", entry 1 "others in my ball"."""
    by_row[i, ball, 0] += in_col_ball
    by_row[i, ball, 1] += in_row_ball
    by_col[j, ball, 0] += in_row_ball
    by_col[j, ball, 1] += in_col_ball


@njit(cache=True, nogil=True)
def _cross_far(queries, references, thresholds, bound, by_query, by_far):
    """Count the references that are not on the grid."""
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for t in range(len(references.far)):
            reference = references.base[references.far[t]]
            for ball in range(len(thresholds.of_query)):
                in_row_ball = is_within(query, reference, thresholds.of_query[ball, i], bound)
                in_col_ball = is_within(query, reference, thresholds.of_far[ball, t], bound)
                _record(in_row_ball, in_col_ball, by_query, i, by_far, t, ball)


@njit(cache=True, nogil=True)
def count_cross(tiles, bound, queries, references, thresholds, by_query, by_near, by_far):
    """Count, for pairs of a query and a reference, both who is in the other's ball.

    Parameters
    ----------
    thresholds
        The own ball of every query and of every reference, for several k.
    by_query, by_near, by_far
        Output, added to: (n, n_balls, 2), see :func:`_record`.
    """
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols = a.shape[2], b.shape[2]
    n_balls = len(thresholds.of_query)
    limits = _limits(tiles, thresholds, bound)
    row_inner, row_outer, col_inner, col_outer, row_tile, col_tile = limits
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
                            in_row_ball = _settle(queries, i, references, j, threshold, bound)
                        in_col_ball = distance <= col_inner[j, ball]
                        if not in_col_ball and distance <= col_outer[j, ball]:
                            threshold = thresholds.of_near[ball, j]
                            in_col_ball = _settle(queries, i, references, j, threshold, bound)
                        _record(in_row_ball, in_col_ball, by_query, i, by_near, j, ball)
    _cross_far(queries, references, thresholds, bound, by_query, by_far)
