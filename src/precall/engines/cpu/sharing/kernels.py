"""The loops behind ``acquaintances``: lists of who is near whom, by class, for many questions.

A *group* is a set of references that somebody asks about; a class has at most 32 of them, one bit
of a word each. A row needs its k nearest of some groups. Its list among a class holds every row of
that class with a code up to its limit, whatever group it is in. When all blocks have met, lists are
sorted, so that whoever reads one stops where what he looks for ends.
"""

from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.candidates import (
    UNKNOWN,
    drop_beyond,
    guessed_rank,
    sort_together,
    tolerance_of,
    up_to_kth,
)
from precall.engines.cpu.pairs import fast_squared
from precall.engines.cpu.rulers import largest_of, widened
from precall.engines.cpu.tiling.tiles import ALL, NONE, STRIP, compare_strip, find_hits
from precall.runtime.compiling import helper, njit

_LATE = 0.7  # of a class was met: guesses are no longer much too large
_FULL = 0.75  # of a list: no more is wished for, and no more may be needed


class Lists(NamedTuple):
    """Who of one class is near each row of a class, of the same or of the other."""

    codes: Any  # (n, capacity) int32: of the grid, or direct once they were measured
    cols: Any  # (n, capacity) int32: index among the near rows of the listed class
    sizes: Any  # (n,) how many; UNKNOWN where they were too many to keep
    limits: Any  # (n,) every pair with a code up to here is listed
    tile: Any  # (n_padded,) int32: the same as tiles want it, while blocks meet; NONE for nobody
    error: Any  # (n,) largest ρ + ρ′ of any pair of the row, in steps; 0 of direct codes
    needs: Any  # (n, n_groups) int32: how many of the nearest of each group are asked for
    groups: Any  # (n_listed,) uint32: bits of the groups that each listed row is in


@helper()
def _count_group(codes, words, bit, limit):
    """How many listed rows of a group have a code up to a limit, in SIMD."""
    n = 0
    for t in range(len(codes)):
        n += ((words[t] & bit) != 0) & (codes[t] <= limit)
    return n


@helper()
def _up_to_kth_of_group(codes, words, bit, k, low, high, tolerance):
    """A code that at least ``k`` of a group are within, at most ``tolerance`` too large; or ALL.

    Fewer are below ``low``. As :func:`up_to_kth`, every other place is guessed.
    """
    n_below, halves = 0, False
    n_within = _count_group(codes, words, bit, high)
    if n_within < k:
        return np.int32(ALL)
    while high - low > tolerance and n_within > k:
        width = np.int64(high) - low
        step = width >> 1 if halves else width * (k - n_below) // (n_within - n_below)
        middle, halves = np.int32(low + min(step, width - 1)), not halves
        n = _count_group(codes, words, bit, middle)
        if n >= k:
            high, n_within = middle, n
        else:
            low, n_below = np.int32(middle + 1), n
    return high


@helper()
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
        k, bit = np.int64(lists.needs[i, group]), np.uint32(1 << group)
        if k > 0 and lists.sizes[i] != UNKNOWN:
            if ranks[k] == 0:
                ranks[k] = guessed_rank(k, share)
            if _count_group(codes, words, bit, largest) < ranks[k]:  # no other asks for more
                tolerance = tolerance_of(np.int64(high), ruler)
                largest = _up_to_kth_of_group(codes, words, bit, ranks[k], largest, high, tolerance)
    if largest in (NONE, ALL):
        return np.int64(largest)
    return np.int64(widened(np.int64(largest), lists.error[i], ruler))


@helper()
def _lower(lists, i, limit):
    """Lower a limit, and drop what is beyond it."""
    if lists.sizes[i] == UNKNOWN:
        return
    limit = min(lists.limits[i], limit)
    lists.limits[i] = lists.tile[i] = limit
    lists.sizes[i] = drop_beyond(lists.codes[i], lists.cols[i], lists.sizes[i], limit)


@helper()
def _of_rank(lists, i, rank, ruler):
    """About the code of the listed row of a rank; there must be so many."""
    codes, high = lists.codes[i, : lists.sizes[i]], max(lists.limits[i], 0)
    return up_to_kth(codes, rank, np.int64(0), high, tolerance_of(high, ruler))


