"""What every sample is to the other class in each of 128 partitions at once, bit by bit.

Four words, the *lanes*, go together: two about the halves of 128 partitions, two about their
quarters. All that is done to one is done to the four, so that they share a register.
"""

from typing import Any, NamedTuple

import numpy as np

from precall.runtime.compiling import helper, njit

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_STRIDE = 64  # columns that are looked at together
_N_WORDS, _LANES = 2, 4


class Wanted(NamedTuple):
    """What to find."""

    ks: Any  # (n_ks,) of the balls
    balls: Any  # (n_ks,) whether to find who holds whom
    counted: Any  # (n_ks,) whether to count the pairs
    filled: Any  # (n_ks,) whether to count at most k pairs of each ball
    covers: Any  # (n_covers,) which ball
    needed: Any  # (n_covers,) how many samples it has to hold


class FoundInBlocks(NamedTuple):
    """Output: what was found in every block."""

    holds: Any  # (n_rows, n_ks, lanes): whether the ball holds any sample of the other class
    held: Any  # (n_ks, m, lanes): whether any ball holds the sample; only ever added to
    cover: Any  # (n_rows, n_covers, lanes): whether the ball holds enough
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
    low, size = 0, len(values)
    while size > 1:  # no other branches: they would be guessed wrong
        half = size >> 1
        low += half * (values[low + half - 1] < bound)
        size -= half
    return low + (size == 1 and values[low] < bound)


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
def _four(words, i):
    """The lanes of a row."""
    return words[i, 0], words[i, 1], words[i, 2], words[i, 3]


@helper()
def _put(words, i, four):
    words[i, 0], words[i, 1], words[i, 2], words[i, 3] = four


@helper()
def _and(x, y):
    return x[0] & y[0], x[1] & y[1], x[2] & y[2], x[3] & y[3]


@helper()
def _or(x, y):
    return x[0] | y[0], x[1] | y[1], x[2] | y[2], x[3] | y[3]


@helper()
def _xor(x, y):
    return x[0] ^ y[0], x[1] ^ y[1], x[2] ^ y[2], x[3] ^ y[3]


@helper()
def _not(x):
    return ~x[0], ~x[1], ~x[2], ~x[3]


@helper()
def _is_any(x):
    return (x[0] | x[1] | x[2] | x[3]) != _NONE


@helper()
def _same_blocks(own_words, own, words, other):
    """Where two samples are in the same half, and in the same quarter."""
    (own_low, own_high), (low, high) = own_words, words
    first = ~(own_low[own, 0] ^ low[other, 0])
    second = ~(own_low[own, 1] ^ low[other, 1])
    of_first = first & ~(own_high[own, 0] ^ high[other, 0])
    of_second = second & ~(own_high[own, 1] ^ high[other, 1])
    return first, second, of_first, of_second


@helper()
def _below(own, places, words, ks, at_least, below, last):
    """Find in which partitions a sample's balls reach past some neighbours.

    Parameters
    ----------
    places
        (depth,) its neighbours, nearest first.
    at_least
        Room for (max(ks) + 1, lanes) words.
    below
        Output, (n_ks, depth + 1, lanes): bit s of below[a, t] says that in partition s fewer than
        ks[a] of the first t neighbours share the sample's block.
    last
        Output, (n_ks,): the first t at which no bit is left; depth if there is none.
    """
    most, t, lowest = len(at_least) - 1, np.int64(0), np.int64(1)
    at_least[:], at_least[0] = _NONE, _ALL
    below[:, 0] = _ALL
    last[:] = len(places)
    while t < len(places) and _is_any(_not(_four(at_least, most))):
        same = _same_blocks(words, own, words, places[t])
        t += 1
        for j in range(min(t, most), lowest - 1, -1):
            more = _and(_four(at_least, j - 1), same)
            _put(at_least, j, _or(_four(at_least, j), more))
        while lowest < most and not _is_any(_not(_four(at_least, lowest))):
            lowest += 1
        for a in range(len(ks)):
            left = _not(_four(at_least, ks[a]))
            _put(below[a], t, left)
            if not _is_any(left):
                last[a] = min(last[a], t)


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
def _hold(below, blocks, hits, ranks, n_hits, held):
    """Mark the hits that a ball holds in some partitions; return where it holds any."""
    holds = _NONE, _NONE, _NONE, _NONE
    for h in range(n_hits):
        inside = _and(_four(below, ranks[h]), _four(blocks, h))
        holds = _or(holds, inside)
        _put(held, hits[h], _or(_four(held, hits[h]), inside))
    return holds


@helper()
def _cover(below, blocks, ranks, n_hits, n_needed, counts):
    """Return where a ball holds as many hits as are needed."""
    counts[: n_needed + 1], counts[0] = _NONE, _ALL
    for h in range(n_hits):
        inside = _and(_four(below, ranks[h]), _four(blocks, h))
        for j in range(n_needed, 0, -1):
            _put(counts, j, _or(_four(counts, j), _and(_four(counts, j - 1), inside)))
    return _four(counts, n_needed)


