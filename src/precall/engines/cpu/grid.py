"""Rows as short integers, with a proven bound on what that loses.

A row x is written as x = c + s(q + e): a common centre c, a common step s, integers q and a
remainder e whose length ρ = ‖e‖, in steps, is known. With Q = ‖q − q′‖², an exact integer, the
triangle inequality gives for the distance D of two rows

    s(√Q − ρ − ρ′)  ≤  D  ≤  s(√Q + ρ + ρ′),                                             (1)

so that one integer product decides nearly every comparison D ≤ R. What it leaves open is decided by
the canonical distance. The page docs/exactness.md derives the constants below.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.engines.cpu.grid_kernels import place_rows, row_lengths
from precall.engines.cpu.tiling.tiles import MAX_NORM

Floats = NDArray[np.float64]

_SMALLEST_STEP = 2.0**-480
_SAMPLE = 64  # rows of each set that the centre is taken from
_FAR = 4.0  # rows this many times farther out than most are not allowed to coarsen the grid
_FEW = 1 / 16  # so many of them may be left off
_MOST = 0.99
_EXACT_STEPS = 2.0**51  # float64 adds multiples of a power of two up to here without rounding
_VALUES_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class Slack:
    """How far a float64 squared distance F, summed in any order, is from the canonical one.

    |F − D̂²| ≤ relative·F + absolute.
    """

    relative: float
    absolute: float

    @classmethod
    def of(cls, n_features: int) -> Self:
        """Bound d + 2 roundings of non-negative terms on both sides, and their underflow."""
        return cls(4 * (n_features + 4) * 2.0**-53, (n_features + 4) * 2.0**-1070)


@dataclass(frozen=True, slots=True, eq=False)
class GridRows:
    """Some rows on a grid."""

    q: NDArray[np.int16]  # (n, d)
    norm: NDArray[np.int64]  # (n,) ‖q‖²
    error: Floats  # (n,) ρ in steps, rounded up
    is_far: NDArray[np.bool_]  # (n,) shrunk to fit: the error is large
    length: Floats  # (n,) distance to the centre

    def select(self, indices: NDArray[np.intp] | slice) -> Self:
        """Return some of the rows."""
        return type(self)(
            self.q[indices],
            self.norm[indices],
            self.error[indices],
            self.is_far[indices],
            self.length[indices],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The common centre and step of all rows that are compared."""

    center: Floats  # (d,)
    step: float
    slack: Slack

    @classmethod
    def around(cls, sets: list[Rows]) -> Self:
        """Choose a grid on which these rows lose little; no choice can change a result."""
        sample = np.concatenate([_sample(rows) for rows in sets])
        center = np.median(sample.astype(np.float64), axis=0)
        with np.errstate(over="ignore"):
            lengths = np.concatenate([_lengths(rows, center) for rows in sets])
        typical, longest = float(np.median(lengths)), float(lengths.max())
        reach = longest
        if longest > _FAR * typical:
            are_few = np.count_nonzero(lengths > _FAR * typical) <= _FEW * len(lengths)
            most = 0.0 if are_few else float(np.quantile(lengths, _MOST))
            reach = min(longest, max(_FAR * typical, most))
        d = sets[0].n_features
        step = max(reach / _longest_integer_row(d) * (1 + 1e-9), _SMALLEST_STEP)
        # Integers, pixels and the like lie on a grid already: then nothing is lost at all.
        whole = 2.0 ** math.ceil(math.log2(step))
        on_grid = cls(np.rint(center / whole) * whole, whole, Slack.of(d))
        if not on_grid.place(sample).error.any():
            return on_grid
        return cls(center, step, Slack.of(d))

    def place_all(self, rows: Rows) -> GridRows:
        """Write a whole set on the grid, a tile at a time."""
        n, d = len(rows), rows.n_features
        q, norm = np.empty((n, d), np.int16), np.empty(n, np.int64)
        error, is_far, length = np.empty(n), np.empty(n, np.bool_), np.empty(n)
        tile_rows = max(1, _VALUES_AT_ONCE // d)
        for start in range(0, n, tile_rows):
            part = slice(start, start + tile_rows)
            tile = _for_kernels(rows.tile(start, start + tile_rows))
            self._place(tile, q[part], norm[part], error[part], is_far[part], length[part])
        return GridRows(q, norm, error, is_far, length)

    def place(self, rows: NDArray[Any]) -> GridRows:
        """Write the rows of an array on the grid."""
        return self.place_all(Rows(rows))

    def _place(self, rows: NDArray[Any], *out: NDArray[Any]) -> None:
        is_power_of_two = math.frexp(self.step)[0] == 0.5
        few_steps = bool((np.abs(self.center) <= _EXACT_STEPS * self.step).all())
        whole_steps = bool((np.rint(self.center / self.step) * self.step == self.center).all())
        longest = _longest_integer_row(rows.shape[1])
        is_exact_step = is_power_of_two and few_steps and whole_steps
        place_rows(rows, self.center, self.step, longest, is_exact_step, *out)


def _longest_integer_row(n_features: int) -> float:
    """Length that still fits after every coordinate was rounded by up to one half."""
    return math.sqrt(MAX_NORM) - math.sqrt(n_features) / 2 - 1


def _sample(rows: Rows) -> NDArray[Any]:
    """A few rows, evenly spread over the set, of its type: the kernels are compiled for it."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.intp))
    if rows.selection is not None:
        chosen = rows.selection[chosen]
    return np.asarray(rows.array[chosen])


def _lengths(rows: Rows, center: Floats) -> Floats:
    tile_rows = max(1, _VALUES_AT_ONCE // rows.n_features)
    tiles = map(_for_kernels, rows.tiles(tile_rows))
    return np.concatenate([row_lengths(tile, center) for tile in tiles])


def _for_kernels(tile: NDArray[Any]) -> NDArray[Any]:
    """Contiguous and read-only, as mapped files are: kernels are compiled for one kind of array."""
    seen = np.ascontiguousarray(tile).view(np.ndarray)
    seen.flags.writeable = False
    return seen
