"""The loops behind ``acquaintances``: lists of who is near whom, by class, for many questions.

A *group* is a set of references that somebody asks about; a class has at most 32 of them, one bit
of a word each. A row needs its k nearest of some groups. Its list among a class holds every row of
that class with a code up to its limit, whatever group it is in.
"""

from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.candidates import (
    UNKNOWN,
    bisect,
    drop_beyond,
    guessed_rank,
    kth_smallest,
    sort_together,
    tolerance_of,
)
from precall.engines.cpu.counts import settle
from precall.engines.cpu.pairs import fast_squared
from precall.engines.cpu.rulers import code_limits, widened
from precall.engines.cpu.tiling.tiles import ALL, NONE, STRIP, find_hits
from precall.runtime.compiling import njit

_LATE = 0.7  # of a class was met: guesses are no longer much too large
_FULL = 0.75  # of a list: no more is wished for, and no more may be needed


class Lists(NamedTuple):
    """Who of one class is near each row of a class, of the same or of the other."""

    codes: Any  # (n, capacity) int32
    cols: Any  # (n, capacity) int32: index among the near rows of the listed class
    sizes: Any  # (n,) how many; UNKNOWN where they were too many to keep
    limits: Any  # (n,) every pair with a code up to here is listed
    tile: Any  # (n_padded,) int32: the same as tiles want it; NONE where nothing is looked for
    error: Any  # (n,) largest ρ + ρ′ of any pair of the row, in steps
    needs: Any  # (n, n_groups) int32: how many of the nearest of each group are asked for
    groups: Any  # (n_listed,) uint32: bits of the groups that each listed row is in


@njit(cache=True, nogil=True)
def _count_group(codes, words, bit, limit):
    """How many listed rows of a group have a code up to a limit, in SIMD."""
    n = 0
    for t in range(len(codes)):
        n += ((words[t] & bit) != 0) & (codes[t] <= limit)
    return n


@njit(cache=True, nogil=True)
def _bisect_group(codes, words, bit, k, low, high, tolerance):
    """A code that at least ``k`` of a group are within, at most ``tolerance`` too large; or ALL."""
    if _count_group(codes, words, bit, high) < k:
        return np.int32(ALL)
    while high - low > tolerance:
        middle = np.int32(low + ((high - low) >> 1))
        if _count_group(codes, words, bit, middle) >= k:
            high = middle
        else:
            low = np.int32(middle + 1)
    return high


@njit(cache=True, nogil=True)
def _needed(lists, i, share, ranks, ruler, room):
    """Largest code that matters to any question, as far as a random share of the class tells.

    ``ranks``, by k, are filled in where they are 0.
    """
    largest, high = np.int32(NONE), np.int32(max(lists.limits[i], 0))
    size = max(lists.sizes[i], 0)  # nothing matters to a list that was given up
    codes, cols, words, groups = lists.codes[i, :size], lists.cols[i], room[:size], lists.groups
    for t in range(size):
        words[t] = groups[cols[t]]
    for group in range(lists.needs.shape[1]):
        k, bit = lists.needs[i, group], np.uint32(1 << group)
        if k > 0 and lists.sizes[i] != UNKNOWN:
            if ranks[k] == 0:
                ranks[k] = guessed_rank(k, share)
            if _count_group(codes, words, bit, largest) < ranks[k]:  # no other asks for more
                tolerance = tolerance_of(high, ruler)
                largest = _bisect_group(codes, words, bit, ranks[k], largest, high, tolerance)
    if largest in (NONE, ALL):
        return np.int64(largest)
    return np.int64(widened(largest, lists.error[i], ruler))


@njit(cache=True, nogil=True)
def _lower(lists, i, limit):
    """Lower a limit, and drop what is beyond it."""
    if lists.sizes[i] == UNKNOWN:
        return
    limit = min(lists.limits[i], limit)
    lists.limits[i] = lists.tile[i] = limit
    lists.sizes[i] = drop_beyond(lists.codes[i], lists.cols[i], lists.sizes[i], limit)


@njit(cache=True, nogil=True)
def _of_rank(lists, i, rank, ruler):
    """About the code of the listed row of a rank; there must be so many."""
    codes, high = lists.codes[i, : lists.sizes[i]], np.int32(max(lists.limits[i], 0))
    return bisect(codes, rank, high, tolerance_of(high, ruler))


