"""How far each query is from its k-th nearest reference, by its candidates, on the CPU."""

import numpy as np

from precall.engines.cpu.candidates import UNKNOWN, kth_smallest, sort_together
from precall.engines.cpu.pairs import canonical_squared, fast_squared, is_beyond
from precall.engines.cpu.rulers import is_exact, largest_distance, narrowed, widened
from precall.runtime.compiling import njit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _kth_by_codes(query, classes, codes, cols, k, error, ruler, fast, doubtful):
    """Canonical k-th smallest squared distance of candidates.

    Only candidates that their codes cannot tell from the k-th are measured at all.
    """
    kth = kth_smallest(codes, k)
    below, highest = narrowed(kth, error, ruler), widened(kth, error, ruler)
    n_below, n = 0, 0
    for t in range(len(codes)):  # no branches: they would be guessed wrong
        doubtful[n] = cols[t]
        n += (below < codes[t]) & (codes[t] <= highest)
        n_below += codes[t] <= below
    if is_exact(kth, error, ruler):
        n, n_below = 1, k - 1  # all of them tie: any will do
    for t in range(n):
        label = doubtful[t] & 1
        stored = classes[label].near[doubtful[t] >> 1]
        doubtful[t] = 2 * stored + label
        fast[t] = fast_squared(query, classes[label].base[stored])
    return _exact_kth(query, classes, fast[:n], doubtful[:n], k - n_below, ruler)


@njit(cache=True, nogil=True)
def _reach(codes, k, error, ruler):
    """How far the k-th of some candidates is at most."""
    if len(codes) < k:
        return np.inf
    return largest_distance(kth_smallest(codes, k), error, ruler)


@njit(cache=True, nogil=True)
def _n_far_within(references, length, reach):
    """How many far references, of which the nearest come first, may be within reach."""
    n = 0
    while n < len(references.far) and not is_beyond(references.far_lengths[n], length, reach):
        n += 1
    return n


@njit(cache=True, nogil=True)
def _kth(query, length, classes, start, stop, codes, cols, k, error, ruler, fast, stored):
    """Squared distance to the k-th nearest of the classes between ``start`` and ``stop``."""
    reach, n_far = np.inf, 0
    for label in range(start, stop):
        n_far += len(classes[label].far)
    if n_far > 0:
        reach, n_far = _reach(codes, k, error, ruler), 0
        for label in range(start, stop):
            n_far += _n_far_within(classes[label], length, reach)
    if n_far == 0:
        return _kth_by_codes(query, classes, codes, cols, k, error, ruler, fast, stored)
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


@njit(cache=True, nogil=True)
def kth_distances(queries, classes, found, ks, ruler, out):
    """Canonical squared distances to the k-th nearest of class 0, of class 1 and of both.

    Parameters
    ----------
    classes, found
        Two of :class:`References`, and what was found among each.
    ks
        Which neighbours to tell.
    out
        Output, (n_queries, 3, n_ks); inf where there are fewer; NaN where the candidates are
        unknown. With a second axis of length 1 only class 0 is looked at.
    """
    n_classes = 1 if out.shape[1] == 1 else 2
    n_first = len(classes[0].near) + len(classes[0].far)
    n_both = n_first + len(classes[1].near) + len(classes[1].far)
    n_members = (n_first, n_both - n_first, n_both)
    capacity = found[0].codes.shape[1] + found[1].codes.shape[1]
    n_far = len(classes[0].far) + len(classes[1].far)
    fast, stored = np.empty(capacity + n_far), np.empty(capacity + n_far, dtype=np.int64)
    codes, cols = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
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
            n = 0
            for label in range(start, stop):
                size = found[label].sizes[i]
                codes[n : n + size] = found[label].codes[i, :size]
                cols[n : n + size] = found[label].cols[i, :size]
                n += size
            for t in range(len(ks)):
                if ks[t] <= n_members[which]:
                    out[i, which, t] = _kth(
                        query, length, classes, start, stop, codes[:n], cols[:n], ks[t], error,
                        ruler, fast, stored,
                    )  # fmt: skip
