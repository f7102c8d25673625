"""Rows as the kernels want them: on the grid, packed, and with what their balls are."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.counts import Thresholds
from precall.engines.cpu.grid import GridRows
from precall.engines.cpu.kernel_choice import Kernel
from precall.engines.cpu.pairs import Queries, References
from precall.engines.cpu.tiles import MIN_LIMIT, PAD_NORM, pack, pad

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedSet:
    """A whole array of rows on the grid."""

    base: NDArray[Any]  # (n_stored, d) float32 or float64, read-only
    placed: GridRows


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Some rows of a set, ready for the tile kernels."""

    base: NDArray[Any]  # (n_stored, d), read-only
    rows: Places  # (n,) where each is stored
    panels: NDArray[np.int16]
    norm: NDArray[np.int32]  # (n_padded,) ‖q‖²
    error: Floats  # (n,) ρ in steps

    @classmethod
    def of(cls, placed_set: PlacedSet, rows: Places, height: int) -> Self:
        """Pack the rows that are stored in these places."""
        placed = placed_set.placed.select(rows)
        norm = pad(placed.norm, height, PAD_NORM)
        return cls(placed_set.base, rows, pack(placed.q, height), norm, placed.error)

    @property
    def queries(self) -> Queries:
        """As the kernels want them."""
        return Queries(self.base, self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class PackedReferences:
    """References of one question: most on the grid, a few too far out for it."""

    packed: PackedRows
    places: Places  # (n_near,) of the packed ones among the references
    far_places: Places  # (n_far,)
    far_rows: Places  # (n_far,) as stored
    never: NDArray[np.int32]  # (n_padded,) limits that no pair meets

    @classmethod
    def of(cls, placed_set: PlacedSet, stored: Places, kernel: Kernel) -> Self:
        """Pack all rows that are on the grid, in random order: ``collect_nearest`` wants none."""
        is_far = placed_set.placed.is_far[stored]
        near, far = np.flatnonzero(~is_far), np.flatnonzero(is_far)
        near = np.random.default_rng(0).permutation(near)
        packed = PackedRows.of(placed_set, stored[near], kernel.cols)
        return cls(packed, near, far, stored[far], np.full_like(packed.norm, MIN_LIMIT))

    def __len__(self) -> int:
        return len(self.places) + len(self.far_places)

    @property
    def largest_error(self) -> float:
        """Largest ρ of a packed row."""
        return float(self.packed.error.max(initial=0.0))

    @property
    def references(self) -> References:
        """As the kernels want them."""
        return References(self.packed.base, self.packed.rows, self.far_rows)

    def thresholds(self, of_queries: Floats, of_references: Floats) -> Thresholds:
        """Arrange the balls of queries (n_balls, n_queries) and those of all references."""
        near, far = of_references[:, self.places], of_references[:, self.far_places]
        return Thresholds(np.ascontiguousarray(of_queries), near.copy(), far.copy())
