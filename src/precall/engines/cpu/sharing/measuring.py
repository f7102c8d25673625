"""Lists on a grid that is too coarse for them: everybody on them is measured once, run by run.

With many features the grid leaves dozens of rows in doubt around every neighbour and every ball,
and each question would measure its own, here and there in memory. Instead all that are listed are
measured while they are in the cache, and from then on lists have direct codes (``rulers``), which
leave next to nobody in doubt.
"""

from precall.engines.cpu.candidates import UNKNOWN
from precall.engines.cpu.pairs import fast_squared
from precall.engines.cpu.rulers import largest_code_below, least_distance
from precall.engines.cpu.tiling.bits import code_of
from precall.engines.cpu.tiling.tiles import ALL
from precall.runtime.compiling import njit


@njit(cache=True, nogil=True, allocates=False)
def measure_listed(lists, start, stop, run, n_listed, own, others, at):
    """Give direct codes to all that some rows list; lists must be sorted by column.

    Parameters
    ----------
    start, stop
        Whose lists.
    run
        Columns that stay in the cache, of all ``n_listed``, one run after the other.
    own, others
        :class:`Queries` of the class of the rows, and of the class of those listed.
    at
        (stop - start,) to work in.
    """
    codes, cols, sizes = lists.codes, lists.cols, lists.sizes
    at[:] = 0
    for first in range(0, n_listed, run):
        for i in range(start, stop):
            t, row = at[i - start], own.base[own.rows[i]]
            while t < sizes[i] and cols[i, t] < first + run:
                codes[i, t] = code_of(fast_squared(row, others.base[others.rows[cols[i, t]]]))
                t += 1
            at[i - start] = t


@njit(cache=True, nogil=True, allocates=False)
def narrow_limits(lists, start, stop, grid, direct):
    """Find direct codes up to which every pair is listed, by the limits on the grid.

    Parameters
    ----------
    grid, direct
        The rulers before and after.
    """
    for i in range(start, stop):
        limit = lists.limits[i]
        if lists.sizes[i] != UNKNOWN and limit < ALL:
            least = least_distance(limit + 1, lists.error[i], grid)
            lists.limits[i] = largest_code_below(least * least, direct)
        lists.error[i] = 0.0
