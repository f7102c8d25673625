"""How far samples are from every value that references take, in the worst feature.

In many dimensions a gap of one feature is lost in a distance over all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.headline.outlyingness import FEWEST_OUTSIDE, Floats, Outlyingness
from precall.headline.views import View
from precall.runtime.threads import in_threads

Places = NDArray[np.intp]
Asked = tuple[NDArray[Any], bool]  # rows, and whether they are the fitted ones

_COLUMNS_AT_A_TIME = 32


def gap_test(view: View) -> Outlyingness:
    """How far a sample is from the nearest value of the other references in its worst feature.

    In units of what is large for the feature. Isolated references fill no gap.
    """
    references, queries, core = view.references.array, view.queries.array, view.core
    inside = references[core]
    asked = [(inside, True), (references[~core], False), (queries, False)]
    of_core, of_isolated, (of_queries, worst) = depths_in_gaps(inside, asked, view.threads)
    of_references = np.empty(len(references))
    of_references[core], of_references[~core] = of_core[0], of_isolated[0]
    low, high = inside.min(axis=0), inside.max(axis=0)

    def reason(i: int) -> str:
        j = worst[i]
        is_between = low[j] <= queries[i, j] <= high[j]
        return f"{'in a gap' if is_between else 'beyond the range'} of feature {j}"

    return Outlyingness("gap", of_references, of_queries, reason, names_feature=True)


def depths_in_gaps(
    rows: NDArray[Any], asked: Sequence[Asked], threads: int = 1
) -> list[tuple[Floats, Places]]:
    """How deep in a gap between the values of rows others are, and in which feature.

    Parameters
    ----------
    rows
        (n, d), four at least.
    asked
        Rows to judge; those that are the same are judged by the values of all others.

    Returns
    -------
    list of tuple
        Of each asked: the distance to the nearest value in the worst feature, in units of the
        third largest distance of the feature's other values, and the feature. Features whose values
        nearly all repeat have no unit, and a grid instead.
    """

    def ask(start: int) -> list[tuple[Floats, Places]]:
        stop = start + _COLUMNS_AT_A_TIME
        ordered = np.sort(np.ascontiguousarray(rows[:, start:stop].T, np.float64), axis=1)
        units = _units(ordered)
        return [_deepest(ordered, units, part[:, start:stop], own, start) for part, own in asked]

    found = in_threads(ask, range(0, rows.shape[1], _COLUMNS_AT_A_TIME), threads)
    deepest = []
    for of_blocks in zip(*found, strict=True):
        depths, places = (np.stack(each) for each in zip(*of_blocks, strict=True))
        block = depths.argmax(axis=0)[None]
        depth, place = (np.take_along_axis(each, block, axis=0)[0] for each in (depths, places))
        deepest.append((depth, place))
    return deepest


def _units(ordered: Floats) -> Floats:
    """Third and fourth largest distance of a value to the nearest other, (2, n_features)."""
    steps = np.diff(ordered, axis=1, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(steps[:, :-1], steps[:, 1:])
    ranks = [-1 - FEWEST_OUTSIDE, -2 - FEWEST_OUTSIDE]
    return np.asarray(np.partition(nearest, ranks, axis=1)[:, ranks].T)


def _deepest(
    ordered: Floats, units: Floats, rows: NDArray[Any], own: bool, start: int
) -> tuple[Floats, Places]:
    """The depth of each row in some features, and the number of the worst."""
    depth, worst = np.zeros(len(rows)), np.full(len(rows), start)
    ends = np.full(1, -np.inf), np.full(1, np.inf)
    for j in np.flatnonzero(units[1] > 0).tolist():
        values = np.concatenate([ends[0], ordered[j], ends[1]])
        column = rows[:, j].astype(np.float64)
        place = np.searchsorted(ordered[j], column)
        above = values[place + 2] if own else values[place + 1]
        distance = np.minimum(column - values[place], above - column)
        is_large = own & (distance >= units[0, j])  # one of the three: its own is not counted
        distance /= np.where(is_large, units[1, j], units[0, j])
        is_deeper = distance > depth
        depth[is_deeper], worst[is_deeper] = distance[is_deeper], start + j
    return depth, worst
