"""All distances of a few samples, to measure any block of them without computing one again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.data.frames import Frame
from precall.engines.protocol import Session
from precall.neighbors.radii import clipped_thresholds, soft_radius
from precall.neighbors.statistics import (
    ROLES,
    CrossPlan,
    CrossStatistics,
    NearestOther,
    SideStatistics,
)
from precall.runtime.threads import in_threads, single_threaded_libraries

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
    def of(cls, session: Session, sets: Sets) -> Self:
        """Compute all of them: O(n² + m²) memory."""
        frame = Frame.around(sets)
        rows = [
            session.operand(side.rows, frame.center, np.float64, frame.exponent) for side in sets
        ]

        def squared(c: int, part: slice, other: int) -> NDArray[np.float32]:
            sums = rows[c].norms[part, None] + rows[other].norms
            found = sums - 2 * session.products(rows[c], part, rows[other])
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
                chunks = [(c, part) for part in _parts(len(side))]
                parts = in_threads(sort, chunks, session.threads)
                neighbors.append(_Neighbors(*map(np.concatenate, zip(*parts, strict=True))))
            every_row = _parts(len(rows[0]))
            between = in_threads(lambda part: squared(0, part, 1), every_row, session.threads)
        return cls((neighbors[0], neighbors[1]), np.concatenate(between))

    def statistics(self, real: Indices, generated: Indices, plan: CrossPlan) -> CrossStatistics:
        """Measure a block as an engine would; realism, of which there is no score, is left out."""
        blocks = real, generated
        radii = [
            of.radii(block, plan.radius_ks(role))
            for of, block, role in zip(self.neighbors, blocks, ROLES, strict=True)
        ]
        ks = [plan.counted_ks(role) for role in ROLES]
        balls = [[plan.tie_rule.thresholds(of[k]) for k in ks[c]] for c, of in enumerate(radii)]
        clipped = [clipped_thresholds(radii[0][k]) for k in sorted(plan.clipped)]
        related = self._relate(
            blocks,
            np.array([*balls[0], *clipped]).reshape(-1, len(real)),
            np.array(balls[1]).reshape(-1, len(generated)),
        )
        thresholds = np.array(clipped).reshape(len(clipped), len(real))
        among_real = self.neighbors[0].count_clipped(real, thresholds)
        around = among_real, related[1].in_others[:, len(ks[0]) :]
        log_missed = self._log_missed(blocks, radii, plan)
        sides = [
            SideStatistics(
                squared_radii=radii[c],
                holds={k: met.in_own[:, i] for i, k in enumerate(ks[c])},
                held_by={k: met.in_others[:, i] for i, k in enumerate(ks[1 - c])},
                nearest=NearestOther(
                    met.nearest,
                    met.squared,
                    {k: met.is_held[:, i] for i, k in enumerate(ks[1 - c])},
                ),
                squared_realism={},
                log_missed=log_missed[c],
                clipped={k: around[c][:, i] for i, k in enumerate(sorted(plan.clipped))},
            )
            for c, met in enumerate(related)
        ]
        return CrossStatistics(*sides)

    def _relate(
        self, blocks: tuple[Indices, Indices], of_real: Floats, of_generated: Floats
    ) -> tuple[Any, Any]:
        from precall.neighbors.blocks.table_kernels import Related, relate_block

        n_balls = len(of_real), len(of_generated)
        by_real, by_generated = (
            Related(
                np.zeros((len(block), n_balls[c]), np.int64),
                np.zeros((len(block), n_balls[1 - c]), np.int64),
                np.zeros(len(block), np.int64),
                np.full(len(block), np.inf),
                np.zeros((len(block), n_balls[1 - c]), np.bool_),
            )
            for c, block in enumerate(blocks)
        )
        relate_block(self.between, *blocks, of_real, of_generated, by_real, by_generated)
        return by_real, by_generated

    def _log_missed(
        self, blocks: tuple[Indices, Indices], radii: list[dict[int, Floats]], plan: CrossPlan
    ) -> list[dict[int, Floats]]:
        """Σ log min(1, d/R) over the other class, R of which comes from that class."""
        from precall.neighbors.blocks.table_kernels import miss_in_block

        ks = sorted({k for _, k in plan.soft})
        if not ks:
            return [{}, {}]
        squared = np.array(
            [
                [
                    soft_radius(radii[1 - c][k]) ** 2 if (ROLES[1 - c], k) in plan.soft else 1.0
                    for c in (0, 1)
                ]
                for k in ks
            ]
        )
        missed = [np.empty((len(ks), len(block))) for block in blocks]
        miss_in_block(self.between, *blocks, 1.0 / np.maximum(squared, _LEAST_SQUARED), *missed)
        with np.errstate(divide="ignore"):
            return [dict(zip(ks, np.log(of) / 2, strict=True)) for of in missed]


def _parts(n: int) -> list[slice]:
    return [slice(start, start + _ROWS_AT_A_TIME) for start in range(0, n, _ROWS_AT_A_TIME)]
