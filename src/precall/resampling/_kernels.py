"""What every sample is to the other class in each of 64 partitions at once, bit by bit.

Lane w < W of a word array is about halves, lane W + w about quarters, of the partitions in word w.
"""

import numpy as np
from numba import njit

__all__ = ["nearest_of_rows", "relate_blocks"]

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_STRIDE = 64  # columns that are looked at together


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _least(dots, norms, start, stop):
    """The smallest distance to the columns between start and stop, in SIMD."""
    dots, norms = dots[start:stop], norms[start:stop]
    least = norms[0] - dots[0] - dots[0]
    for j in range(len(dots)):
        d = norms[j] - dots[j] - dots[j]
        least = d if d < least else least
    return least


@njit(cache=True, nogil=True)
def _least_of_strides(dots, norms, least):
    for s in range(len(least)):
        least[s] = _least(dots, norms, s * _STRIDE, min((s + 1) * _STRIDE, len(norms)))


@njit(cache=True, nogil=True)
def _n_below(values, bound):
    """How many of ascending values are smaller."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _push(heap_d, heap_p, size, d, p):
    """Add to a heap of ``size`` whose root is the farthest."""
    at = size
    while at > 0 and heap_d[(at - 1) // 2] < d:
        heap_d[at], heap_p[at] = heap_d[(at - 1) // 2], heap_p[(at - 1) // 2]
        at = (at - 1) // 2
    heap_d[at], heap_p[at] = d, p


@njit(cache=True, nogil=True)
def _kth_smallest(values, k, heap_d, heap_p):
    for i in range(len(values)):
        if i < k:
            _push(heap_d, heap_p, i, values[i], i)
        elif values[i] < heap_d[0]:
            _replace_root(heap_d, heap_p, k, values[i], i)
    return heap_d[0]


@njit(cache=True, nogil=True)
def nearest_of_rows(dots, norms, first, depth, places, distances):
    """The ``depth`` nearest columns of each row, nearest first; row i is column first + i itself.

    Parameters
    ----------
    dots, norms
        (n_rows, n) scalar products and (n,) squared norms of the columns. norm − 2·dot is a squared
        distance but for the row's own norm, which is the same for all columns.
    places, distances
        Output, (n_rows, depth); distances in these terms.
    """
    n = dots.shape[1]
    least = np.empty((n + _STRIDE - 1) // _STRIDE, dtype=dots.dtype)
    nearest_strides, no_places = np.empty(depth + 1, dots.dtype), np.empty(depth + 1, np.int64)
    for i in range(len(dots)):
        heap_d, heap_p, size = distances[i], places[i], 0
        _least_of_strides(dots[i], norms, least)
        # As many strides as neighbours are wanted, and one for the row itself, have a column that
        # is at least as near as this: nothing farther needs to be looked at.
        bound = dots.dtype.type(np.inf)
        if len(least) > depth:
            bound = _kth_smallest(least, depth + 1, nearest_strides, no_places)
        for s in range(len(least)):
            if least[s] > bound:
                continue
            for j in range(s * _STRIDE, min((s + 1) * _STRIDE, n)):
                d = norms[j] - dots[i, j] - dots[i, j]
                if d > bound or j == first + i or (size == depth and d >= heap_d[0]):
                    continue
                if size == depth:
                    _replace_root(heap_d, heap_p, depth, d, j)
                else:
                    _push(heap_d, heap_p, size, d, j)
                    size += 1
        for last in range(depth - 1, 0, -1):
            d, p = heap_d[last], heap_p[last]
            far_d, far_p = heap_d[0], heap_p[0]
            _replace_root(heap_d, heap_p, last, d, p)
            heap_d[last], heap_p[last] = far_d, far_p


@njit(cache=True, nogil=True)
def _replace_root(heap_d, heap_p, size, d, p):
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap_d[child + 1] > heap_d[child]:
            child += 1
        if heap_d[child] <= d:
            break
        heap_d[at], heap_p[at] = heap_d[child], heap_p[child]
        at = child
    heap_d[at], heap_p[at] = d, p


@njit(cache=True, nogil=True)
def _below(own, places, low, high, ks, at_least, below):
    """Bit s of below[a, t]: fewer than ks[a] of the first t neighbours share the sample's block."""
    n_words = low.shape[1]
    at_least[:] = _NONE
    at_least[0] = _ALL
    below[:, 0] = _ALL
    for t in range(len(places)):
        z = places[t]
        for w in range(n_words):
            same = ~(low[own, w] ^ low[z, w])
            same_quarter = same & ~(high[own, w] ^ high[z, w])
            for j in range(len(at_least) - 1, 0, -1):
                at_least[j, w] |= at_least[j - 1, w] & same
                at_least[j, n_words + w] |= at_least[j - 1, n_words + w] & same_quarter
        for a in range(len(ks)):
            below[a, t + 1] = ~at_least[ks[a]]