@njit(cache=True, nogil=True)
def _make_room(lists, i, ranks, ruler, room):
    """Drop what nobody needs from the farther half of a list; give up what stays too long."""
    half = _of_rank(lists, i, lists.codes.shape[1] // 2, ruler)
    _lower(lists, i, max(_needed(lists, i, 1.0, ranks, ruler, room), half))
    if lists.sizes[i] > _FULL * lists.codes.shape[1]:
        lists.sizes[i] = UNKNOWN
        lists.limits[i] = lists.tile[i] = NONE


@njit(cache=True, nogil=True)
def _wished(lists, i, needed, of_either, share, ruler):
    """As far as either class matters, or as there is room for; at least what is needed."""
    rank = int(_FULL * share * lists.codes.shape[1])
    if share < _LATE or lists.sizes[i] < rank:
        return of_either
    return max(needed, min(of_either, _of_rank(lists, i, rank, ruler)))


@njit(cache=True, nogil=True)
def guess_limits_of_both(first, second, start, stop, shares, ruler, keeps):
    """Guess, from random shares of both classes, how far all that matters will reach.

    For the rows between ``start`` and ``stop``. Returns how many were given up. Without ``keeps``
    the lists begin anew.
    """
    n_unknown, room = 0, np.empty(first.codes.shape[1] + second.codes.shape[1], np.uint32)
    ranks, ranks_of_second = np.zeros((2, 1 + max(first.needs.max(), second.needs.max())), np.int64)
    for i in range(start, stop):
        needed = _needed(first, i, shares[0], ranks, ruler, room)
        needed_of_second = _needed(second, i, shares[1], ranks_of_second, ruler, room)
        of_either = max(needed, needed_of_second)
        _lower(first, i, _wished(first, i, needed, of_either, shares[0], ruler))
        _lower(second, i, _wished(second, i, needed_of_second, of_either, shares[1], ruler))
        n_unknown += first.sizes[i] == UNKNOWN or second.sizes[i] == UNKNOWN
        if not keeps:
            first.sizes[i], second.sizes[i] = min(first.sizes[i], 0), min(second.sizes[i], 0)
    return n_unknown


@njit(cache=True, nogil=True)
def acquaint(tiles, first, of_rows, of_cols, is_mutual, never, n_together, ruler, hits):
    """List the pairs of a block of rows and a block of columns that are within either limit.

    Parameters
    ----------
    first
        Which row of its class the first row is, and which the first column.
    of_rows, of_cols
        Output: the lists of the rows among the class of the columns, and the other way round.
    is_mutual
        Whether columns list rows, too.
    never
        Limits that no pair is within.
    n_together
        Panels of rows that stay in the cache while all columns go by.
    """
    kernel, a, b, row_norm, col_norm, n_rows, n_cols = tiles
    (pairs, tile, masks, places), (first_row, first_col) = hits, first
    row_codes, row_cols, row_sizes, row_tile = of_rows[0], of_rows[1], of_rows[2], of_rows[4]
    col_codes, col_cols, col_sizes, col_tile = of_cols[0], of_cols[1], of_cols[2], of_cols[4]
    row_limit = row_tile[first_row : first_row + len(row_norm)]
    col_limit = col_tile[first_col : first_col + len(col_norm)] if is_mutual else never
    row_capacity, col_capacity = row_codes.shape[1], col_codes.shape[1]
    room = np.empty(max(row_capacity, col_capacity), np.uint32)
    ranks = np.zeros(1 + max(of_rows.needs.max(), of_cols.needs.max()), np.int64)
    for start in range(0, a.shape[0], n_together):
        stop = min(start + n_together, a.shape[0])
        for b_panel in range(b.shape[0]):
            for panel in range(start, stop, STRIP):
                n_hits = find_hits(
                    kernel, a, b, row_norm, col_norm, n_rows, n_cols, panel,
                    min(panel + STRIP, stop), b_panel, row_limit, col_limit, pairs, tile, masks,
                    places,
                )  # fmt: skip
                for t in range(n_hits):
                    i, j, code = first_row + pairs[0, t], first_col + pairs[1, t], pairs[2, t]
                    if code <= row_tile[i]:
                        row_codes[i, row_sizes[i]], row_cols[i, row_sizes[i]] = code, j
                        row_sizes[i] += 1
                        if row_sizes[i] == row_capacity:
                            _make_room(of_rows, i, ranks, ruler, room)
                    if is_mutual and code <= col_tile[j]:
                        col_codes[j, col_sizes[j]], col_cols[j, col_sizes[j]] = code, i
                        col_sizes[j] += 1
                        if col_sizes[j] == col_capacity:
                            _make_room(of_cols, j, ranks, ruler, room)


@njit(cache=True, nogil=True)
def select_group(lists, rows, place, label, found):
    """Copy what is listed of a group: ``place`` is negative for the others.

    Parameters
    ----------
    rows
        (n,) whose lists.
    label
        0 or 1, for :class:`Candidates`.
    found
        Output: :class:`Candidates`.
    """
    for q in range(len(rows)):
        i, n = rows[q], 0
        codes, cols = lists.codes[i], lists.cols[i]
        found_codes, found_cols = found.codes[q], found.cols[q]
        for t in range(lists.sizes[i]):
            j = cols[t]
            found_codes[n], found_cols[n] = codes[t], 2 * j + label
            n += place[j] >= 0
        found.sizes[q] = UNKNOWN if lists.sizes[i] == UNKNOWN else n
        found.limits[q] = lists.limits[i]


@njit(cache=True, nogil=True)
def _measure_within(lists, i, itself, place, limit, row, members, places, distances):
    """Measure the listed rows of a group with a code up to a limit, less itself; how many."""
    n, codes, cols = 0, lists.codes[i], lists.cols[i]
    for t in range(lists.sizes[i]):
        j = cols[t]
        if codes[t] <= limit and place[j] >= 0 and j != itself:
            places[n], distances[n] = place[j], fast_squared(row, members.base[members.near[j]])
            n += 1
    return n


@njit(cache=True, nogil=True)
def _reach_of_nearest(lists, i, itself, place, depth, ruler, codes):
    """A code that the ``depth`` nearest of a group, less itself, surely are within; ALL if none."""
    n, listed_codes, listed_cols = 0, lists.codes[i], lists.cols[i]
    for t in range(lists.sizes[i]):
        j = listed_cols[t]
        codes[n] = listed_codes[t]
        n += (place[j] >= 0) & (j != itself)
    if n < depth:
        return np.int64(ALL)
    return np.int64(widened(kth_smallest(codes[:n], depth), lists.error[i], ruler))


@njit(cache=True, nogil=True)
def _measure_all(row, itself, place, members, places, distances):
    """Measure every row of a group, less itself, whoever is listed; how many."""
    n = 0
    for j in range(len(place)):
        if place[j] >= 0 and j != itself:
            places[n], distances[n] = place[j], fast_squared(row, members.base[members.near[j]])
            n += 1
    return n


@njit(cache=True, nogil=True)
def list_vicinity(lists, rows, place, members, ruler, most_unknown, places, distances, starts):
    """List who is around some rows, as :class:`Vicinity` says; returns columns and distances.

    Parameters
    ----------
    lists, place, members
        Of the class of the rows, and of the other: the lists of these rows among it; where each
        listed row stands, negative for those that nobody asks about; the rows themselves.
    most_unknown
        Rows that may be compared with everybody, where the lists do not tell.
    places, distances, starts
        Output; unless there are more such rows: then nothing is returned.
    """
    (own, other), (own_place, other_place), (own_rows, other_rows) = lists, place, members
    depth, n_found, n_unknown = places.shape[1], 0, 0
    codes, near = np.empty(own.codes.shape[1], np.int32), np.empty(len(own_place), np.int64)
    far_off = np.empty(len(own_place))
    most = len(rows) * other.codes.shape[1] + most_unknown * len(other_place)
    columns, far, starts[0] = np.empty(most, np.int64), np.empty(most), 0
    for r in range(len(rows)):
        i, row = rows[r], own_rows.base[own_rows.near[rows[r]]]
        reach = _reach_of_nearest(own, i, i, own_place, depth, ruler, codes)
        rest, far_rest = columns[n_found:], far[n_found:]
        if reach <= own.limits[i] and reach <= other.limits[i]:
            n = _measure_within(own, i, i, own_place, reach, row, own_rows, near, far_off)
            m = _measure_within(other, i, -1, other_place, reach, row, other_rows, rest, far_rest)
        elif n_unknown == most_unknown:
            return None
        else:
            n = _measure_all(row, i, own_place, own_rows, near, far_off)
            m = _measure_all(row, -1, other_place, other_rows, rest, far_rest)
            n_unknown += 1
        sort_together(far_off[:n], near[:n])
        places[r], distances[r] = near[:depth], far_off[:depth]
        for t in range(n_found, n_found + m):  # those that are no farther
            columns[n_found], far[n_found] = columns[t], far[t]
            n_found += far[t] <= distances[r, depth - 1]
        starts[r + 1] = n_found
    return columns[:n_found].copy(), far[:n_found].copy()


@njit(cache=True, nogil=True)
def _count_within_limits(codes, cols, n, inner, outer, room):
    """Count codes up to ``inner``, and gather the columns of those that ``outer`` leaves open."""
    n_within, n_open = 0, 0
    for t in range(n):
        n_within += codes[t] <= inner
        room[n_open] = cols[t]
        n_open += (codes[t] > inner) & (codes[t] <= outer)
    return n_within, n_open


@njit(cache=True, nogil=True)
def count_around(lists, rows, place, thresholds, queries, references, ruler, counts, is_open):
    """Count the listed references of a group in the balls of some rows.

    Parameters
    ----------
    rows
        (n_queries,) whose lists; negative where there is none.
    place
        (n_listed,) negative for rows that are no references.
    thresholds
        (n_balls, n_queries)
    counts
        Output, (n_queries, n_balls); only added to.
    is_open
        Output, (n_balls, n_queries): where the ball reaches beyond what is listed.
    """
    codes, cols, room = np.empty((3, lists.codes.shape[1]), np.int32)
    inner, outer = np.empty((2, len(thresholds)), np.int64)
    for q in range(len(rows)):
        i, n, farthest = rows[q], 0, np.int64(NONE)
        if i < 0 or lists.sizes[i] == UNKNOWN:
            is_open[:, q] = True
            continue
        for ball in range(len(thresholds)):
            inner[ball], outer[ball] = code_limits(thresholds[ball, q], lists.error[i], ruler)
            is_open[ball, q] = outer[ball] > lists.limits[i]
            if not is_open[ball, q]:
                farthest = max(farthest, outer[ball])
        listed_codes, listed_cols = lists.codes[i], lists.cols[i]
        for t in range(lists.sizes[i]):  # no branches: they would be guessed wrong
            code, j = listed_codes[t], listed_cols[t]
            codes[n], cols[n] = code, j
            n += (code <= farthest) & (place[j] >= 0)
        for ball in range(len(thresholds)):
            if not is_open[ball, q]:
                within, n_open = _count_within_limits(
                    codes, cols, n, inner[ball], outer[ball], room
                )
                for t in range(n_open):
                    within += settle(queries, q, references, room[t], thresholds[ball, q], ruler)
                counts[q, ball] += within


@njit(cache=True, nogil=True)
def count_among(lists, rows, place, thresholds, queries, references, ruler, counts, is_open):
    """Count in how many balls of some references each listed query of a group is.

    Parameters
    ----------
    rows
        (n_references,) whose lists; negative where there is none.
    place
        (n_listed,) which query a row is; negative for rows that are none.
    thresholds
        (n_balls, n_references)
    counts
        Output, (n_queries, n_balls); only added to.
    is_open
        Output, (n_references,): whether a ball reaches beyond what is listed; it is not counted.
    """
    n_balls = len(thresholds)
    if n_balls == 0:
        return
    inner, outer = np.empty((2, n_balls), np.int64)
    codes, members = np.empty((2, lists.codes.shape[1]), np.int32)
    for r in range(len(rows)):
        i = rows[r]
        is_open[r] = i < 0 or lists.sizes[i] == UNKNOWN
        if is_open[r]:
            continue
        for ball in range(n_balls):
            inner[ball], outer[ball] = code_limits(thresholds[ball, r], lists.error[i], ruler)
        farthest = outer.max()
        is_open[r] = farthest > lists.limits[i]
        if is_open[r]:
            continue
        listed_codes, listed_cols, n = lists.codes[i], lists.cols[i], 0
        for t in range(lists.sizes[i]):  # no branches: they would be guessed wrong
            code, q = listed_codes[t], place[listed_cols[t]]
            codes[n], members[n] = code, q
            n += (q >= 0) & (code <= farthest)
        for t in range(n):
            code, q = codes[t], members[t]
            for ball in range(n_balls):
                inside = code <= inner[ball]
                if not inside and code <= outer[ball]:
                    threshold = thresholds[ball, r]
                    inside = settle(queries, q, references, i, threshold, ruler)
                counts[q, ball] += inside
