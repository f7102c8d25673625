"""The loops over lists of two groups of rows; what they are for is said in ``between``."""

import numpy as np

from precall.engines.cpu.candidates import UNKNOWN, kth_smallest, sort_together
from precall.engines.cpu.pairs import canonical_squared
from precall.engines.cpu.rulers import code_limits, widened
from precall.engines.cpu.tiling.tiles import ALL, NONE
from precall.runtime.compiling import helper, njit

_TOGETHER = 4


@njit(cache=True, nogil=True)
def limit_lists(found, within, ruler):
    """Turn distances up to which others are of interest into limits of codes."""
    for i in range(len(within)):
        limit = np.int64(ALL)
        if within[i] < np.inf:
            limit = code_limits(within[i], found.error[i], ruler)[1]
        found.limits[i] = limit
        found.tile[i] = limit if limit >= 0 else NONE


@helper()
def _four_canonical(x, rows, stored, squared):
    """Canonical squared distances to four rows at once: one addition need not wait for another."""
    a, b, c, d = rows[stored[0]], rows[stored[1]], rows[stored[2]], rows[stored[3]]
    of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        value = np.float64(x[j])
        to_a, to_b = value - np.float64(a[j]), value - np.float64(b[j])
        to_c, to_d = value - np.float64(c[j]), value - np.float64(d[j])
        of_a += to_a * to_a
        of_b += to_b * to_b
        of_c += to_c * to_c
        of_d += to_d * to_d
    squared[0], squared[1], squared[2], squared[3] = of_a, of_b, of_c, of_d


@helper()
def _measure(query, rows, stored, squared):
    """Canonical squared distances of a row to some others."""
    n = len(stored)
    for t in range(0, n - n % _TOGETHER, _TOGETHER):
        _four_canonical(query, rows, stored[t : t + _TOGETHER], squared[t : t + _TOGETHER])
    for t in range(n - n % _TOGETHER, n):
        squared[t] = canonical_squared(query, rows[stored[t]])


@njit(cache=True, nogil=True)
def nearest_within(queries, references, found, within, depth, ruler, out):
    """The ``depth`` smallest canonical squared distances of each query that are of interest.

    Parameters
    ----------
    found
        Every reference that may be among them.
    within
        (n_queries,) what is of interest.
    out
        Output, (n_queries, depth); NaN where the candidates are unknown.
    """
    capacity = found.codes.shape[1]
    squared, stored = np.empty(capacity), np.empty(capacity, np.int64)
    out[:] = np.inf
    for i in range(len(queries.rows)):
        size = found.sizes[i]
        if size == UNKNOWN:
            out[i] = np.nan
            continue
        codes, highest, n = found.codes[i, :size], np.int64(ALL), 0
        if size > depth:
            highest = widened(kth_smallest(codes, depth), found.error[i], ruler)
        for t in range(size):
            if codes[t] <= highest:
                stored[n] = references.near[found.cols[i, t] >> 1]
                n += 1
        _measure(queries.base[queries.rows[i]], references.base, stored[:n], squared[:n])
        sort_together(squared[:n], stored[:n])
        for t in range(min(n, depth)):
            if squared[t] <= within[i]:
                out[i, t] = squared[t]
