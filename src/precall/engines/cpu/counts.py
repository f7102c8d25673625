"""Sweep 2 of the CPU engine: how many references are near each query."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines.cpu.pairs import clip_limit, integer_limits, is_within
from precall.engines.cpu.simd_tiles import lowest_bit
from precall.engines.cpu.tiles import MIN_LIMIT, tile_hits

_HITS_AT_A_TIME = 64


class Thresholds(NamedTuple):
    """Squared radii of several balls at once."""

    of_query: Any  # (n_query_balls, n_queries)
    of_near: Any  # (n_reference_balls, n_near)
    of_far: Any  # (n_reference_balls, n_far)


class _Hits(NamedTuple):
    """Pairs that wait to be counted, a list for each query: many at a time are counted faster."""

    distances: Any  # (n_queries, capacity) int32: Q
    cols: Any  # (n_queries, capacity) int32: index among the near references
    open: Any  # (capacity,) scratch


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
def limits_of_balls(tiles, thresholds, bound):
    """Turn thresholds into limits of Q."""
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
def settle(queries, i, references, j, threshold, bound):
    """Whether a pair that Q leaves open is within a ball. Looks at its rows, so: not for all."""
    query, reference = queries.base[queries.rows[i]], references.base[references.near[j]]
    return is_within(query, reference, threshold, bound)


@njit(cache=True, nogil=True)
def _count_hits(hits, size, queries, i, references, limits, thresholds, bound, counts):
    """Count the first ``size`` hits of query ``i``, ball by ball.

    Clear ones are counted without branches, which would be guessed wrong; open ones are set aside.
    """
    n_query_balls = len(thresholds.of_query)
    for ball in range(n_query_balls):
        inner, outer = limits.row_inner[i, ball], limits.row_outer[i, ball]
        n_within, n_open = 0, 0
        for t in range(size):
            distance = hits.distances[i, t]
            n_within += distance <= inner
            hits.open[n_open] = hits.cols[i, t]
            n_open += (distance > inner) & (distance <= outer)
        for t in range(n_open):
            threshold = thresholds.of_query[ball, i]
            n_within += settle(queries, i, references, hits.open[t], threshold, bound)
        counts[i, ball] += n_within
    for ball in range(len(thresholds.of_near)):
        n_within, n_open = 0, 0
        for t in range(size):
            distance, j = hits.distances[i, t], hits.cols[i, t]
            n_within += distance <= limits.col_inner[j, ball]
            hits.open[n_open] = j
            n_open += (distance > limits.col_inner[j, ball]) & (
                distance <= limits.col_outer[j, ball]
            )
        for t in range(n_open):
            threshold = thresholds.of_near[ball, hits.open[t]]
            n_within += settle(queries, i, references, hits.open[t], threshold, bound)
        counts[i, n_query_balls + ball] += n_within


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
    n_queries = len(queries.rows)
    limits = limits_of_balls(tiles, thresholds, bound)
    row_tile, col_tile = limits.row_tile, limits.col_tile
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    distances, cols = np.empty((2, n_queries, _HITS_AT_A_TIME), dtype=np.int32)
    hits = _Hits(distances, cols, np.empty(_HITS_AT_A_TIME, dtype=np.int32))
    sizes = np.zeros(n_queries, dtype=np.int64)
    counts[:] = 0
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
                    distances[i, sizes[i]] = np.int32(row_norm[i] + col_norm[j] - 2 * dots[r, c])
                    cols[i, sizes[i]] = j
                    sizes[i] += 1
                    if sizes[i] == _HITS_AT_A_TIME:
                        _count_hits(
                            hits, sizes[i], queries, i, references, limits, thresholds, bound,
                            counts,
                        )  # fmt: skip
                        sizes[i] = 0
    for i in range(n_queries):
        _count_hits(hits, sizes[i], queries, i, references, limits, thresholds, bound, counts)
    _count_far(queries, references, thresholds, bound, counts)
