"""Counts of who is in whose ball, read off lists of acquaintances."""

import numpy as np

from precall.engines.cpu.candidates import UNKNOWN, count_within
from precall.engines.cpu.counts import settle
from precall.engines.cpu.rulers import code_limits
from precall.engines.cpu.tiling.tiles import NONE
from precall.runtime.compiling import helper, njit


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
    capacity = lists.codes.shape[1]
    codes, cols = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    inner, outer = np.empty(len(thresholds), np.int64), np.empty(len(thresholds), np.int64)
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
        n_reached = count_within(listed_codes[: lists.sizes[i]], np.int32(farthest))
        for t in range(n_reached):  # no branches: they would be guessed wrong
            j = listed_cols[t]
            codes[n], cols[n] = listed_codes[t], j
            n += place[j] >= 0
        for ball in range(len(thresholds)):
            if not is_open[ball, q]:
                within = count_within(codes[:n], np.int32(inner[ball]))
                for t in range(within, count_within(codes[:n], np.int32(outer[ball]))):
                    j, threshold = np.int64(cols[t]), thresholds[ball, q]
                    within += settle(queries, q, references, j, threshold, ruler)
                counts[q, ball] += within


@helper()
def _members_within(lists, i, place, limit, codes, members):
    """Copy what is listed of a group up to a limit: codes, and who they are; how many."""
    n, listed_codes, cols = 0, lists.codes[i], lists.cols[i]
    for t in range(count_within(listed_codes[: lists.sizes[i]], np.int32(limit))):  # no branches
        who = place[cols[t]]
        codes[n], members[n] = listed_codes[t], who
        n += who >= 0
    return n


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
    n_balls, capacity = len(thresholds), lists.codes.shape[1]
    if n_balls == 0:
        return
    inner, outer = np.empty(n_balls, np.int64), np.empty(n_balls, np.int64)
    codes, members = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    for r in range(len(rows)):
        i, farthest = np.int64(rows[r]), np.int64(NONE)
        is_open[r] = i < 0 or lists.sizes[i] == UNKNOWN
        if is_open[r]:
            continue
        for ball in range(n_balls):
            inner[ball], outer[ball] = code_limits(thresholds[ball, r], lists.error[i], ruler)
            farthest = max(farthest, outer[ball])
        is_open[r] = farthest > lists.limits[i]
        if is_open[r]:
            continue
        n = _members_within(lists, i, place, farthest, codes, members)
        for t in range(n):
            code, q = codes[t], np.int64(members[t])
            for ball in range(n_balls):
                inside = code <= inner[ball]
                if not inside and code <= outer[ball]:
                    threshold = thresholds[ball, r]
                    inside = settle(queries, q, references, i, threshold, ruler)
                counts[q, ball] += inside


@njit(cache=True, nogil=True)
def count_seen(
    lists, rows, place, is_asked, thresholds, errors, queries, references, ruler, counts, tells
):
    """Count whom the balls of some queries hold, among references whose lists reach as far.

    A pair is on the list of the one, or of the other, whose limit it is within.

    Parameters
    ----------
    rows
        (n_references,) whose lists; negative where there is none.
    place
        (n_listed,) which query a row is; negative for rows that are none.
    is_asked, thresholds, errors
        (n_queries,) which balls to count, how large they are, and ρ + ρ′ at most.
    counts
        Output, (n_queries,); only added to.
    tells
        Output, (n_references,): of which references the list told all.
    """
    inner, outer = np.empty(len(thresholds), np.int64), np.empty(len(thresholds), np.int64)
    reach = np.int64(NONE)
    for q in range(len(thresholds)):
        inner[q] = outer[q] = NONE
        if is_asked[q]:
            inner[q], outer[q] = code_limits(thresholds[q], errors[q], ruler)
        reach = max(reach, outer[q])
    capacity = lists.codes.shape[1]
    codes, members = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    for r in range(len(rows)):
        i = np.int64(rows[r])
        tells[r] = i >= 0 and lists.sizes[i] != UNKNOWN and lists.limits[i] >= reach
        if not tells[r]:
            continue
        n = _members_within(lists, i, place, reach, codes, members)
        for t in range(n):
            code, q = codes[t], np.int64(members[t])
            inside = code <= inner[q]
            if not inside and code <= outer[q]:
                inside = settle(queries, q, references, i, thresholds[q], ruler)
            counts[q] += inside