@helper()
def _count(below, blocks, ranks, n_hits, planes):
    """Count the hits that a ball holds in each partition, in bit-sliced counters; how many."""
    planes[:] = _NONE
    n_planes = 0
    for h in range(n_hits):
        p, carry = np.int64(0), _and(_four(below, ranks[h]), _four(blocks, h))
        while _is_any(carry):
            plane = _four(planes, p)
            _put(planes, p, _xor(plane, carry))
            carry = _and(plane, carry)
            p += 1
        n_planes = max(n_planes, p)
    return n_planes


@helper()
def _read(planes, n_planes, lane, counts):
    """Read the counters of one lane."""
    counts[:] = 0
    for p in range(n_planes):
        for s in range(64):
            counts[s] += np.int64((planes[p, lane] >> np.uint64(s)) & np.uint64(1)) << p


@helper()
def _add_counts(counts, low, high, totals):
    """Add to the totals of the blocks that a sample is in, whose bits are given."""
    for s in range(64):
        bit = np.uint64(s)
        block = ((low >> bit) & np.uint64(1)) + np.uint64(2) * ((high >> bit) & np.uint64(1))
        totals[s, block] += counts[s]


@helper()
def _add_lanes(planes, n_planes, own, words, most, counts, totals):
    """Add counters to the totals of the blocks that a sample is in, each at most ``most``."""
    low, high = words
    for lane in range(_LANES):
        _read(planes, n_planes, lane, counts)
        for s in range(64):
            counts[s] = min(counts[s], most)
        w = lane % _N_WORDS
        upper = high[own, w] if lane >= _N_WORDS else _NONE
        _add_counts(counts, low[own, w], upper, totals[lane])


@helper()
def _largest(values):
    """The largest, or 0. NumPy's maximum would take Numba longer to compile."""
    largest = 0
    for t in range(len(values)):
        largest = max(largest, values[t])
    return largest


@helper(allocates=True)
def _to_relate(depth, most, wanted):
    """Room to relate one sample after the other, with at most so many hits each."""
    ks = wanted.ks
    below = np.empty((len(ks), depth + 1, _LANES), np.uint64)
    at_least, last = np.empty((_largest(ks) + 1, _LANES), np.uint64), np.empty(len(ks), np.int64)
    hits, ranks = np.empty(most, np.int64), np.empty(most, np.int64)
    at, blocks = np.empty(depth + 1, np.int64), np.empty((most, _LANES), np.uint64)
    unsorted = np.empty(most, np.int64)
    reached = np.empty((_largest(wanted.needed) + 1, _LANES), np.uint64)
    to_count = np.empty((64, _LANES), np.uint64), np.empty(64, np.int64), reached
    return below, at_least, last, (hits, ranks, at, blocks), unsorted, to_count


@helper()
def _relate_sample(i, own, found, far, distances, own_words, other_words, wanted, output, room):
    """Find, of one sample whose ``below`` and ``last`` are in the room, all that is wanted."""
    below, _, last, (hits, ranks, at, blocks), unsorted, (planes, counts, reached) = room
    _sort_by_rank(found, far, distances, unsorted, hits, ranks, at)
    for h in range(at[_largest(last)]):
        _put(blocks, h, _same_blocks(own_words, own, other_words, hits[h]))
    for a in range(len(wanted.ks)):
        n_hits = at[last[a]]
        if wanted.balls[a]:
            held = _hold(below[a], blocks, hits, ranks, n_hits, output.held[a])
            _put(output.holds[i], a, held)
        if wanted.counted[a] or wanted.filled[a]:
            n_planes, k = _count(below[a], blocks, ranks, n_hits, planes), wanted.ks[a]
            if wanted.counted[a]:
                _add_lanes(planes, n_planes, own, own_words, n_hits, counts, output.totals[a])
            if wanted.filled[a]:
                _add_lanes(planes, n_planes, own, own_words, k, counts, output.filled[a])
    for c in range(len(wanted.covers)):
        a, n_needed = wanted.covers[c], wanted.needed[c]
        covered = _cover(below[a], blocks, ranks, at[last[a]], n_needed, reached)
        _put(output.cover[i], c, covered)


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
    room = _to_relate(places.shape[1], m, wanted)
    below, at_least, last = room[0], room[1], room[2]
    flags, found = np.zeros((m + 7) // 8 * 8, np.uint8), np.empty(m + 8, np.int64)
    far = np.empty(m, dots.dtype)
    for i in range(len(dots)):
        own = first + i
        _below(own, places[i], own_words, wanted.ks, at_least, below, last)
        n_found = _within(dots[i], norms, distances[i, _largest(last) - 1], flags, found)
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
    room = _to_relate(places.shape[1], most, wanted)
    below, at_least, last = room[0], room[1], room[2]
    for i in range(len(places)):
        own, listed = first + i, slice(starts[i], starts[i + 1])
        _below(own, places[i], own_words, wanted.ks, at_least, below, last)
        _relate_sample(
            i, own, columns[listed], far[listed], distances[i],
            own_words, other_words, wanted, output, room,
        )  # fmt: skip