@njit(cache=True, nogil=True)
def _count(planes, lane, inside):
    """Add 1 to the bit-sliced counters of some partitions; return how many planes that took."""
    p, carry = 0, inside
    while carry != _NONE:
        carried = planes[p, lane] & carry
        planes[p, lane] ^= carry
        carry = carried
        p += 1
    return p


@njit(cache=True, nogil=True)
def _add_counts(planes, n_planes, own, low, high, totals):
    """Add a bit-sliced counter to the totals of the blocks that the sample is in."""
    n_words = low.shape[1]
    for lane in range(2 * n_words):
        w = lane % n_words
        for s in range(64):
            count = 0
            for p in range(n_planes):
                count |= np.int64((planes[p, lane] >> np.uint64(s)) & np.uint64(1)) << p
            if count:
                block = np.int64((low[own, w] >> np.uint64(s)) & np.uint64(1))
                if lane >= n_words:
                    block += 2 * np.int64((high[own, w] >> np.uint64(s)) & np.uint64(1))
                totals[lane, s, block] += count


@njit(cache=True, nogil=True)
def relate_blocks(
    dots, norms, first, places, distances, complete, own_words, other_words,
    ks, balls, counted, covers, holds, held, cover, totals,
):  # fmt: skip
    """Tell, for every block of every partition, whose own ball holds whom of the other class.

    Parameters
    ----------
    dots, norms
        (n_rows, m) scalar products of some samples with the other class; its squared norms (m,).
    places, distances
        (n_rows, depth), their nearest neighbours in their own class, as :func:`nearest_of_rows`.
    complete
        Whether these are all there are: then a ball may reach farther than the last one.
    own_words, other_words
        (low, high) words of the partitions of both classes.
    ks
        (n_ks,) of the balls.
    balls, counted
        (n_ks,) whether to tell who holds whom, and whether to count the pairs.
    covers
        (n_covers, 2): which ball, and how many samples it has to hold.
    holds
        Output, (n_ks, n_rows, lanes): whether the ball holds any sample of the other class.
    held
        Output, (n_ks, m, lanes): whether any ball holds the sample; only ever added to.
    cover
        Output, (n_covers, n_rows, lanes): whether the ball holds enough.
    totals
        Output, (n_ks, lanes, 64, 4): pairs in balls, by block.
    """
    (low, high), (other_low, other_high) = own_words, other_words
    n_words, depth, m = low.shape[1], places.shape[1], dots.shape[1]
    n_lanes = 2 * n_words
    below = np.empty((len(ks), depth + 1, n_lanes), dtype=np.uint64)
    at_least = np.empty((ks.max() + 1, n_lanes), dtype=np.uint64)
    most = 0
    for c in range(len(covers)):
        most = max(most, covers[c, 1])
    cover_counts = np.empty((len(covers), most + 1, n_lanes), dtype=np.uint64)
    planes = np.empty((len(ks), 32, n_lanes), dtype=np.uint64)
    for i in range(len(dots)):
        own = first + i
        _below(own, places[i], low, high, ks, at_least, below)
        reach = distances[i, depth - 1]
        if complete:
            reach = distances.dtype.type(np.inf)
        cover_counts[:] = _NONE
        cover_counts[:, 0] = _ALL
        planes[:] = _NONE
        n_planes = np.zeros(len(ks), dtype=np.int64)
        for start in range(0, m, _STRIDE):
            stop = min(start + _STRIDE, m)
            if _least(dots[i], norms, start, stop) > reach:
                continue
            for y in range(start, stop):
                d = norms[y] - dots[i, y] - dots[i, y]
                if d > reach:
                    continue
                rank = _n_below(distances[i], d)  # own neighbours that are nearer
                for w in range(n_words):
                    same = ~(low[own, w] ^ other_low[y, w])
                    same_quarter = same & ~(high[own, w] ^ other_high[y, w])
                    for lane, block in ((w, same), (n_words + w, same_quarter)):
                        for a in range(len(ks)):
                            inside = below[a, rank, lane] & block
                            if inside != _NONE:
                                if balls[a]:
                                    holds[a, i, lane] |= inside
                                    held[a, y, lane] |= inside
                                if counted[a]:
                                    n_planes[a] = max(n_planes[a], _count(planes[a], lane, inside))
                        for c in range(len(covers)):
                            inside = below[covers[c, 0], rank, lane] & block
                            if inside != _NONE:
                                for j in range(covers[c, 1], 0, -1):
                                    cover_counts[c, j, lane] |= (
                                        cover_counts[c, j - 1, lane] & inside
                                    )
        for c in range(len(covers)):
            cover[c, i] = cover_counts[c, covers[c, 1]]
        for a in range(len(ks)):
            if counted[a]:
                _add_counts(planes[a], n_planes[a], own, low, high, totals[a])
