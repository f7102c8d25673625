"""What both sides are to each other, read off lists of acquaintances."""

import numpy as np

from precall.engines.cpu.candidates import UNKNOWN
from precall.engines.cpu.pairs import canonical_squared, fast_squared
from precall.engines.cpu.relations import compare, may_be_larger, narrow
from precall.engines.cpu.rulers import least_distance, widened
from precall.engines.cpu.tiling.tiles import ALL
from precall.runtime.compiling import helper, njit


@helper()
def _meet(row, i, others, j, place, thresholds, ratios, ruler, best):
    """Measure a pair that may be the best of row ``i``."""
    stored = others.near[j]
    x, y = others.base[stored], row
    least = fast_squared(x, y) * (1.0 - 2.0 * ruler.relative) - 2.0 * ruler.absolute
    if least <= best.squared[i] or may_be_larger(least, ratios.weights, place, best.ratio, i):
        compare(best, i, canonical_squared(y, x), stored, thresholds, place, ratios)


@njit(cache=True, nogil=True, allocates=False)
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
    n_ratios = best.ratio.shape[1]
    for r in range(len(rows)):
        i, n = rows[r], 0
        is_open[r] = i < 0 or lists.sizes[i] == UNKNOWN
        if is_open[r]:
            continue
        listed_codes, listed_cols, error = lists.codes[i], lists.cols[i], lists.error[i]
        row, reach = own.base[own.rows[r]], np.int64(ALL)
        for t in range(lists.sizes[i]):  # the nearest first
            j, code = np.int64(listed_cols[t]), np.int64(listed_codes[t])
            at = np.int64(place[j])
            if at < 0:
                continue
            if n == 0:
                reach = widened(code, error, ruler)
            n += 1
            if code <= reach:
                _meet(row, r, others, j, at, thresholds, ratios, ruler, best)
                continue
            if n_ratios == 0:
                break
            least = least_distance(code, error, ruler)
            if may_be_larger(least * least, ratios.weights, at, best.ratio, r):
                _meet(row, r, others, j, at, thresholds, ratios, ruler, best)
        is_open[r] = n == 0
        if is_open[r]:
            continue
        narrow(best, r, ratios.largest, error, ruler)
        is_open[r] = best.limits[r] > lists.limits[i]
