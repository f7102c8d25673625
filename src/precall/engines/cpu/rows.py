"""Rows as the kernels want them: packed for tiles, and with what their balls are."""

from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.counts import Thresholds
from precall.engines.cpu.grid import GridRows
from precall.engines.cpu.kernel_choice import Kernel
from precall.engines.cpu.pairs import Queries, References
from precall.engines.cpu.tiling.tiles import NONE, pack_direct, pack_grid, pad

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedSet:
    """A whole array of rows on the grid."""

    base: NDArray[Any]  # (n_stored, d) float32 or float64, read-only
    placed: GridRows
    lock: Lock = field(default_factory=Lock)  # of those who pack it

    def largest_error(self, rows: Places) -> float:
        """Largest ρ of those of some rows that are on the grid."""
        is_near = ~self.placed.is_far[rows]
        return float(self.placed.error[rows[is_near]].max(initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Some rows of a set, ready for the tile kernels."""

    base: NDArray[Any]  # (n_stored, d), read-only
    rows: Places  # (n,) where each is stored
    panels: NDArray[np.int16]
    norm: NDArray[np.int32]  # (n_padded,) ‖q‖²; 0 in direct tiles
    error: Floats  # (n,) ρ in steps; 0 in direct tiles
    lengths: Floats  # (n,)
    is_direct: bool

    @classmethod
    def of(cls, placed_set: PlacedSet, rows: Places, height: int, *, is_direct: bool) -> Self:
        """Pack the rows that are stored in these places."""
        base, placed = placed_set.base, placed_set.placed
        length = placed.length[rows]
        if is_direct:
            panels, zeros = pack_direct(base, rows, height), np.zeros(len(rows))
            return cls(base, rows, panels, pad(zeros, height, 0), zeros, length, True)
        panels, norm = pack_grid(placed.q, rows, height), pad(placed.norm[rows], height, 0)
        return cls(base, rows, panels, norm, placed.error[rows], length, False)

    @property
    def queries(self) -> Queries:
        """As the kernels want them."""
        return Queries(self.base, self.rows, self.lengths)


@dataclass(frozen=True, slots=True, eq=False)
class PackedReferences:
    """References of one question: in tiles, but for a few that are too far out for a grid."""

    packed: PackedRows
    places: Places  # (n_near,) of the packed ones among the references
    far_places: Places  # (n_far,), nearest to the centre first; none in direct tiles
    far_rows: Places  # (n_far,) as stored
    far_lengths: Floats  # (n_far,)
    never: NDArray[np.int32]  # (n_padded,) limits that no pair meets

    @classmethod
    def of(cls, placed_set: PlacedSet, stored: Places, kernel: Kernel, *, is_direct: bool) -> Self:
        """Pack all rows, or those on the grid, in random order: ``collect_nearest`` wants none."""
        placed = placed_set.placed
        is_far = placed.is_far[stored] & (not is_direct)
        near, far = np.flatnonzero(~is_far), np.flatnonzero(is_far)
        near = np.random.default_rng(0).permutation(near)
        far = far[np.argsort(placed.length[stored[far]], kind="stable")]
        height = kernel.shape(is_direct=is_direct).cols
        packed = PackedRows.of(placed_set, stored[near], height, is_direct=is_direct)
        far_rows, never = stored[far], np.full_like(packed.norm, NONE)
        return cls(packed, near, far, far_rows, placed.length[far_rows], never)

    def __len__(self) -> int:
        return len(self.places) + len(self.far_places)

    @property
    def largest_error(self) -> float:
        """Largest ρ of a packed row."""
        return float(self.packed.error.max(initial=0.0))

    @property
    def references(self) -> References:
        """As the kernels want them."""
        return References(self.packed.base, self.packed.rows, self.far_rows, self.far_lengths)

    def thresholds(self, of_queries: Floats, of_references: Floats) -> Thresholds:
        """Arrange the balls of queries (n_balls, n_queries) and those of all references."""
        near, far = of_references[:, self.places], of_references[:, self.far_places]
        return Thresholds(np.ascontiguousarray(of_queries), near.copy(), far.copy())
