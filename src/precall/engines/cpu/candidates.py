"""Who may be among the nearest of each query: collected tile by tile, on the CPU.

The limit of a query is the largest code that still matters. It is guessed from the references seen
so far, which spares most candidates, and shrinks where a list is full. A limit that was guessed too
small is noticed at the end.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.pairs import canonical_squared
from precall.engines.cpu.rulers import is_exact, widened
from precall.engines.cpu.tiles import ALL, NONE, find_hits
from precall.runtime.compiling import njit

UNKNOWN = -1
_FIRST_GUESS, _GUESS_AGAIN = 1, 4  # panels seen
_GRID_TOLERANCE = 8  # a guess may be off by 1/2⁸ of the squared distance
_DIRECT_TOLERANCE = 2**12  # the same in direct codes, of which an octave has 2²⁰


class Candidates(NamedTuple):
    """What :func:`collect_nearest` found for each query."""

    codes: Any  # (n_queries, capacity) int32
    cols: Any  # (n_queries, capacity) int32: twice an index among the near references, plus class
    sizes: Any  # (n_queries,) how many; UNKNOWN where they were too many to keep, or are unproven


@njit(cache=True, nogil=True)
def _count_within(codes, limit):
    n_within = 0
    for t in range(len(codes)):
        n_within += codes[t] <= limit
    return n_within


@njit(cache=True, nogil=True)
def _bisect(codes, k, high, tolerance):
    """A code that at least ``k`` of ``codes`` are within, at most ``tolerance`` too large.

    ``high`` must be such a code. Bisection: counting is done by vectors, partitioning would not be.
    """
    low = np.int32(0)
    while high - low > tolerance:
        middle = np.int32(low + ((high - low) >> 1))
        if _count_within(codes, middle) >= k:
            high = middle
        else:
            low = np.int32(middle + 1)
    return np.int64(high)


@njit(cache=True, nogil=True)
def kth_smallest(codes, k):
    """The k-th smallest code: bisect until k are within, then take the largest of these."""
    low, high = np.int32(0), np.int32(ALL)
    while low < high:
        middle = np.int32(low + ((high - low) >> 1))
        n_within = _count_within(codes, middle)
        if n_within == k:
            largest = np.int32(0)
            for t in range(len(codes)):
                largest = max(largest, codes[t] if codes[t] <= middle else np.int32(0))
            return np.int64(largest)
        if n_within > k:
            high = middle
        else:
            low = np.int32(middle + 1)
    return np.int64(high)


@njit(cache=True, nogil=True)
def sort_together(values, others):
    """Sort ``values``, and ``others`` along: a shell sort, as there are few nearly always.

    NumPy's sorts would take Numba seconds to compile.
    """
    gap = 1
    while 3 * gap < len(values):
        gap = 3 * gap + 1
    while gap > 0:
        for t in range(gap, len(values)):
            value, other, at = values[t], others[t], t
            while at >= gap and values[at - gap] > value:
                values[at], others[at] = values[at - gap], others[at - gap]
                at -= gap
            values[at], others[at] = value, other
        gap //= 3


@njit(cache=True, nogil=True)
def _still_matters(kth, error, ruler):
    """Largest code of a pair that can change how far the k-th is, whose code is ``kth``."""
    return kth - 1 if is_exact(kth, error, ruler) else widened(kth, error, ruler)


@njit(cache=True, nogil=True)
def _shrink(codes, cols, depth, error, ruler):
    """Drop candidates that ``depth`` others are surely as near as.

    Where equal codes are equal distances only as many as make up ``depth`` are kept. Returns how
    many are left and the largest code that can still matter.
    """
    kth = kth_smallest(codes, depth)
    limit, n_ties = widened(kth, error, ruler), len(codes)
    if is_exact(kth, error, ruler):
        n_ties = depth - _count_within(codes, kth - 1)
    kept = 0
    for t in range(len(codes)):
        if codes[t] == limit:
            n_ties -= 1
        if codes[t] < limit or (codes[t] == limit and n_ties >= 0):
            codes[kept], cols[kept] = codes[t], cols[t]
            kept += 1
    return kept, _still_matters(kth, error, ruler)


@njit(cache=True, nogil=True)
def _keep_nearest(codes, cols, n, depth, query, references, room):
    """Keep the ``depth`` nearest of the first ``n`` candidates by their canonical distances.

    Those that tie with the last of them are worth the same.
    """
    order = np.arange(n)
    for t in range(n):
        stored = references.near[cols[t] >> 1]
        room[t] = canonical_squared(query, references.base[stored])
    sort_together(room[:n], order)
    kept_codes, kept_cols = codes[order[:depth]], cols[order[:depth]]
    codes[:depth], cols[:depth] = kept_codes, kept_cols


@njit(cache=True, nogil=True)
def _guess_limits(found, depth, share, limits, error, ruler):
    """Guess from a random ``share`` of the references how far all that matter will reach."""
    expected = depth * share
    rank = min(math.ceil(expected + 3.0 * math.sqrt(expected) + 3.0), depth)
    for i in range(len(found.sizes)):
        if found.sizes[i] >= rank:
            seen, limit = found.codes[i, : found.sizes[i]], max(limits[i], 0)
            tolerance = _DIRECT_TOLERANCE if ruler.is_direct else limit >> _GRID_TOLERANCE
            roughly = _bisect(seen, rank, np.int32(limit), tolerance)
            limits[i] = min(limits[i], widened(roughly, error[i], ruler))


@njit(cache=True, nogil=True)
def _mark_unproven(found, depth, n_references, limits, error, ruler):
    """Mark queries whose limit was guessed too small to prove that nothing is missing."""
    for i in range(len(found.sizes)):
        size = found.sizes[i]
        if size in (UNKNOWN, n_references):
            continue
        if size < depth:
            found.sizes[i] = UNKNOWN
            continue
        kth = kth_smallest(found.codes[i, :size], depth)
        if _still_matters(kth, error[i], ruler) > limits[i]:
            found.sizes[i] = UNKNOWN


@njit(cache=True, nogil=True)
def _make_room(found, i, depth, limits, error, queries, references, room, ruler):
    """Drop what no longer matters to a query whose list is full."""
    codes, cols = found.codes[i], found.cols[i]
    kept, limit = _shrink(codes, cols, depth, error[i], ruler)
    limits[i] = min(limits[i], limit)
    if 2 * kept > len(codes):
        if not ruler.is_direct:
            return UNKNOWN  # direct tiles will tell
        query = queries.base[queries.rows[i]]
        _keep_nearest(codes, cols, kept, depth, query, references, room)
        kept = depth
    return kept


@njit(cache=True, nogil=True)
def collect_nearest(
    tiles, label, never, error, ruler, depth, guesses, queries, references, hits, found
):
    """Collect for each query all references that may be among its ``depth`` nearest.

    Parameters
    ----------
    label
        Class of the references, 0 or 1.
    never
        Limits of references that nothing satisfies.
    error
        (n_queries,) largest ρ + ρ′ of any pair of the query, in steps.
    guesses
        Whether to guess limits; then references must be in random order.
    hits
        To work in.
    found
        Output.
    """
    (codes, cols, sizes), n_queries = found, len(found.sizes)
    n_panels, capacity = tiles.b.shape[0], codes.shape[1]
    row_limit = np.full(len(tiles.row_norm), NONE, dtype=np.int32)
    limits = np.full(n_queries, ALL, dtype=np.int64)
    row_limit[:n_queries], sizes[:] = ALL, 0
    room = np.empty(capacity)
    next_guess = _FIRST_GUESS
    for b_panel in range(n_panels):
        if guesses and b_panel == next_guess:
            next_guess *= _GUESS_AGAIN
            _guess_limits(found, depth, b_panel / n_panels, limits, error, ruler)
            for i in range(n_queries):
                if sizes[i] != UNKNOWN:
                    row_limit[i] = limits[i]
        for a_panel in range(tiles.a.shape[0]):
            for t in range(find_hits(tiles, a_panel, b_panel, row_limit, never, hits)):
                i, code = hits.rows[t], hits.codes[t]
                if code > row_limit[i]:  # has shrunk since
                    continue
                codes[i, sizes[i]], cols[i, sizes[i]] = code, 2 * hits.cols[t] + label
                sizes[i] += 1
                if sizes[i] == capacity:
                    sizes[i] = _make_room(
                        found, i, depth, limits, error, queries, references, room, ruler
                    )
                    row_limit[i] = NONE if sizes[i] == UNKNOWN else limits[i]
    if guesses:
        _mark_unproven(found, depth, tiles.n_cols, limits, error, ruler)
