"""How many references are near each query, on the CPU."""

from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.candidates import count_within
from precall.engines.cpu.pairs import are_too_many, is_beyond, is_within
from precall.engines.cpu.rulers import code_limits
from precall.engines.cpu.tiling.tiles import NONE, STRIP, compare_strip, list_hits
from precall.runtime.compiling import helper, njit

HITS_AT_A_TIME = 64
_WIDE = 1 / 16  # of all pairs in a ball: then it is counted code by code, in SIMD
_NO_BALL = -1


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


class BallLimits(NamedTuple):
    """Codes of one side's balls, up to which a pair is surely within, and up to which it may be."""

    inner: Any  # (n, n_balls)
    outer: Any
    tile: Any  # (n_padded,) the loosest of each row


class Limits(NamedTuple):
    """Codes up to which a pair is surely within a ball, and up to which it may be."""

    row_inner: Any  # (n_queries, n_query_balls)
    row_outer: Any
    col_inner: Any  # (n_near, n_reference_balls)
    col_outer: Any
    row_tile: Any  # the loosest of each row and column, padded to panels
    col_tile: Any


@helper(allocates=True)
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
def ball_limits(thresholds, errors, other_error, ruler, n_padded):
    """Turn thresholds (n_balls, n) around rows into limits of codes.

    Parameters
    ----------
    errors, other_error
        (n,) of these rows, and the largest of those that they meet, in steps.
    """
    return BallLimits(*_limits_of(thresholds, errors, other_error, ruler, n_padded))


@helper(allocates=True)
def _limits_of_balls(tiles, thresholds, bound):
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


@helper()
def settle(queries, i, references, j, threshold, ruler):
    """Whether a pair that its code leaves open is within a ball. Looks at its rows: not for all."""
    query, reference = queries.base[queries.rows[i]], references.base[references.near[j]]
    return is_within(query, reference, threshold, ruler)


@helper()
def _count_waiting(waiting, i, queries, references, limits, thresholds, ruler, counts):
    """Count the waiting hits of query ``i``, ball by ball; returns how many were left open.

    Clear ones are counted without branches, which would be guessed wrong; open ones are set aside.
    """
    n_query_balls, size, n_in_doubt = len(thresholds.of_query), waiting.sizes[i], 0
    for ball in range(n_query_balls):
        inner, outer = limits.row_inner[i, ball], limits.row_outer[i, ball]
        if outer < 0:  # nobody is let in
            continue
        n_within, n_open = 0, 0
        for t in range(size):
            code = waiting.codes[i, t]
            n_within += code <= inner
            waiting.open[n_open] = waiting.cols[i, t]
            n_open += (code > inner) & (code <= outer)
        for t in range(n_open):
            threshold = thresholds.of_query[ball, i]
            j = np.int64(waiting.open[t])
            n_within += settle(queries, i, references, j, threshold, ruler)
        counts[i, ball] += n_within
        n_in_doubt += n_open
    for ball in range(len(thresholds.of_near)):
        n_within, n_open = 0, 0
        for t in range(size):
            code, col = waiting.codes[i, t], waiting.cols[i, t]
            n_within += code <= limits.col_inner[col, ball]
            waiting.open[n_open] = col
            n_open += (code > limits.col_inner[col, ball]) & (code <= limits.col_outer[col, ball])
        for t in range(n_open):
            j = np.int64(waiting.open[t])
            n_within += settle(queries, i, references, j, thresholds.of_near[ball, j], ruler)
        counts[i, n_query_balls + ball] += n_within
        n_in_doubt += n_open
    waiting.sizes[i] = 0
    return n_in_doubt


@helper()
def _widest(counts, n_query_balls, n_seen):
    """The ball around queries that holds most of the references seen, if these are many."""
    widest, most = _NO_BALL, _WIDE * n_seen * len(counts)
    for ball in range(n_query_balls):
        n_within = 0
        for i in range(len(counts)):
            n_within += counts[i, ball]
        if n_within > most:
            widest, most = ball, n_within
    return widest


@helper(allocates=True)
def _set_aside(limits, ball):
    """Take a ball out of the limits of hits; returns its own, by query, and the new loosest."""
    n = len(limits.row_inner)
    inner, outer = np.empty(n, np.int32), np.empty(n, np.int32)
    narrow = np.full(len(limits.row_tile), NONE, dtype=np.int32)
    for i in range(n):
        inner[i], outer[i] = limits.row_inner[i, ball], limits.row_outer[i, ball]
        limits.row_inner[i, ball] = limits.row_outer[i, ball] = NONE
        for other in range(limits.row_outer.shape[1]):
            narrow[i] = max(narrow[i], limits.row_outer[i, other])
    return inner, outer, narrow


