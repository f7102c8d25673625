"""The grid that a class lies on, feature by feature, where it lies on one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.headline.outlyingness import EPSILON, Flags, Floats, Outlyingness
from precall.headline.views import View

Levels = NDArray[np.int8]
Places = NDArray[np.intp]

_TOLERANCE = 0.01  # of a step
_GLANCE = 256  # rows that tell a feature without a grid
_UNKNOWN, _OFF = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class FeatureGrid:
    """The values that a feature takes: steps of a lattice, or else only those that were seen.

    A sample off the lattice is worse than one whose value is merely unknown: whether another value
    will ever come cannot be told from those that did.
    """

    feature: int
    values: Floats  # (n_values,) ascending
    counts: NDArray[np.intp]  # (n_values,) how often each was seen
    step: float | None  # None where there is no lattice, or too little to tell

    def off(self, column: Floats, seen_itself: Flags | None = None) -> Levels:
        """Return 2 off the lattice, 1 for a value that was not seen, 0 otherwise.

        A sample that ``seen_itself`` among the values does not vouch for its own.
        """
        if self.step is not None:
            is_off = _residual(column, self.values[0], self.step) > _allowed(column, self.step)
            return (_OFF * is_off).astype(np.int8)
        i = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        nearest = np.where(
            np.abs(self.values[i] - column) <= np.abs(self.values[i - 1] - column), i, i - 1
        )
        is_unknown = np.abs(self.values[nearest] - column) > 4 * _rounding(column)
        if seen_itself is not None:
            is_unknown |= seen_itself & (self.counts[nearest] < 2)
        return (_UNKNOWN * is_unknown).astype(np.int8)


def grids_of(rows: NDArray[Any]) -> list[FeatureGrid]:
    """Find the features of rows (n, d) whose values repeat, and the lattice of each.

    A feature has a grid if half of the samples share their value with another, and half of those
    off its most frequent value do. The lattice of few of these would be chance: s samples that
    could be anywhere on a lattice all lie on every second point with a chance of 2⁻ˢ, so that
    s ≥ log₂(d/ε) are asked for.
    """
    n, d = rows.shape
    glance = np.sort(rows[:: max(1, n // _GLANCE)], axis=0)
    found = []
    for j in np.flatnonzero((glance[1:] == glance[:-1]).any(axis=0)):
        values, counts = np.unique(rows[:, j].astype(np.float64), return_counts=True)
        n_off_mode = n - int(counts.max())
        n_shared = int(counts[counts > 1].sum())
        is_decided = n_off_mode >= math.log2(d / EPSILON)
        if 2 * n_shared < n or (is_decided and 2 * (n_shared - counts.max()) < n_off_mode):
            continue
        step = _step(values) if is_decided else None
        found.append(FeatureGrid(int(j), values, counts, step))
    return found


def off_grid(
    grids: Sequence[FeatureGrid], rows: NDArray[Any], seen_itself: Flags | None = None
) -> tuple[Floats, Places]:
    """How far off each row (n, d) is in its worst feature, and which feature that is."""
    level, worst = np.zeros(len(rows), np.int8), np.zeros(len(rows), np.intp)
    for grid in grids:
        off = grid.off(rows[:, grid.feature].astype(np.float64), seen_itself)
        is_worse = off > level
        level[is_worse], worst[is_worse] = off[is_worse], grid.feature
    return level.astype(np.float64), worst


def grid_test(view: View) -> Outlyingness | None:
    """Whether a sample lies on the grid of the other references; ``None`` if they have none.

    Isolated references do not decide on it.
    """
    references, queries = view.raw
    grids = grids_of(references[view.core])
    if not grids:
        return None
    of_references, _ = off_grid(grids, references, view.core)
    of_queries, worst = off_grid(grids, queries)
    return Outlyingness(
        "grid",
        of_references,
        of_queries,
        lambda i: f"off the grid of feature {worst[i]}",
        names_feature=True,
    )


def _step(values: Floats) -> float | None:
    """The step of the lattice that all values lie on, if there is one."""
    if len(values) < 2:
        return None
    span = float(values[-1] - values[0])
    step = span / round(span / float(np.diff(values).min()))
    is_lattice = (_residual(values, values[0], step) <= _allowed(values, step)).all()
    return step if is_lattice else None


def _residual(values: Floats, origin: float, step: float) -> Floats:
    """Distance to the lattice, in steps."""
    places = (values - origin) / step
    return np.asarray(np.abs(places - np.round(places)))


def _allowed(values: Floats, step: float) -> Floats:
    return np.asarray(_TOLERANCE + 2 * _rounding(values) / step)


def _rounding(values: Floats) -> Floats:
    """What is lost in float32."""
    largest = np.minimum(np.abs(values), np.finfo(np.float32).max / 2)
    return np.spacing(largest.astype(np.float32)).astype(np.float64)
