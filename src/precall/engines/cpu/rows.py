"""The rows of a class as the kernels want them: packed on the grid, with what their balls are."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.splits import FitEval
from precall.engines.cpu.counts import Thresholds
from precall.engines.cpu.grid import GridRows
from precall.engines.cpu.kernel_choice import Kernel
from precall.engines.cpu.pairs import Queries, References
from precall.engines.cpu.relations import Places
from precall.engines.cpu.tiles import MIN_LIMIT, PAD_NORM, pack, pad

__all__ = ["FitRows", "PackedRows", "bases", "stored_rows"]

Floats = NDArray[np.float64]


def stored_rows(rows: Rows) -> NDArray[np.intp]:
    """Where each row of a selection is stored."""
    return np.arange(len(rows)) if rows.selection is None else rows.selection


def bases(*sides: FitEval) -> list[NDArray[Any]]:
    """The arrays that hold each class, of one type, so that one compiled kernel serves all."""
    dtype = np.result_type(*(side.fit.array.dtype for side in sides))
    found = []
    for side in sides:
        base = np.ascontiguousarray(side.fit.array, dtype=dtype).view(np.ndarray).view()
        base.flags.writeable = False
        found.append(base)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Rows on the grid, ready for the tile kernels."""

    base: NDArray[Any]  # (n_stored, d), read-only
    rows: NDArray[np.intp]  # (n,) the stored row of each
    panels: NDArray[np.int16]
    norm: NDArray[np.int32]  # (n_padded,) ‖q‖²
    error: Floats  # (n,) ρ in steps

    @classmethod
    def of(cls, base: NDArray[Any], rows: NDArray[np.intp], placed: GridRows, height: int) -> Self:
        """Pack some rows of a stored array."""
        norm = pad(placed.norm, height, PAD_NORM)
        return cls(base, rows, pack(placed.q, height), norm, placed.error)

    @property
    def queries(self) -> Queries:
        """As the kernels want them."""
        return Queries(self.base, self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class FitRows:
    """The references of one class: most on the grid, a few too far out for it."""

    packed: PackedRows
    places: NDArray[np.intp]  # (n_near,) of the packed ones in the fit set
    far_places: NDArray[np.intp]  # (n_far,)
    far_rows: NDArray[np.intp]  # (n_far,) as stored
    never: NDArray[np.int32]  # (n_padded,) limits that no pair meets

    @classmethod
    def of(cls, rows: Rows, placed: GridRows, base: NDArray[Any], kernel: Kernel) -> Self:
        """Pack all rows that are on the grid, in random order."""
        stored = stored_rows(rows)
        near, far = np.flatnonzero(~placed.is_far), np.flatnonzero(placed.is_far)
        near = np.random.default_rng(0).permutation(near)  # collect_nearest wants no order in them
        packed = PackedRows.of(base, stored[near], placed.select(near), kernel.cols)
        never = np.full_like(packed.norm, MIN_LIMIT)
        return cls(packed, near, far, stored[far], never)

    @property
    def largest_error(self) -> float:
        """Largest ρ of a packed row."""
        return float(self.packed.error.max(initial=0.0))

    @property
    def references(self) -> References:
        """As the kernels want them."""
        return References(self.packed.base, self.packed.rows, self.far_rows)

    def thresholds(self, of_query: Floats, own: list[Floats]) -> Thresholds:
        """Arrange the balls of queries (n_balls, n_queries) and those of all references."""
        n_fit = len(self.places) + len(self.far_places)
        of_fit = np.array(own, np.float64).reshape(len(own), n_fit)
        near, far = of_fit[:, self.places], of_fit[:, self.far_places]
        return Thresholds(np.ascontiguousarray(of_query), near.copy(), far.copy())

    def by_place(self, part: slice) -> Places:
        """Where these references and a part of the other class stand."""
        return Places(np.arange(part.start, part.stop), self.places, self.far_places)