@helper()
def _any_within(codes, limit, limits):
    """Whether any code is up to one limit, or up to its own."""
    any_within = False
    for t in range(len(codes)):
        any_within |= codes[t] <= max(limit, limits[t])
    return any_within


@helper()
def _count_codes(
    tiles, masks, places, n_tiles, first_col, inner, outer, narrow, col_tile, threshold, queries,
    references, ruler, counts,
):  # fmt: skip
    """Count a ball that holds many references off the codes themselves; how many were left open.

    Rows in which nothing else is found are taken out of ``masks``.
    """
    height, n_in_doubt, n_rows = len(masks) // STRIP, 0, len(inner)
    n_cols = min(tiles.shape[1], len(references.near) - first_col)
    col_limit = col_tile[first_col : first_col + n_cols]
    for tile in range(n_tiles):
        first_row = places[tile] * height
        for r in range(min(height, n_rows - first_row)):
            i, codes = first_row + r, tiles[tile * height + r, :n_cols]
            n_within = count_within(codes, inner[i])
            if count_within(codes, outer[i]) != n_within:
                for c in range(n_cols):
                    if inner[i] < codes[c] <= outer[i]:
                        n_within += settle(
                            queries, i, references, first_col + c, threshold[i], ruler
                        )
                        n_in_doubt += 1
            counts[i] += n_within
            if not _any_within(codes, narrow[i], col_limit):
                masks[tile * height + r] = 0
    return n_in_doubt


@helper(allocates=True)
def _count_far(queries, references, thresholds, ruler, counts):
    """Count the references that are not in tiles."""
    n_query_balls = len(thresholds.of_query)
    radii = np.empty(thresholds.of_far.shape)
    for ball in range(len(radii)):
        for t in range(len(references.far)):
            radii[ball, t] = np.sqrt(max(thresholds.of_far[ball, t], 0.0))
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
    limits, ruler = _limits_of_balls(tiles, thresholds, bound), bound.ruler
    row_tile, col_tile = limits.row_tile, limits.col_tile
    codes, cols, sizes = waiting.codes, waiting.cols, waiting.sizes
    counts[:], sizes[:] = 0, 0
    n_in_doubt, wide, narrow = np.int64(0), _NO_BALL, row_tile
    inner, outer = np.empty(0, np.int32), np.empty(0, np.int32)
    for b_panel in range(b.shape[0]):
        for start in range(0, a.shape[0], STRIP):
            n_tiles = compare_strip(
                kernel, a, b, row_norm, col_norm, start, min(start + STRIP, a.shape[0]), b_panel,
                row_tile, col_tile, room, masks, places,
            )  # fmt: skip
            if wide != _NO_BALL:
                n_in_doubt += _count_codes(
                    room, masks, places, n_tiles, b_panel * b.shape[2], inner, outer, narrow,
                    col_tile, thresholds.of_query[wide], queries, references, ruler,
                    counts[:, wide],
                )  # fmt: skip
            n_hits = list_hits(
                n_tiles, a.shape[2], b.shape[2], n_rows, n_cols, b_panel, narrow, col_tile, found,
                room, masks, places,
            )  # fmt: skip
            for t in range(n_hits):
                i = np.int64(found[0, t])  # as below: helpers are compiled for one type
                codes[i, sizes[i]], cols[i, sizes[i]] = found[2, t], found[1, t]
                sizes[i] += 1
                if sizes[i] == HITS_AT_A_TIME:
                    n_in_doubt += _count_waiting(
                        waiting, i, queries, references, limits, thresholds, ruler, counts
                    )
        if b_panel == 0:  # the first references tell what the others, in random order, will
            for i in range(n_rows):
                _count_waiting(waiting, i, queries, references, limits, thresholds, ruler, counts)
            wide = _widest(counts, len(thresholds.of_query), min(b.shape[2], n_cols))
            if wide != _NO_BALL:
                inner, outer, narrow = _set_aside(limits, wide)
        n_pairs = n_rows * (b_panel + 1) * b.shape[2]
        if not ruler.is_direct and are_too_many(n_in_doubt, n_pairs):
            return False
    for i in range(n_rows):
        _count_waiting(waiting, i, queries, references, limits, thresholds, ruler, counts)
    _count_far(queries, references, thresholds, ruler, counts)
    return True
