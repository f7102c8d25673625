"""Who may be among the nearest of each query: collected tile by tile, on the CPU.

The limit of a query is the largest code that still matters. It is guessed from the references seen
so far, which spares most candidates, and shrinks where a list is full. A limit that was guessed too
small is noticed at the end.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.pairs import canonical_squared
from precall.engines.cpu.rulers import is_exact, widened
from precall.engines.cpu.tiling.tiles import ALL, NONE, STRIP, find_hits
from precall.runtime.compiling import helper, njit

Floats = NDArray[np.float64]

UNKNOWN = -1
_FIRST_GUESS, _GUESS_AGAIN = 1, 4  # panels seen
_RISK = 1e-4  # that a limit is guessed too small, which costs a query four times its time
_GRID_TOLERANCE = 8  # a guess may be off by 1/2⁸ of the squared distance
_DIRECT_TOLERANCE = 2**12  # the same in direct codes, of which an octave has 2²⁰


class Candidates(NamedTuple):
    """What :func:`collect_nearest` found for each query."""

    codes: Any  # (n_queries, capacity) int32
    cols: Any  # (n_queries, capacity) int32: twice an index among the near references, plus class
    sizes: Any  # (n_queries,) how many; UNKNOWN where they were too many to keep, or are unproven
    limits: Any  # (n_queries,) the largest code that still matters
    tile: Any  # (n_padded,) int32: the same as tiles want it; NONE where nothing is looked for
    error: Any  # (n_queries,) largest ρ + ρ′ of any pair of the query, in steps

    @classmethod
    def none(cls, error: Floats, capacity: int, n_padded: int) -> Self:
        """Begin with nothing found."""
        n = len(error)
        codes, cols = np.empty((2, n, capacity), np.int32)
        tile = np.full(n_padded, NONE, np.int32)
        tile[:n] = ALL
        return cls(codes, cols, np.zeros(n, np.int64), np.full(n, ALL, np.int64), tile, error)

    def part(self, rows: slice) -> Self:
        """Return what was found for some queries."""
        return type(self)(*(values[rows] for values in self))


@helper()
def count_within(codes, limit):
    """How many codes are up to a limit."""
    n_within = 0
    for t in range(len(codes)):
        n_within += codes[t] <= limit
    return n_within


@helper()
def tolerance_of(limit, ruler):
    """How much too large a guess up to ``limit`` may be."""
    return _DIRECT_TOLERANCE if ruler.is_direct else limit >> _GRID_TOLERANCE


@helper()
def up_to_kth(codes, k, low, high, tolerance):
    """A code that just ``k`` of ``codes`` are within, or else one at most ``tolerance`` too large.

    No code is below ``low``, and at least ``k`` are up to ``high``. Counting is done by vectors, as
    partitioning would not be. Every other time the place is guessed from how many are on either
    side, as if they were spread evenly: that takes a quarter of the steps.
    """
    n_below, n_within, halves = 0, len(codes), False
    while high - low > tolerance:
        width = high - low
        step = width >> 1 if halves else width * (k - n_below) // (n_within - n_below)
        middle, halves = low + min(step, width - 1), not halves
        n = count_within(codes, np.int32(middle))
        if n == k:
            return middle
        if n > k:
            high, n_within = middle, n
        else:
            low, n_below = middle + 1, n
    return high


@helper()
def kth_smallest(codes, k):
    """The k-th smallest code."""
    smallest, largest = np.int32(ALL), np.int32(0)
    for t in range(len(codes)):
        smallest, largest = min(smallest, codes[t]), max(largest, codes[t])
    limit = np.int32(up_to_kth(codes, k, np.int64(smallest), np.int64(largest), np.int64(0)))
    largest = np.int32(0)
    for t in range(len(codes)):
        largest = max(largest, codes[t] if codes[t] <= limit else np.int32(0))
    return np.int64(largest)


@helper()
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


@helper()
def _still_matters(kth, error, ruler):
    """Largest code of a pair that can change how far the k-th is, whose code is ``kth``."""
    return kth - 1 if is_exact(kth, error, ruler) else widened(kth, error, ruler)


@helper()
def _shrink(codes, cols, depth, error, ruler):
    """Drop candidates that ``depth`` others are surely as near as.

    Where equal codes are equal distances only as many as make up ``depth`` are kept. Returns how
    many are left and the largest code that can still matter.
    """
    kth = kth_smallest(codes, depth)
    limit, n_ties = widened(kth, error, ruler), len(codes)
    if is_exact(kth, error, ruler):
        n_ties = depth - count_within(codes, np.int32(kth - 1))
    kept = 0
    for t in range(len(codes)):
        if codes[t] == limit:
            n_ties -= 1
        if codes[t] < limit or (codes[t] == limit and n_ties >= 0):
            codes[kept], cols[kept] = codes[t], cols[t]
            kept += 1
    return kept, _still_matters(kth, error, ruler)


@helper(allocates=True)
def _keep_nearest(codes, cols, n, depth, query, references, room):
    """Keep the ``depth`` nearest of the first ``n`` candidates by their canonical distances.

    Those that tie with the last of them are worth the same.
    """
    both = np.empty(n, np.int64)
    for t in range(n):
        stored = references.near[cols[t] >> 1]
        room[t] = canonical_squared(query, references.base[stored])
        both[t] = (np.int64(cols[t]) << 32) | codes[t]
    sort_together(room[:n], both)
    for t in range(depth):
        codes[t], cols[t] = np.int32(both[t] & 0x7FFFFFFF), np.int32(both[t] >> 32)


@helper()
def guessed_rank(depth, share):
    """A rank that hardly ever so many of the ``depth`` nearest reach among a random ``share``."""
    if share >= 1.0:
        return depth
    chance = (1.0 - share) ** depth  # of none
    more, rank = 1.0 - chance, 1
    while rank < depth and more > _RISK:
        chance *= (depth - rank + 1) / rank * share / (1.0 - share)
        more -= chance
        rank += 1
    return rank


@helper()
def drop_beyond(codes, cols, n, limit):
    """Drop what is beyond a limit; returns how many are left."""
    kept = 0
    for t in range(n):  # no branches: they would be guessed wrong
        code = codes[t]
        codes[kept], cols[kept] = code, cols[t]
        kept += code <= limit
    return kept


@njit(cache=True, nogil=True, allocates=False)
def guess_limits(found, start, stop, depth, share, ruler):
    """Guess from a random ``share`` of the references how far all that matter will reach.

    For the queries between ``start`` and ``stop``.
    """
    rank, limits, tile = guessed_rank(depth, share), found.limits, found.tile
    codes, cols, sizes, errors = found.codes, found.cols, found.sizes, found.error
    for i in range(start, stop):
        if sizes[i] >= rank:
            limit = max(limits[i], 0)
            tolerance = tolerance_of(limit, ruler)
            roughly = up_to_kth(codes[i, : sizes[i]], rank, np.int64(0), limit, tolerance)
            limits[i] = min(limits[i], widened(roughly, errors[i], ruler))
            tile[i] = limits[i]
            sizes[i] = drop_beyond(codes[i], cols[i], sizes[i], limits[i])


@njit(cache=True, nogil=True, allocates=False)
def mark_unproven(found, depth, n_references, ruler, are_sorted):
    """Mark queries whose limit was guessed too small to prove that nothing is missing."""
    for i in range(len(found.sizes)):
        size = found.sizes[i]
        if size in (UNKNOWN, n_references):
            continue
        if size < depth:
            found.sizes[i] = UNKNOWN
            continue
        codes = found.codes[i]
        kth = np.int64(codes[depth - 1]) if are_sorted else kth_smallest(codes[:size], depth)
        if _still_matters(kth, found.error[i], ruler) > found.limits[i]:
            found.sizes[i] = UNKNOWN


@helper(allocates=True)
def _make_room(found, i, depth, queries, references, room, ruler):
    """Drop what no longer matters to a query whose list is full."""
    codes, cols = found.codes[i], found.cols[i]
    kept, limit = _shrink(codes, cols, depth, found.error[i], ruler)
    found.limits[i] = min(found.limits[i], limit)
    found.tile[i] = found.limits[i]
    if 2 * kept > len(codes):
        if not ruler.is_direct:  # direct tiles will tell
            found.tile[i] = NONE
            return UNKNOWN
        query = queries.base[queries.rows[i]]
        _keep_nearest(codes, cols, kept, depth, query, references, room)
        kept = depth
    return kept


@njit(cache=True, nogil=True)
def collect_nearest(
    tiles, first, is_mutual, n_together, n_guessed, label, never, ruler, depth, queries,
    references, hits, found,
):  # fmt: skip
    """Collect for each query all references that may be among its ``depth`` nearest.

    Parameters
    ----------
    first
        Which query, and which reference, the first row and the first column are.
    is_mutual
        Whether references are queries, too: then the pairs are candidates of both.
    n_together
        Panels of rows that stay in the cache while all columns go by.
    n_guessed
        Panels of columns that all references make up, for limits that are guessed from those seen
        so far, in random order; 0 to guess none.
    label
        Class of the references, 0 or 1.
    never
        Limits of references that nothing satisfies.
    hits
        To work in.
    found
        Output.
    """
    kernel, a, b, row_norm, col_norm, n_rows, n_cols = tiles
    (pairs, tile, masks, places), (first_row, first_col) = hits, first
    codes, cols, sizes, limits = found.codes, found.cols, found.sizes, found.tile
    row_limit = limits[first_row : first_row + len(row_norm)]
    col_limit = limits[first_col : first_col + len(col_norm)] if is_mutual else never
    capacity = codes.shape[1]
    room = np.empty(capacity)
    for start in range(0, a.shape[0], n_together):
        stop = min(start + n_together, a.shape[0])
        next_guess = _FIRST_GUESS
        for b_panel in range(b.shape[0]):
            if b_panel == next_guess and n_guessed > 0:
                next_guess *= _GUESS_AGAIN
                last = first_row + min(stop * a.shape[2], n_rows)
                share = b_panel / n_guessed
                guess_limits(found, first_row + start * a.shape[2], last, depth, share, ruler)
            for panel in range(start, stop, STRIP):
                n_hits = find_hits(
                    kernel, a, b, row_norm, col_norm, n_rows, n_cols, panel,
                    min(panel + STRIP, stop), b_panel, row_limit, col_limit, pairs, tile, masks,
                    places,
                )  # fmt: skip
                for t in range(n_hits):
                    i, j, code = first_row + pairs[0, t], first_col + pairs[1, t], pairs[2, t]
                    # Written in any case, and kept if it matters: branches would be guessed wrong.
                    codes[i, sizes[i]], cols[i, sizes[i]] = code, 2 * j + label
                    sizes[i] += code <= limits[i]
                    if sizes[i] == capacity:
                        sizes[i] = _make_room(found, i, depth, queries, references, room, ruler)
                    if is_mutual:
                        codes[j, sizes[j]], cols[j, sizes[j]] = code, 2 * i + label
                        sizes[j] += code <= limits[j]
                        if sizes[j] == capacity:
                            sizes[j] = _make_room(found, j, depth, queries, references, room, ruler)
