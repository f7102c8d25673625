"""How many references are near each query, on the CPU."""

from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.pairs import are_too_many, is_beyond, is_within
from precall.engines.cpu.rulers import code_limits
from precall.engines.cpu.tiling.tiles import NONE, STRIP, find_hits
from precall.runtime.compiling import njit

HITS_AT_A_TIME = 64


class Thresholds(NamedTuple):
    """Squared radii of several balls at once."""

    of_query: Any  # (n_query_balls, n_queries)
    of_near: Any  # (n_reference_balls, n_near)
    of_far: Any  # (n_reference_balls, n_far)


class Waiting(NamedTuple):
    """Pairs that wait to be counted, a list for each query: many at a time are counted faster."""

    codes: Any  # (n_queries, capacity) int32
    cols: Any  # (n_queries, capacity) int32: index among the near references
    sizes: Any  # (n_queries,)
    open: Any  # (capacity,) scratch


class Limits(NamedTuple):
    """Codes up to which a pair is surely within a ball, and up to which it may be."""

    row_inner: Any  # (n_queries, n_query_balls)
    row_outer: Any
    col_inner: Any  # (n_near, n_reference_balls)
    col_outer: Any
    row_tile: Any  # the loosest of each row and column, padded to panels
    col_tile: Any


@njit(cache=True, nogil=True)
def _limits_of(thresholds, errors, other_error, ruler, n_padded):
    n_balls, n = thresholds.shape
    inner, outer = np.empty((n, n_balls), np.int32), np.empty((n, n_balls), np.int32)
    loosest = np.full(n_padded, NONE, dtype=np.int32)
    for i in range(n):
        for ball in range(n_balls):
            error = errors[i] + other_error
            inner[i, ball], outer[i, ball] = code_limits(thresholds[ball, i], error, ruler)
            loosest[i] = max(loosest[i], outer[i, ball])
    return inner, outer, loosest


@njit(cache=True, nogil=True)
def limits_of_balls(tiles, thresholds, bound):
    """Turn thresholds into limits of codes."""
    row_inner, row_outer, row_tile = _limits_of(
        thresholds.of_query, bound.row_error, bound.largest_col_error, bound.ruler,
        len(tiles.row_norm),
    )  # fmt: skip
    col_inner, col_outer, col_tile = _limits_of(
        thresholds.of_near, bound.col_error, bound.largest_row_error, bound.ruler,
        len(tiles.col_norm),
    )  # fmt: skip
    return Limits(row_inner, row_outer, col_inner, col_outer, row_tile, col_tile)


@njit(cache=True, nogil=True)
def settle(queries, i, references, j, threshold, ruler):
    """Whether a pair that its code leaves open is within a ball. Looks at its rows: not for all."""
    query, reference = queries.base[queries.rows[i]], references.base[references.near[j]]
    return is_within(query, reference, threshold, ruler)


@njit(cache=True, nogil=True)
def _count_waiting(waiting, i, queries, references, limits, thresholds, ruler, counts):
    """Count the waiting hits of query ``i``, ball by ball; returns how many were left open.

    Clear ones are counted without branches, which would be guessed wrong; open ones are set aside.
    """
    n_query_balls, size, n_in_doubt = len(thresholds.of_query), waiting.sizes[i], 0
    for ball in range(n_query_balls):
        inner, outer = limits.row_inner[i, ball], limits.row_outer[i, ball]
        n_within, n_open = 0, 0
        for t in range(size):
            code = waiting.codes[i, t]
            n_within += code <= inner
            waiting.open[n_open] = waiting.cols[i, t]
            n_open += (code > inner) & (code <= outer)
        for t in range(n_open):
            threshold = thresholds.of_query[ball, i]
            n_within += settle(queries, i, references, waiting.open[t], threshold, ruler)
        counts[i, ball] += n_within
        n_in_doubt += n_open
    for ball in range(len(thresholds.of_near)):
        n_within, n_open = 0, 0
        for t in range(size):
            code, j = waiting.codes[i, t], waiting.cols[i, t]
            n_within += code <= limits.col_inner[j, ball]
            waiting.open[n_open] = j
            n_open += (code > limits.col_inner[j, ball]) & (code <= limits.col_outer[j, ball])
        for t in range(n_open):
            threshold = thresholds.of_near[ball, waiting.open[t]]
            n_within += settle(queries, i, references, waiting.open[t], threshold, ruler)
        counts[i, n_query_balls + ball] += n_within
        n_in_doubt += n_open
    waiting.sizes[i] = 0
    return n_in_doubt


@njit(cache=True, nogil=True)
def _count_far(queries, references, thresholds, ruler, counts):
    """Count the references that are not in tiles."""
    n_query_balls = len(thresholds.of_query)
    radii = np.sqrt(np.maximum(thresholds.of_far, 0.0))
    for i in range(len(queries.rows)):
        query, length = queries.base[queries.rows[i]], queries.lengths[i]
        for ball in range(n_query_balls):
            threshold = thresholds.of_query[ball, i]
            for t in range(len(references.far)):
                if threshold < 0.0 or is_beyond(
                    references.far_lengths[t], length, np.sqrt(threshold)
                ):
                    break  # and all that follow
                reference = references.base[references.far[t]]
                counts[i, ball] += is_within(query, reference, threshold, ruler)
        for t in range(len(references.far)):
            for ball in range(len(thresholds.of_far)):
                if not is_beyond(references.far_lengths[t], length, radii[ball, t]):
                    reference, threshold = references.base[references.far[t]], thresholds.of_far
                    within = is_within(query, reference, threshold[ball, t], ruler)
                    counts[i, n_query_balls + ball] += within


@njit(cache=True, nogil=True)
def count_near(tiles, bound, queries, references, thresholds, waiting, hits, counts):
    """Count the references near each query, for several balls at once.

    Parameters
    ----------
    thresholds
        Balls around the queries in ``of_query``, balls around the references in the others.
    waiting, hits
        To work in.
    counts
        Output, (n_queries, n_query_balls + n_reference_balls).

    Returns
    -------
    Whether it was done; if not, too many pairs on the grid were in doubt.
    """
    kernel, a, b, row_norm, col_norm, n_rows, n_cols = tiles
    found, room, masks, places = hits
    limits, ruler = limits_of_balls(tiles, thresholds, bound), bound.ruler
    row_tile, col_tile = limits.row_tile, limits.col_tile
    codes, cols, sizes = waiting.codes, waiting.cols, waiting.sizes
    counts[:], sizes[:] = 0, 0
    n_in_doubt = 0
    for b_panel in range(b.shape[0]):
        for start in range(0, a.shape[0], STRIP):
            n_hits = find_hits(
                kernel, a, b, row_norm, col_norm, n_rows, n_cols, start,
                min(start + STRIP, a.shape[0]), b_panel, row_tile, col_tile, found, room, masks,
                places,
            )  # fmt: skip
            for t in range(n_hits):
                i = found[0, t]
                codes[i, sizes[i]], cols[i, sizes[i]] = found[2, t], found[1, t]
                sizes[i] += 1
                if sizes[i] == HITS_AT_A_TIME:
                    n_in_doubt += _count_waiting(
                        waiting, i, queries, references, limits, thresholds, ruler, counts
                    )
        n_pairs = n_rows * (b_panel + 1) * b.shape[2]
        if not ruler.is_direct and are_too_many(n_in_doubt, n_pairs):
            return False
    for i in range(n_rows):
        _count_waiting(waiting, i, queries, references, limits, thresholds, ruler, counts)
    _count_far(queries, references, thresholds, ruler, counts)
    return True
