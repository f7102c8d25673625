"""How far each query is from its k-th nearest reference, by its candidates, on the CPU."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.candidates import UNKNOWN, Candidates, kth_smallest, sort_together
from precall.engines.cpu.pairs import (
    Queries,
    References,
    canonical_squared,
    fast_squared,
    is_beyond,
)
from precall.engines.cpu.rulers import Ruler, is_exact, largest_distance, narrowed, widened
from precall.runtime.compiling import helper, njit


@helper()
def _exact_kth(query, classes, fast, stored, k, ruler):
    """Canonical k-th smallest squared distance of candidates with the given fast distances.

    Only candidates whose fast distance cannot be told from the k-th are measured canonically.
    ``stored`` is twice a stored row, plus its class. Both arrays are sorted on the way.
    """
    sort_together(fast, stored)
    middle, relative, absolute = fast[k - 1], ruler.relative, ruler.absolute
    lowest = middle - (relative * middle + absolute)
    highest = middle + (relative * middle + absolute)
    low, high = k - 1, k
    while low > 0 and fast[low - 1] * (1 + relative) + absolute >= lowest:
        low -= 1
    while high < len(fast) and fast[high] * (1 - relative) - absolute <= highest:
        high += 1
    if middle == 0.0 and fast[high - 1] == 0.0:
        return 0.0  # copies: every term of every sum is 0
    for t in range(low, high):
        fast[t] = canonical_squared(query, classes[stored[t] & 1].base[stored[t] >> 1])
    sort_together(fast[low:high], stored[low:high])
    return fast[k - 1]


@helper()
def _set_apart(codes, cols, k, error, ruler, are_sorted, doubtful):
    """Set candidates apart that their codes cannot tell from the k-th.

    Returns how many these are, and how many others are surely nearer.
    """
    n_below, n = 0, 0
    kth = np.int64(codes[k - 1]) if are_sorted else kth_smallest(codes, k)
    below, highest = narrowed(kth, error, ruler), widened(kth, error, ruler)
    if are_sorted:
        n_below, stop = k - 1, k
        while n_below > 0 and codes[n_below - 1] > below:
            n_below -= 1
        while stop < len(codes) and codes[stop] <= highest:
            stop += 1
        for t in range(n_below, stop):
            doubtful[n] = cols[t]
            n += 1
    else:
        for t in range(len(codes)):  # no branches: they would be guessed wrong
            doubtful[n] = cols[t]
            n += (below < codes[t]) & (codes[t] <= highest)
            n_below += codes[t] <= below
    if is_exact(kth, error, ruler):
        return 1, k - 1  # all of them tie: any will do
    return n, n_below


@helper()
def _kth_by_codes(query, classes, codes, cols, k, error, ruler, are_sorted, fast, doubtful):
    """Canonical k-th smallest squared distance of candidates.

    Only candidates that their codes cannot tell from the k-th are measured at all.
    """
    n, n_below = _set_apart(codes, cols, k, error, ruler, are_sorted, doubtful)
    if n == 1:
        label = doubtful[0] & 1
        stored = classes[label].near[doubtful[0] >> 1]
        return canonical_squared(query, classes[label].base[stored])
    for t in range(n):
        label = doubtful[t] & 1
        stored = classes[label].near[doubtful[t] >> 1]
        doubtful[t] = 2 * stored + label
        fast[t] = fast_squared(query, classes[label].base[stored])
    return _exact_kth(query, classes, fast[:n], doubtful[:n], k - n_below, ruler)


@helper()
def _reach(codes, k, error, ruler):
    """How far the k-th of some candidates is at most."""
    if len(codes) < k:
        return np.inf
    return largest_distance(kth_smallest(codes, k), error, ruler)


@helper()
def _n_far_within(references, length, reach):
    """How many far references, of which the nearest come first, may be within reach."""
    n = 0
    while n < len(references.far) and not is_beyond(references.far_lengths[n], length, reach):
        n += 1
    return n


@helper()
def _kth(
    query, length, classes, start, stop, codes, cols, k, error, ruler, are_sorted, fast, stored
):
    """Squared distance to the k-th nearest of the classes between ``start`` and ``stop``."""
    reach, n_far = np.inf, 0
    for label in range(start, stop):
        n_far += len(classes[label].far)
    if n_far > 0:
        reach, n_far = _reach(codes, k, error, ruler), 0
        for label in range(start, stop):
            n_far += _n_far_within(classes[label], length, reach)
    if n_far == 0:
        return _kth_by_codes(query, classes, codes, cols, k, error, ruler, are_sorted, fast, stored)
    n = 0
    for t in range(len(codes)):
        label = cols[t] & 1
        row = classes[label].near[cols[t] >> 1]
        fast[n], stored[n] = fast_squared(query, classes[label].base[row]), 2 * row + label
        n += 1
    for label in range(start, stop):
        for t in range(_n_far_within(classes[label], length, reach)):
            row = classes[label].far[t]
            fast[n], stored[n] = fast_squared(query, classes[label].base[row]), 2 * row + label
            n += 1
    return _exact_kth(query, classes, fast[:n], stored[:n], k, ruler)


@helper()
def _gather(found, i, start, stop, codes, cols):
    """Copy the candidates of query ``i`` in some classes; how many there are."""
    n = 0
    for label in range(start, stop):
        size = found[label].sizes[i]
        listed_codes, listed_cols = found[label].codes[i], found[label].cols[i]
        for t in range(size):  # slices that are assigned take a second to compile
            codes[n + t], cols[n + t] = listed_codes[t], listed_cols[t]
        n += size
    return n


@helper()
def _merge(found, i, codes, cols):
    """Copy the sorted candidates of query ``i`` in both classes, sorted; how many there are."""
    first, second = found
    n, m, s, t = first.sizes[i], second.sizes[i], 0, 0
    first_codes, second_codes = first.codes[i], second.codes[i]
    first_cols, second_cols = first.cols[i], second.cols[i]
    while s < n and t < m:  # no branches: they would be guessed wrong
        is_first = first_codes[s] <= second_codes[t]
        codes[s + t] = first_codes[s] if is_first else second_codes[t]
        cols[s + t] = first_cols[s] if is_first else second_cols[t]
        s, t = s + is_first, t + (1 - is_first)
    for rest in range(s, n):
        codes[rest + t], cols[rest + t] = first_codes[rest], first_cols[rest]
    for rest in range(t, m):
        codes[n + rest], cols[n + rest] = second_codes[rest], second_cols[rest]
    return n + m


def kth_distances(
    queries: Queries,
    classes: tuple[References, References],
    found: tuple[Candidates, Candidates],
    ks: Sequence[int],
    ruler: Ruler,
    are_sorted: bool,
    out: NDArray[np.float64],
) -> None:
    """Canonical squared distances to the k-th nearest of class 0, of class 1 and of both.

    Parameters
    ----------
    classes, found
        Two of :class:`References`, and what was found among each.
    ks
        Which neighbours to tell.
    are_sorted
        Whether candidates are sorted by their codes.
    out
        Output, (n_queries, 3, n_ks); inf where there are fewer; NaN where the candidates are
        unknown. With a second axis of length 1 only class 0 is looked at.
    """
    capacity, n_far = sum(of.codes.shape[1] for of in found), sum(len(of.far) for of in classes)
    codes, cols = np.empty((2, capacity), np.int32)
    fast, stored = np.empty(capacity + n_far), np.empty(capacity + n_far, np.int64)
    room = codes, cols, fast, stored
    _kth_distances(queries, classes, found, np.array(ks), ruler, are_sorted, room, out)


@njit(cache=True, nogil=True, allocates=False)
def _kth_distances(queries, classes, found, ks, ruler, are_sorted, room, out):
    """The loop of :func:`kth_distances`, which works in ``room``: it counts no references."""
    codes, cols, fast, stored = room
    n_classes = 1 if out.shape[1] == 1 else 2
    n_first = len(classes[0].near) + len(classes[0].far)
    n_both = n_first + len(classes[1].near) + len(classes[1].far)
    n_members = (n_first, n_both - n_first, n_both)
    out[:] = np.inf
    for i in range(len(queries.rows)):
        is_known = True
        for label in range(n_classes):
            is_known &= found[label].sizes[i] != UNKNOWN
        if not is_known:
            out[i] = np.nan
            continue
        query, length = queries.base[queries.rows[i]], queries.lengths[i]
        error = max(found[0].error[i], found[1].error[i])
        for which in range(out.shape[1]):
            start, stop = (0, 2) if which == 2 else (which, which + 1)
            if are_sorted and which == 2:
                n = _merge(found, i, codes, cols)
            else:
                n = _gather(found, i, start, stop, codes, cols)
            for t in range(len(ks)):
                if ks[t] <= n_members[which]:
                    out[i, which, t] = _kth(
                        query, length, classes, start, stop, codes[:n], cols[:n], ks[t], error,
                        ruler, are_sorted, fast, stored,
                    )  # fmt: skip
