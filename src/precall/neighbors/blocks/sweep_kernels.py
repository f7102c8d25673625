"""What every sample is to the other class in each of 64 partitions at once, bit by bit.

Lane w < W of a word array is about halves, lane W + w about quarters, of the partitions in word w.
"""

from typing import Any, NamedTuple

import numpy as np

from precall.runtime.compiling import helper, njit

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_STRIDE = 64  # columns that are looked at together


class Wanted(NamedTuple):
    """What to find."""

    ks: Any  # (n_ks,) of the balls
    balls: Any  # (n_ks,) whether to find who holds whom
    counted: Any  # (n_ks,) whether to count the pairs
    filled: Any  # (n_ks,) whether to count at most k pairs of each ball
    covers: Any  # (n_covers, 2): which ball, and how many samples it has to hold


class FoundInBlocks(NamedTuple):
    """Output: what was found in every block."""

    holds: Any  # (n_ks, n_rows, lanes): whether the ball holds any sample of the other class
    held: Any  # (n_ks, m, lanes): whether any ball holds the sample; only ever added to
    cover: Any  # (n_covers, n_rows, lanes): whether the ball holds enough
    totals: Any  # (n_ks, lanes, 64, 4): pairs in balls, by block; only ever added to
    filled: Any  # (n_ks, lanes, 64, 4): the same, of each ball at most k; only ever added to


@helper(fastmath={"nnan", "nsz"})
def _least(dots, norms, start, stop):
    """The smallest distance to the columns between start and stop, in SIMD."""
    dots, norms = dots[start:stop], norms[start:stop]
    least = norms[0] - dots[0] - dots[0]
    for j in range(len(dots)):
        d = norms[j] - dots[j] - dots[j]
        least = d if d < least else least
    return least


@helper()
def _least_of_strides(dots, norms, least):
    for s in range(len(least)):
        least[s] = _least(dots, norms, s * _STRIDE, min((s + 1) * _STRIDE, len(norms)))


@helper()
def _flag(dots, norms, bound, flags):
    """Flag the columns within a distance, in SIMD."""
    for j in range(len(norms)):
        flags[j] = norms[j] - dots[j] - dots[j] <= bound


@helper()
def _within(dots, norms, bound, flags, found):
    """List the columns within a distance; how many. Flags are 8 to a word, padded with 0."""
    _flag(dots, norms, bound, flags)
    words, size = flags.view(np.uint64), 0
    for w in range(len(words)):
        if words[w]:
            for j in range(8 * w, 8 * w + 8):
                found[size] = j
                size += flags[j]
    return size


@helper()
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