@helper()
def _make_room(lists, i, ranks, ruler, room):
    """Drop what nobody needs from the farther half of a list; give up what stays too long."""
    half = _of_rank(lists, i, lists.codes.shape[1] // 2, ruler)
    _lower(lists, i, max(_needed(lists, i, 1.0, ranks, ruler, room), half))
    if lists.sizes[i] > _FULL * lists.codes.shape[1]:
        lists.sizes[i] = UNKNOWN
        lists.limits[i] = lists.tile[i] = NONE


@helper()
def _wished(lists, i, needed, of_either, share, ruler):
    """As far as either class matters, or as there is room for; at least what is needed."""
    rank = int(_FULL * share * lists.codes.shape[1])
    if share < _LATE or lists.sizes[i] < rank:
        return of_either
    return max(needed, min(of_either, _of_rank(lists, i, rank, ruler)))


@njit(cache=True, nogil=True)
def guess_limits_of_both(first, second, start, stop, shares, deepest, ruler, keeps):
    """Guess, from random shares of both classes, how far all that matters will reach.

    For the rows between ``start`` and ``stop``, who need ``deepest`` of a group at most. Returns
    how many were given up. Without ``keeps`` the lists begin anew.
    """
    n_unknown, room = 0, np.empty(first.codes.shape[1] + second.codes.shape[1], np.uint32)
    ranks, ranks_of_second = np.zeros(deepest + 1, np.int64), np.zeros(deepest + 1, np.int64)
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


@helper()
def _enlist(lists, own, first_own, others, first_other, hit_codes, ranks, ruler, room):
    """Put hits on the lists of their rows: ``own`` less the first are whose, ``others`` whom."""
    codes, cols, sizes, limits = lists.codes, lists.cols, lists.sizes, lists.tile
    capacity = codes.shape[1]
    for t in range(len(own)):
        i, code = first_own + own[t], hit_codes[t]
        # Written in any case, and kept if it matters: a branch would be guessed wrong.
        codes[i, sizes[i]], cols[i, sizes[i]] = code, first_other + others[t]
        sizes[i] += code <= limits[i]
        if sizes[i] == capacity:
            _make_room(lists, i, ranks, ruler, room)


@njit(cache=True, nogil=True)
def acquaint(tiles, first, of_rows, of_cols, is_mutual, never, n_together, deepest, ruler, hits):
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
    deepest
        How many of the nearest of a group any row needs.
    """
    kernel, a, b, row_norm, col_norm, n_rows, n_cols = tiles
    (pairs, tile, masks, places), (first_row, first_col) = hits, first
    row_limit = of_rows.tile[first_row : first_row + len(row_norm)]
    col_limit = of_cols.tile[first_col : first_col + len(col_norm)] if is_mutual else never
    room = np.empty(max(of_rows.codes.shape[1], of_cols.codes.shape[1]), np.uint32)
    ranks = np.zeros(deepest + 1, np.int64)
    for start in range(0, a.shape[0], n_together):
        stop = min(start + n_together, a.shape[0])
        for b_panel in range(b.shape[0]):
            for panel in range(start, stop, STRIP):
                n_hits = find_hits(
                    kernel, a, b, row_norm, col_norm, n_rows, n_cols, panel,
                    min(panel + STRIP, stop), b_panel, row_limit, col_limit, pairs, tile, masks,
                    places,
                )  # fmt: skip
                rows, cols, codes = pairs[0, :n_hits], pairs[1, :n_hits], pairs[2, :n_hits]
                _enlist(of_rows, rows, first_row, cols, first_col, codes, ranks, ruler, room)
                if is_mutual:
                    _enlist(of_cols, cols, first_col, rows, first_row, codes, ranks, ruler, room)


@njit(cache=True, nogil=True)
def list_everybody(tiles, first_row, lists, hits):
    """List every column for every row: few enough for their lists, which begin anew."""
    kernel, a, b, row_norm, col_norm, n_rows, n_cols = tiles
    _, tile, masks, places = hits
    height, width = a.shape[2], b.shape[2]
    everybody = np.full(max(len(row_norm), len(col_norm)), ALL, np.int32)
    for b_panel in range(b.shape[0]):
        first_col = b_panel * width
        for panel in range(0, a.shape[0], STRIP):
            compare_strip(
                kernel, a, b, row_norm, col_norm, panel, min(panel + STRIP, a.shape[0]), b_panel,
                everybody, everybody, tile, masks, places,
            )  # fmt: skip
            start = panel * height
            for r in range(min(STRIP * height, n_rows - start)):
                codes, cols = lists.codes[first_row + start + r], lists.cols[first_row + start + r]
                for c in range(min(width, n_cols - first_col)):
                    codes[first_col + c], cols[first_col + c] = tile[r, c], first_col + c
    for i in range(first_row, first_row + n_rows):
        lists.sizes[i] = n_cols


@njit(cache=True, nogil=True, allocates=False)
def select_group(lists, rows, place, label, depth, ruler, found):
    """Copy what is listed of a group, as far as its ``depth`` nearest may be.

    Parameters
    ----------
    rows
        (n,) whose lists.
    place
        (n_listed,) negative for rows that are not in the group.
    label
        0 or 1, for :class:`Candidates`.
    found
        Output: :class:`Candidates`, sorted.
    """
    for q in range(len(rows)):
        i, n, t = rows[q], 0, 0
        codes, cols, size = lists.codes[i], lists.cols[i], lists.sizes[i]
        found_codes, found_cols = found.codes[q], found.cols[q]
        limit = np.int64(ALL)
        while t < size and codes[t] <= limit:  # no other branches: they would be guessed wrong
            j = cols[t]
            found_codes[n], found_cols[n] = codes[t], 2 * j + label
            n += place[j] >= 0
            t += 1
            if n == depth and limit == ALL:
                limit = widened(np.int64(codes[t - 1]), lists.error[i], ruler)
        found.sizes[q] = UNKNOWN if size == UNKNOWN else n
        found.limits[q] = lists.limits[i]


@helper()
def _is_alone(codes, size, t, rivals, n_rivals, u):
    """Whether no other of two sorted lists has the code of one: ``u`` is the first with as much."""
    code = codes[t]
    is_tied = (t > 0 and codes[t - 1] == code) or (t + 1 < size and codes[t + 1] == code)
    return not is_tied and (u == n_rivals or rivals[u] != code)


@helper()
def _measure_within(lists, rivals, i, itself, place, limit, row, members, ruler, places, distances):
    """Measure the listed rows of a group with a code up to a limit, less itself; how many.

    A direct code that nobody else has, on either list of the row, says who is nearer already: the
    largest distance with this code stands for it. Sums may be added in another order here, so what
    is measured stays between codes.
    """
    n, u, codes, cols, rival_codes = 0, 0, lists.codes[i], lists.cols[i], rivals.codes[i]
    for t in range(lists.sizes[i]):
        j, code = cols[t], codes[t]
        if code > limit:
            break
        while u < rivals.sizes[i] and rival_codes[u] < code:
            u += 1
        if place[j] >= 0 and j != itself:
            is_told = ruler.is_direct and _is_alone(
                codes, lists.sizes[i], t, rival_codes, rivals.sizes[i], u
            )
            largest = largest_of(np.int64(code)) if ruler.is_direct else np.inf
            places[n], distances[n] = place[j], largest
            if not is_told:
                least = largest_of(np.int64(code - 1)) if ruler.is_direct and code > 0 else 0.0
                fast = fast_squared(row, members.base[members.near[j]])
                distances[n] = min(max(fast, least), largest)
            n += 1
    return n


@helper()
def _reach_of_nearest(lists, i, itself, place, depth, ruler):
    """A code that the ``depth`` nearest of a group, less itself, surely are within; ALL if none."""
    n, cols = 0, lists.cols[i]
    for t in range(lists.sizes[i]):
        n += (place[cols[t]] >= 0) & (cols[t] != itself)
        if n == depth:
            return np.int64(widened(np.int64(lists.codes[i, t]), lists.error[i], ruler))
    return np.int64(ALL)


@helper()
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
    depth, n_found, n_unknown, none = places.shape[1], 0, 0, np.int64(-1)
    near, far_off = np.empty(len(own_place), np.int64), np.empty(len(own_place))
    most = len(rows) * other.codes.shape[1] + most_unknown * len(other_place)
    columns, far, starts[0] = np.empty(most, np.int64), np.empty(most), 0
    for r in range(len(rows)):
        i, row = np.int64(rows[r]), own_rows.base[own_rows.near[rows[r]]]
        reach = _reach_of_nearest(own, i, i, own_place, depth, ruler)
        rest, far_rest = columns[n_found:], far[n_found:]
        if reach <= own.limits[i] and reach <= other.limits[i]:
            n = _measure_within(
                own, other, i, i, own_place, reach, row, own_rows, ruler, near, far_off
            )
            m = _measure_within(
                other, own, i, none, other_place, reach, row, other_rows, ruler, rest, far_rest
            )
        elif n_unknown == most_unknown:
            return None
        else:
            n = _measure_all(row, i, own_place, own_rows, near, far_off)
            m = _measure_all(row, none, other_place, other_rows, rest, far_rest)
            n_unknown += 1
        sort_together(far_off[:n], near[:n])
        for t in range(depth):
            places[r, t], distances[r, t] = near[t], far_off[t]
        for t in range(n_found, n_found + m):  # those that are no farther
            columns[n_found], far[n_found] = columns[t], far[t]
            n_found += far[t] <= distances[r, depth - 1]
        starts[r + 1] = n_found
    return columns[:n_found].copy(), far[:n_found].copy()
