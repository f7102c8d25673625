"""All distances of a few samples, to measure any block of them without computing one again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.common_mean import centred
from precall.data.feature_sets import FeatureSet
from precall.engines import clipped_thresholds, soft_radius
from precall.neighbors.statistics import (
    CrossPlan,
    CrossStatistics,
    NearestOther,
    NeighborStatistics,
)
from precall.runtime.threads import in_threads, single_threaded_libraries

__all__ = ["DistanceTable"]

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

_ROWS_AT_A_TIME = 128
_ROUNDING = 1e-12  # of the squared norms: what is nearer is a duplicate
_LEAST_SQUARED = 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbors:
    """All others of a class around each of its samples, nearest first."""

    order: NDArray[np.int32]  # (n, n − 1)
    squared: NDArray[np.float32]  # (n, n − 1)

    def radii(self, members: Indices, ks: Sequence[int]) -> dict[int, Floats]:
        """Squared distance of each member to its k-th neighbour in the block."""
        from precall.neighbors.blocks.table_kernels import radii_in_block

        is_member = np.zeros(len(self.order), np.bool_)
        is_member[members] = True
        radii = np.empty((len(ks), len(members)))
        radii_in_block(self.order, self.squared, members, is_member, np.array(ks), radii)
        return dict(zip(ks, radii, strict=True))

    def count_clipped(self, members: Indices, thresholds: Floats) -> NDArray[np.int64]:
        """Count the balls of other members around each: (n_members, n_balls)."""
        from precall.neighbors.blocks.table_kernels import clipped_in_block

        places = np.full(len(self.order), -1)
        places[members] = np.arange(len(members))
        counts = np.zeros((len(members), len(thresholds)), np.int64)
        clipped_in_block(self.order, self.squared, members, places, thresholds, counts)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class DistanceTable:
    """Squared distances within and between two sets, in units of their own.

    From products in float64 around the common mean, and rounded to float32, so that distances that
    are tied stay so.
    """

    neighbors: tuple[_Neighbors, _Neighbors]  # of real, of generated
    between: NDArray[np.float32]  # (n, m)

    @classmethod
    def of(cls, sets: Sets, threads: int) -> Self:
        """Compute all of them: O(n² + m²) memory."""
        both = centred(sets, np.float64)
        rows = both[: len(sets[0])], both[len(sets[0]) :]
        norms = [np.einsum("ij,ij->i", side, side) for side in rows]

        def squared(c: int, part: slice, other: int) -> NDArray[np.float32]:
            sums = norms[c][part, None] + norms[other]
            found = sums - 2 * (rows[c][part] @ rows[other].T)
            return np.where(found > _ROUNDING * sums, found, 0.0).astype(np.float32)

        def sort(chunk: tuple[int, slice]) -> tuple[Any, Any]:
            c, part = chunk
            found = squared(c, part, c)
            own = np.arange(part.start, part.start + len(found))
            found[np.arange(len(found)), own] = -1.0  # the first of all: itself
            order = np.argsort(found, axis=1)[:, 1:]
            return order.astype(np.int32), np.take_along_axis(found, order, axis=1)

        with single_threaded_libraries():
            neighbors = []
            for c, side in enumerate(rows):
                parts = in_threads(sort, [(c, part) for part in _parts(len(side))], threads)
                neighbors.append(_Neighbors(*map(np.concatenate, zip(*parts, strict=True))))
            between = in_threads(lambda part: squared(0, part, 1), _parts(len(rows[0])), threads)
        return cls((neighbors[0], neighbors[1]), np.concatenate(between))

    def statistics(self, real: Indices, generated: Indices, plan: CrossPlan) -> NeighborStatistics:
        """Measure a block as an engine would; realism, of which there is no score, is left out."""
        blocks = real, generated
        ks = sorted(plan.ks | plan.soft_ks | plan.clipped_ks)
        radii = [of.radii(block, ks) for of, block in zip(self.neighbors, blocks, strict=True)]
        clipped_ks = sorted(plan.clipped_ks)
        balls = [[plan.tie_rule.thresholds(of[k]) for k in sorted(plan.ks)] for of in radii]
        clipped = [clipped_thresholds(radii[0][k]) for k in clipped_ks]
        related = self._relate(
            blocks,
            np.array([*balls[0], *clipped]),
            np.array([*balls[1], *(np.full(len(generated), -1.0) for _ in clipped)]),
        )
        counts, nearest, squared, holds = (
            np.concatenate(parts) for parts in zip(*related, strict=True)
        )
        n_own = len(plan.ks)
        among_real = self.neighbors[0].count_clipped(
            real, np.array(clipped).reshape(len(clipped), len(real))
        )
        around = np.concatenate([among_real, related[1].counts[:, n_own:, 0]])
        cross = CrossStatistics(
            squared_radii={k: np.concatenate([of[k] for of in radii]) for k in ks},
            counts={k: counts[:, i] for i, k in enumerate(sorted(plan.ks))},
            nearest=NearestOther(
                nearest, squared, {k: holds[:, i] for i, k in enumerate(sorted(plan.ks))}
            ),
            squared_realism={},
            soft=self._soft(blocks, radii, sorted(plan.soft_ks)),
            clipped={k: around[:, i] for i, k in enumerate(clipped_ks)},
        )
        is_real = np.arange(len(real) + len(generated)) < len(real)
        return NeighborStatistics(is_real, {}, {}, cross)

    def _relate(
        self, blocks: tuple[Indices, Indices], of_real: Floats, of_generated: Floats
    ) -> tuple[Any, Any]:
        from precall.neighbors.blocks.table_kernels import Related, relate_block

        by_real, by_generated = (
            Related(
                np.zeros((len(block), len(of_real), 2), np.int64),
                np.zeros(len(block), np.int64),
                np.full(len(block), np.inf),
                np.zeros((len(block), len(of_real)), np.bool_),
            )
            for block in blocks
        )
        relate_block(self.between, *blocks, of_real, of_generated, by_real, by_generated)
        return by_real, by_generated

    def _soft(
        self, blocks: tuple[Indices, Indices], radii: list[dict[int, Floats]], ks: list[int]
    ) -> dict[int, Floats]:
        """1 − ∏ min(1, d/R) over the other class, R of which comes from that class."""
        from precall.neighbors.blocks.table_kernels import miss_in_block

        if not ks:
            return {}
        squared = np.array([[soft_radius(radii[1 - c][k]) ** 2 for c in (0, 1)] for k in ks])
        missed = [np.empty((len(ks), len(block))) for block in blocks]
        miss_in_block(self.between, *blocks, 1.0 / np.maximum(squared, _LEAST_SQUARED), *missed)
        return dict(zip(ks, 1.0 - np.sqrt(np.concatenate(missed, axis=1)), strict=True))


def _parts(n: int) -> list[slice]:
    return [slice(start, start + _ROWS_AT_A_TIME) for start in range(0, n, _ROWS_AT_A_TIME)]