@helper()
def _push(heap_d, heap_p, size, d, p):
    """Add to a heap of ``size`` whose root is the farthest."""
    at = size
    while at > 0 and heap_d[(at - 1) // 2] < d:
        heap_d[at], heap_p[at] = heap_d[(at - 1) // 2], heap_p[(at - 1) // 2]
        at = (at - 1) // 2
    heap_d[at], heap_p[at] = d, p


@helper()
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
    flags, found = np.zeros((n + 7) // 8 * 8, np.uint8), np.empty(n + 8, np.int64)
    for i in range(len(dots)):
        heap_d, heap_p, size = distances[i], places[i], np.int64(0)
        _least_of_strides(dots[i], norms, least)
        # As many strides as neighbours are wanted, and one for the row itself, have a column that
        # is at least as near as this: nothing farther needs to be looked at.
        bound = dots.dtype.type(np.inf)
        if len(least) > depth:
            bound = _kth_smallest(least, depth + 1, nearest_strides, no_places)
        for j in found[: _within(dots[i], norms, bound, flags, found)]:
            d = norms[j] - dots[i, j] - dots[i, j]
            if j == first + i or (size == depth and d >= heap_d[0]):
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


@helper()
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


@helper()
def _below(own, places, words, ks, at_least, below, last):
    """Find in which partitions a sample's balls reach past some neighbours.

    Parameters
    ----------
    places
        (depth,) its neighbours, nearest first.
    at_least
        Room for (max(ks) + 1,) words.
    below
        Output, (n_ks, depth + 1, lanes): bit s of below[a, t] says that in partition s fewer than
        ks[a] of the first t neighbours share the sample's block.
    last
        Output, (2, n_ks): the first t at which no bit is left, in halves and in quarters; depth if
        there is none.
    """
    (low, high), most = words, len(at_least) - 1
    n_words = low.shape[1]
    last[:] = 0
    for lane in range(2 * n_words):
        is_quarter, w = lane // n_words, lane % n_words
        at_least[:] = _NONE
        at_least[0] = _ALL
        below[:, :, lane] = _NONE
        below[:, 0, lane] = _ALL
        t, lowest = 0, 1
        while t < len(places) and at_least[most] != _ALL:
            same = ~(low[own, w] ^ low[places[t], w])
            if is_quarter:
                same &= ~(high[own, w] ^ high[places[t], w])
            t += 1
            for j in range(min(t, most), lowest - 1, -1):
                at_least[j] |= at_least[j - 1] & same
            while lowest < most and at_least[lowest] == _ALL:
                lowest += 1
            for a in range(len(ks)):
                below[a, t, lane] = ~at_least[ks[a]]
        for a in range(len(ks)):
            while last[is_quarter, a] < len(places) and below[a, last[is_quarter, a], lane]:
                last[is_quarter, a] += 1


@helper()
def _sort_by_rank(found, far, distances, unsorted, hits, ranks, at):
    """Sort columns by how many own neighbours are nearer.

    Parameters
    ----------
    found, far
        The columns, and how far they are.
    unsorted
        Room for a rank of each.
    hits, ranks
        Output, as many as were found or more.
    at
        Output, (depth + 1,): hits of rank r begin at at[r].
    """
    at[:] = 0
    for h in range(len(found)):
        unsorted[h] = _n_below(distances, far[h])
        at[unsorted[h] + 1] += 1
    for rank in range(1, len(at)):
        at[rank] += at[rank - 1]
    for h in range(len(found)):
        rank = unsorted[h]
        hits[at[rank]], ranks[at[rank]] = found[h], rank
        at[rank] += 1
    for rank in range(len(at) - 1, 0, -1):  # each had moved to where the next begins
        at[rank] = at[rank - 1]
    at[0] = 0


@helper()
def _hold(below, blocks, hits, ranks, n_hits, lane, held):
    """Mark the hits that a ball holds in some partitions; return where it holds any."""
    holds = _NONE
    for h in range(n_hits):
        inside = below[ranks[h], lane] & blocks[h, lane]
        holds |= inside
        held[hits[h], lane] |= inside
    return holds


@helper()
def _cover(below, blocks, ranks, n_hits, lane, counts):
    """Return where a ball holds as many hits as there are counts."""
    counts[:] = _NONE
    counts[0] = _ALL
    for h in range(n_hits):
        inside = below[ranks[h], lane] & blocks[h, lane]
        for j in range(len(counts) - 1, 0, -1):
            counts[j] |= counts[j - 1] & inside
    return counts[len(counts) - 1]


@helper()
def _count(below, blocks, ranks, n_hits, lane, planes, counts):
    """Count the hits that a ball holds in each of 64 partitions, in bit-sliced counters."""
    planes[:] = _NONE
    n_planes = 0
    for h in range(n_hits):
        p, carry = 0, below[ranks[h], lane] & blocks[h, lane]
        while carry != _NONE:
            carried = planes[p] & carry
            planes[p] ^= carry
            carry = carried
            p += 1
        n_planes = max(n_planes, p)
    counts[:] = 0
    for p in range(n_planes):
        for s in range(64):
            counts[s] += np.int64((planes[p] >> np.uint64(s)) & np.uint64(1)) << p


@helper()
def _add_counts(counts, low, high, totals):
    """Add to the totals of the blocks that a sample is in, whose bits are given."""
    for s in range(64):
        bit = np.uint64(s)
        block = ((low >> bit) & np.uint64(1)) + np.uint64(2) * ((high >> bit) & np.uint64(1))
        totals[s, block] += counts[s]


@helper()
def _same_blocks(own, own_words, hits, n_hits, other_words, blocks):
    """Where each hit is in the same half, and in the same quarter, as a sample."""
    (low, high), (other_low, other_high) = own_words, other_words
    n_words = low.shape[1]
    for h in range(n_hits):
        for w in range(n_words):
            same = ~(low[own, w] ^ other_low[hits[h], w])
            blocks[h, w] = same
            blocks[h, n_words + w] = same & ~(high[own, w] ^ other_high[hits[h], w])


@helper(allocates=True)
def _find_of_sample(i, lane, block, below, last, found, wanted, output, room):
    """Find of one sample and 64 partitions all that is wanted.

    Parameters
    ----------
    block
        The low and the high word of the blocks that it is in.
    last
        (n_ks,) from which rank on nobody is in its balls.
    """
    (planes, counts), (hits, ranks, at, blocks) = room, found
    for a in range(len(wanted.ks)):
        n_hits = at[last[a]]
        if wanted.balls[a]:
            held = output.held[a]
            output.holds[a, i, lane] = _hold(below[a], blocks, hits, ranks, n_hits, lane, held)
        if wanted.counted[a] or wanted.filled[a]:
            _count(below[a], blocks, ranks, n_hits, lane, planes, counts)
        if wanted.counted[a]:
            _add_counts(counts, block[0], block[1], output.totals[a, lane])
        if wanted.filled[a]:
            for s in range(64):
                counts[s] = min(counts[s], wanted.ks[a])
            _add_counts(counts, block[0], block[1], output.filled[a, lane])
    for c in range(len(wanted.covers)):
        a, n_needed = wanted.covers[c]
        reached = np.empty(n_needed + 1, dtype=np.uint64)
        output.cover[c, i, lane] = _cover(below[a], blocks, ranks, at[last[a]], lane, reached)


@helper()
def _largest(values):
    """The largest, or 0. NumPy's maximum would take Numba longer to compile."""
    largest = 0
    for t in range(len(values)):
        largest = max(largest, values[t])
    return largest


@helper(allocates=True)
def _to_relate(depth, most, n_words, ks):
    """Room to relate one sample after the other, with at most so many hits each."""
    below = np.empty((len(ks), depth + 1, 2 * n_words), dtype=np.uint64)
    at_least, last = np.empty(_largest(ks) + 1, np.uint64), np.empty((2, len(ks)), np.int64)
    hits, ranks = np.empty(most, np.int64), np.empty(most, np.int64)
    at, blocks = np.empty(depth + 1, np.int64), np.empty((most, 2 * n_words), np.uint64)
    unsorted = np.empty(most, np.int64)
    to_count = np.empty(64, dtype=np.uint64), np.empty(64, dtype=np.int64)
    return below, at_least, last, (hits, ranks, at, blocks), unsorted, to_count


@helper(allocates=True)
def _relate_sample(i, own, found, far, distances, own_words, other_words, wanted, output, room):
    """Find, of one sample whose ``below`` and ``last`` are in the room, all that is wanted."""
    (low, high), (below, _, last, sorted_hits, unsorted, to_count) = own_words, room
    hits, ranks, at, blocks = sorted_hits
    n_words = low.shape[1]
    _sort_by_rank(found, far, distances, unsorted, hits, ranks, at)
    _same_blocks(own, own_words, hits, at[len(distances)], other_words, blocks)
    for lane in range(2 * n_words):
        is_quarter, w = lane // n_words, lane % n_words
        block = low[own, w], high[own, w] if is_quarter else _NONE
        _find_of_sample(
            i, lane, block, below, last[is_quarter], sorted_hits, wanted, output, to_count
        )


@njit(cache=True, nogil=True)
def relate_blocks(dots, norms, first, places, distances, own_words, other_words, wanted, output):
    """Find, for every block of every partition, whose own ball holds whom of the other class.

    Parameters
    ----------
    dots, norms
        (n_rows, m) scalar products of some samples with the other class; its squared norms (m,).
    first
        Where the first of these samples stands in its class.
    places, distances
        (n_rows, depth), their nearest neighbours in their own class, as :func:`nearest_of_rows`.
    own_words, other_words
        (low, high) words of the partitions of both classes.
    output
        Output.
    """
    m = dots.shape[1]
    room = _to_relate(places.shape[1], m, own_words[0].shape[1], wanted.ks)
    below, at_least, last = room[0], room[1], room[2]
    flags, found = np.zeros((m + 7) // 8 * 8, np.uint8), np.empty(m + 8, np.int64)
    far = np.empty(m, dots.dtype)
    for i in range(len(dots)):
        own = first + i
        _below(own, places[i], own_words, wanted.ks, at_least, below, last)
        n_found = _within(
            dots[i],
            norms,
            distances[i, max(_largest(last[0]), _largest(last[1])) - 1],
            flags,
            found,
        )
        for h in range(n_found):
            far[h] = norms[found[h]] - dots[i, found[h]] - dots[i, found[h]]
        _relate_sample(
            i, own, found[:n_found], far[:n_found], distances[i],
            own_words, other_words, wanted, output, room,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def relate_listed(
    starts, columns, far, first, places, distances, own_words, other_words, wanted, output
):
    """Do as :func:`relate_blocks` with lists of who is within the farthest own neighbour.

    Parameters
    ----------
    starts
        (n_rows + 1,) where the list of each sample begins.
    columns, far
        Samples of the other class, and how far they are.
    """
    most = np.int64(1)
    for i in range(len(places)):
        most = max(most, starts[i + 1] - starts[i])
    room = _to_relate(places.shape[1], most, own_words[0].shape[1], wanted.ks)
    below, at_least, last = room[0], room[1], room[2]
    for i in range(len(places)):
        own, listed = first + i, slice(starts[i], starts[i + 1])
        _below(own, places[i], own_words, wanted.ks, at_least, below, last)
        _relate_sample(
            i, own, columns[listed], far[listed], distances[i],
            own_words, other_words, wanted, output, room,
        )  # fmt: skip
