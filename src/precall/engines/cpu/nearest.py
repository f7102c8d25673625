"""Sweep 1 of the CPU engine: how far each query is from its k-th nearest reference."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines.cpu.pairs import LARGEST_Q, canonical_squared, clip_limit, fast_squared
from precall.engines.cpu.simd_tiles import lowest_bit
from precall.engines.cpu.tiles import MAX_LIMIT, MIN_LIMIT, tile_hits

UNKNOWN = -1
_FIRST_GUESS, _GUESS_AGAIN = 1, 4  # panels seen


class Candidates(NamedTuple):
    """What :func:`collect_nearest` found for each query."""

    distances: Any  # (n_queries, capacity) int32: Q
    codes: Any  # (n_queries, capacity) int32: twice an index among the near references, plus class
    sizes: Any  # (n_queries,) how many; UNKNOWN where they were too many to keep


@njit(cache=True, nogil=True)
def _count_within(distances, limit):
    n_within = 0
    for t in range(len(distances)):
        n_within += distances[t] <= limit
    return n_within


@njit(cache=True, nogil=True)
def _bisect(distances, k, high, tolerance):
    """A Q that at least ``k`` of ``distances`` are within, at most ``tolerance`` too large.

    ``high`` must be such a Q. Bisection: counting is done by vectors, partitioning would not be.
    """
    low = np.int32(0)
    while high - low > tolerance:
        middle = np.int32(low + ((high - low) >> 1))
        n_within = _count_within(distances, middle)
        if n_within >= k:
            high = middle
        else:
            low = np.int32(middle + 1)
    return np.int64(high)


@njit(cache=True, nogil=True)
def _kth_smallest(distances, k):
    """The k-th smallest Q: bisect until k are within, then take the largest of these."""
    low, high = np.int32(0), np.int32(LARGEST_Q)
    while low < high:
        middle = np.int32(low + ((high - low) >> 1))
        n_within = _count_within(distances, middle)
        if n_within == k:
            largest = np.int32(0)
            for t in range(len(distances)):
                largest = max(largest, distances[t] if distances[t] <= middle else np.int32(0))
            return np.int64(largest)
        if n_within > k:
            high = middle
        else:
            low = np.int32(middle + 1)
    return np.int64(high)


@njit(cache=True, nogil=True)
def _widened(kth, error, relative):
    """Largest Q of a pair that may be as near as one with Q = ``kth``: both may err, either way."""
    if error == 0.0:
        return kth
    root = (math.sqrt(float(kth)) + 2.0 * error) * (1.0 + 4.0 * relative)
    return math.floor(root * root) + 1 if root * root < LARGEST_Q else LARGEST_Q


@njit(cache=True, nogil=True)
def _narrowed(kth, error, relative):
    """Largest Q of a pair that is surely nearer than one with Q = ``kth``."""
    if error == 0.0:
        return kth - 1
    root = (math.sqrt(float(kth)) - 2.0 * error) * (1.0 - 4.0 * relative)
    return math.floor(root * root) - 1 if root > 0.0 else -1


@njit(cache=True, nogil=True)
def _shrink(distances, codes, depth, error, relative):
    """Drop candidates that ``depth`` others are surely nearer than.

    Without any error Q orders pairs as the canonical distance does, and ties are worth the same:
    then only as many as make up ``depth`` are kept. Returns how many are left, UNKNOWN if more than
    half, and the largest Q that can still matter.
    """
    kth = _kth_smallest(distances, depth)
    limit, n_ties = _widened(kth, error, relative), len(distances)
    if error == 0.0:
        n_ties = depth - _count_within(distances, kth - 1)
    kept = 0
    for t in range(len(distances)):
        if distances[t] == limit:
            n_ties -= 1
        if distances[t] < limit or (distances[t] == limit and n_ties >= 0):
            distances[kept], codes[kept] = distances[t], codes[t]
            kept += 1
    return (kept if 2 * kept <= len(distances) else UNKNOWN), limit


@njit(cache=True, nogil=True)
def _guess_limits(distances, sizes, depth, share, limits, error, relative):
    """Guess from a random ``share`` of the references how far all that matter will reach."""
    expected = depth * share
    rank = min(math.ceil(expected + 3.0 * math.sqrt(expected) + 3.0), depth)
    for i in range(len(sizes)):
        if sizes[i] >= rank:
            seen = distances[i, : sizes[i]]
            roughly = _bisect(seen, rank, np.int32(limits[i]), limits[i] >> 8)
            limits[i] = min(limits[i], _widened(roughly, error[i], relative))


@njit(cache=True, nogil=True)
def _mark_unproven(found, depth, n_references, limits, error, relative):
    """Mark queries whose limit was guessed too small to prove that nothing is missing."""
    for i in range(len(found.sizes)):
        size = found.sizes[i]
        if size in (UNKNOWN, n_references):
            continue
        if size < depth:
            found.sizes[i] = UNKNOWN
            continue
        kth = _kth_smallest(found.distances[i, :size], depth)
        if _widened(kth, error[i], relative) > limits[i]:
            found.sizes[i] = UNKNOWN


@njit(cache=True, nogil=True)
def collect_nearest(tiles, label, never, n_references, error, depth, relative, found):
    """Collect for each query all references that may be among its ``depth`` nearest.

    References must be in random order: now and then the limit of each query is guessed from those
    seen so far, which spares it most of the candidates. A guess that turns out too small is noticed
    at the end.

    Parameters
    ----------
    label
        Class of the references, 0 or 1.
    never
        Limits of references that nothing satisfies.
    error
        (n_queries,) largest ρ + ρ′ of any pair of the query, in steps.
    found
        Output.
    """
    kernel, a, b, row_norm, col_norm = tiles
    distances, codes, sizes = found
    n_rows, n_cols, n_panels = a.shape[2], b.shape[2], b.shape[0]
    n_queries, capacity = distances.shape
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    row_limit = np.full(row_norm.shape[0], MIN_LIMIT, dtype=np.int32)
    row_limit[:n_queries] = MAX_LIMIT
    limits = np.full(n_queries, LARGEST_Q, dtype=np.int64)
    sizes[:] = 0
    next_guess = _FIRST_GUESS
    for b_panel in range(n_panels):
        if b_panel == next_guess:
            next_guess *= _GUESS_AGAIN
            _guess_limits(distances, sizes, depth, b_panel / n_panels, limits, error, relative)
            for i in range(n_queries):
                if sizes[i] != UNKNOWN:
                    row_limit[i] = clip_limit(limits[i] - row_norm[i])
        for a_panel in range(a.shape[0]):
            if not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, never, dots, masks
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
                    codes[i, sizes[i]] = 2 * j + label
                    sizes[i] += 1
                    if sizes[i] < capacity:
                        continue
                    sizes[i], limit = _shrink(distances[i], codes[i], depth, error[i], relative)
                    limits[i] = min(limits[i], limit)
                    row_limit[i] = clip_limit(limits[i] - row_norm[i])
                    if sizes[i] == UNKNOWN:
                        row_limit[i] = MIN_LIMIT
                        break
    _mark_unproven(found, depth, n_references, limits, error, relative)


@njit(cache=True, nogil=True)
def _sort_together(values, codes):
    """Sort ``values``, and ``codes`` along with them: a shell sort, as there are few nearly always.

    NumPy's sorts would take Numba seconds to compile.
    """
    gap = 1
    while 3 * gap < len(values):
        gap = 3 * gap + 1
    while gap > 0:
        for t in range(gap, len(values)):
            value, code, at = values[t], codes[t], t
            while at >= gap and values[at - gap] > value:
                values[at], codes[at] = values[at - gap], codes[at - gap]
                at -= gap
            values[at], codes[at] = value, code
        gap //= 3


@njit(cache=True, nogil=True)
def _exact_kth(query, classes, fast, codes, k, bound):
    """Canonical k-th smallest squared distance of candidates with the given fast distances.

    Only candidates whose fast distance cannot be told from the k-th are measured canonically. A
    code is twice a stored row, plus its class. Both arrays are sorted on the way.
    """
    _sort_together(fast, codes)
    middle, relative, absolute = fast[k - 1], bound.relative, bound.absolute
    lowest = middle - (relative * middle + absolute)
    highest = middle + (relative * middle + absolute)
    low, high = k - 1, k
    while low > 0 and fast[low - 1] * (1 + relative) + absolute >= lowest:
        low -= 1
    while high < len(fast) and fast[high] * (1 - relative) - absolute <= highest:
        high += 1
    for t in range(low, high):
        fast[t] = canonical_squared(query, classes[codes[t] & 1].base[codes[t] >> 1])
    _sort_together(fast[low:high], codes[low:high])
    return fast[k - 1]


@njit(cache=True, nogil=True)
def _kth_by_grid(query, classes, distances, codes, k, error, bound, fast, doubtful):
    """Canonical k-th smallest squared distance of candidates with the given Q.

    Only candidates that Q cannot tell from the k-th are measured at all.
    """
    kth = _kth_smallest(distances, k)
    below, highest = _narrowed(kth, error, bound.relative), _widened(kth, error, bound.relative)
    n_below, n = 0, 0
    for t in range(len(distances)):  # no branches: they would be guessed wrong
        doubtful[n] = codes[t]
        n += (below < distances[t]) & (distances[t] <= highest)
        n_below += distances[t] <= below
    if error == 0.0:
        n, n_below = 1, k - 1  # all of them tie: any will do
    for t in range(n):
        label = doubtful[t] & 1
        stored = classes[label].near[doubtful[t] >> 1]
        doubtful[t] = 2 * stored + label
        fast[t] = fast_squared(query, classes[label].base[stored])
    return _exact_kth(query, classes, fast[:n], doubtful[:n], k - n_below, bound)


@njit(cache=True, nogil=True)
def _measure(query, references, found, i, label, fast, codes, n):
    """Append the fast distances to all references of a class that may matter to query ``i``.

    These are its candidates, or all references on the grid where the candidates are unknown, and
    all that are off the grid. Returns how many distances there are then.
    """
    size = found.sizes[i]
    n_near = len(references.near) if size == UNKNOWN else size
    for t in range(n_near + len(references.far)):
        if t >= n_near:
            row = references.far[t - n_near]
        elif size == UNKNOWN:
            row = references.near[t]
        else:
            row = references.near[found.codes[i, t] >> 1]
        fast[n], codes[n] = fast_squared(query, references.base[row]), 2 * row + label
        n += 1
    return n


@njit(cache=True, nogil=True)
def kth_distances(queries, classes, found, ks, error, bound, out):
    """Canonical squared distances to the k-th nearest of class 0, of class 1 and of both.

    Parameters
    ----------
    classes, found
        Two of :class:`References`, and what was found among each.
    ks
        Which neighbours to tell.
    error
        (n_queries,) largest ρ + ρ′ of any pair of the query, in steps.
    out
        Output, (n_queries, 3, n_ks); inf where there are fewer. With a second axis of length 1 only
        class 0 is looked at.
    """
    n_first = len(classes[0].near) + len(classes[0].far)
    n_both = n_first + len(classes[1].near) + len(classes[1].far)
    n_members = (n_first, n_both - n_first, n_both)
    fast, doubtful = np.empty(n_both), np.empty(n_both, dtype=np.int64)
    capacity = found[0].distances.shape[1] + found[1].distances.shape[1]
    both_distances, both_codes = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    out[:] = np.inf
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for which in range(out.shape[1]):
            start, stop = (0, 2) if which == 2 else (which, which + 1)
            is_on_grid, n = True, 0
            for label in range(start, stop):
                is_on_grid &= found[label].sizes[i] != UNKNOWN and len(classes[label].far) == 0
            for label in range(start, stop):
                if is_on_grid:
                    size = found[label].sizes[i]
                    both_distances[n : n + size] = found[label].distances[i, :size]
                    both_codes[n : n + size] = found[label].codes[i, :size]
                    n += size
                else:
                    n = _measure(query, classes[label], found[label], i, label, fast, doubtful, n)
            for t in range(len(ks)):
                if ks[t] > n_members[which]:
                    continue
                if is_on_grid:
                    out[i, which, t] = _kth_by_grid(
                        query, classes, both_distances[:n], both_codes[:n], ks[t], error[i], bound,
                        fast, doubtful,
                    )  # fmt: skip
                else:
                    out[i, which, t] = _exact_kth(
                        query, classes, fast[:n], doubtful[:n], ks[t], bound
                    )
