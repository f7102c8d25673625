"""What both sides are to each other, read off lists of acquaintances."""

import numpy as np

from precall.engines.cpu.candidates import UNKNOWN
from precall.engines.cpu.pairs import canonical_squared, fast_squared
from precall.engines.cpu.relations import compare, may_be_larger, narrow
from precall.engines.cpu.rulers import least_distance, widened
from precall.runtime.compiling import njit


@njit(cache=True, nogil=True)
def _meet(row, i, others, j, place, thresholds, ratios, ruler, best):
    """Measure a pair that may be the best of row ``i``."""
    stored = others.near[j]
    x, y = others.base[stored], row
    least = fast_squared(x, y) * (1.0 - 2.0 * ruler.relative) - 2.0 * ruler.absolute
    if least <= best.squared[i] or may_be_larger(least, ratios.weights, place, best.ratio, i):
        compare(best, i, canonical_squared(y, x), stored, thresholds, place, ratios)


@njit(cache=True, nogil=True)
def find_best(lists, rows, place, own, others, thresholds, ratios, ruler, best, is_open):
    """Find who is nearest to each row, and the largest ratios, among a listed group.

    Parameters
    ----------
    rows
        (n,) whose lists; negative where there is none.
    place
        (n_listed,) where a row stands in its group; negative for all others.
    own, others
        :class:`Queries` and :class:`References`: the rows themselves, and those listed.
    thresholds
        (n_balls, n_group) of the group.
    best
        Output: :class:`Side` of the rows.
    is_open
        Output, (n,): where somebody who is not listed may be better.
    """
    codes, cols = np.empty((2, lists.codes.shape[1]), np.int32)
    for r in range(len(rows)):
        i, n = rows[r], 0
        is_open[r] = i < 0 or lists.sizes[i] == UNKNOWN
        if is_open[r]:
            continue
        listed_codes, listed_cols, error = lists.codes[i], lists.cols[i], lists.error[i]
        for t in range(lists.sizes[i]):
            j = listed_cols[t]
            codes[n], cols[n] = listed_codes[t], j
            n += place[j] >= 0
        is_open[r] = n == 0
        if is_open[r]:
            continue
        row, reach = own.base[own.rows[r]], widened(codes[:n].min(), error, ruler)
        for t in range(n):
            if codes[t] <= reach:
                j = cols[t]
                _meet(row, r, others, j, place[j], thresholds, ratios, ruler, best)
        for t in range(n if best.ratio.shape[1] else 0):
            j, least = cols[t], least_distance(codes[t], error, ruler)
            if codes[t] > reach and may_be_larger(
                least * least, ratios.weights, place[j], best.ratio, r
            ):
                _meet(row, r, others, j, place[j], thresholds, ratios, ruler, best)
        narrow(best, r, ratios.largest, error, ruler)
        is_open[r] = best.limits[r] > lists.limits[i]
