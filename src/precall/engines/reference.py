"""The executable definition of every neighbour statistic: float64, direct differences, one thread.

Two sweeps. The first finds how far balls reach, the second counts who is inside. Memory is
O(tile · n), never O(n · m).
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from precall.engines.base import Meter, Progress, mean_radius
from precall.features import Rows
from precall.neighbors import Ball, Nearest, NeighborPlan, NeighborStatistics, Request
from precall.split import FitEval

__all__ = ["ReferenceEngine", "squared_distances"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Radii = dict[int, Floats]  # k -> (n_references,) squared radius of each reference's own ball

_QUERY_TILE = 64
_REFERENCE_TILE = 1024


def squared_distances(queries: Floats, references: Floats) -> Floats:
    """Canonical squared distances: squared differences added one by one in column order.

    One column at a time, so that every sum is taken in index order with one rounding an operation,
    whatever the tile, the machine or its vector width.

    Parameters
    ----------
    queries, references
        Shapes (q, d) and (r, d).

    Returns
    -------
    Shape (q, r).
    """
    total = np.zeros((len(queries), len(references)))
    difference = np.empty_like(total)
    for a, b in zip(
        np.ascontiguousarray(queries.T), np.ascontiguousarray(references.T), strict=True
    ):
        np.subtract.outer(a, b, out=difference)
        difference *= difference
        total += difference
    return total


class ReferenceEngine:
    """Short, slow and obviously right."""

    name = "reference"

    def __init__(
        self, query_tile: int = _QUERY_TILE, reference_tile: int = _REFERENCE_TILE
    ) -> None:
        self.query_tile = query_tile
        self.reference_tile = reference_tile

    def measure(
        self,
        real: FitEval,
        generated: FitEval,
        plan: NeighborPlan,
        *,
        threads: int | None,
        progress: Progress,
    ) -> NeighborStatistics:
        """See :meth:`precall.engines.Engine.measure`; ``threads`` is ignored."""
        meter = Meter(real, generated, plan, progress)
        references = (real.fit, generated.fit)
        radii = [self._own_radii(rows, plan.radius_ks, meter) for rows in references]
        parts = []
        for c, queries in enumerate((real.evaluated, generated.evaluated)):
            for start in range(0, len(queries), self.query_tile):
                tile = queries.tile(start, start + self.query_tile).astype(np.float64)
                labels = np.full(len(tile), c == 0)
                reach = self._reach(tile, references, plan, meter)
                own = {k: radii[c][k][start : start + len(tile)] for k in plan.cross_ks}
                over_classes = [
                    NeighborStatistics(
                        labels,
                        self._count(tile, references[other], radii[other], other, reach, plan),
                        reach,
                        self._cross(tile, references[other], radii[other], own, c != other),
                    )
                    for other in (0, 1)
                ]
                meter.advance(len(tile) * sum(map(len, references)) * bool(plan.requests))
                meter.advance(len(tile) * len(references[1]) * bool(plan.cross_ks) * (c == 0))
                parts.append(reduce(NeighborStatistics.merge, over_classes))
        return NeighborStatistics.concat(parts)

    def _nearest(self, queries: Floats, references: Rows, depth: int) -> Nearest:
        """Merge the nearest references over tiles of them."""
        nearest = Nearest.none(len(queries), depth)
        for tile in references.tiles(self.reference_tile):
            squared = squared_distances(queries, tile.astype(np.float64))
            nearest = nearest.merge(Nearest.among(squared, depth))
        return nearest

    def _own_radii(self, rows: Rows, ks: tuple[int, ...], meter: Meter) -> Radii:
        """Squared distance of every reference to its k-th neighbour in its class, less itself.

        A point is among its own class at distance 0, so that neighbour is the (k + 1)-th nearest.
        """
        if not ks:
            return {}
        found: list[list[Floats]] = []
        for tile in rows.tiles(self.query_tile):
            nearest = self._nearest(tile.astype(np.float64), rows, max(ks) + 1)
            found.append([nearest.kth(k + 1) for k in ks])
            meter.advance(len(tile) * len(rows))
        return {
            k: np.concatenate(part) for k, part in zip(ks, zip(*found, strict=True), strict=True)
        }

    def _reach(
        self,
        queries: Floats,
        references: tuple[Rows, Rows],
        plan: NeighborPlan,
        meter: Meter,
    ) -> dict[Request, Floats]:
        """Squared radius around each query, for each ball that is centred on it: (q, 2)."""
        if not plan.reach_ks:
            return {}
        depth = max(plan.reach_ks)
        real, generated = (self._nearest(queries, rows, depth) for rows in references)
        union = real.merge(generated)
        meter.advance(len(queries) * sum(map(len, references)))
        reach: dict[Request, Floats] = {}
        for ball, k in plan.requests:
            if ball is Ball.OPPOSITE:
                reach[ball, k] = np.stack([generated.kth(k), real.kth(k)], axis=1)
            elif ball is Ball.UNION:
                reach[ball, k] = np.stack([union.kth(k), union.kth(k)], axis=1)
        return reach

    def _count(
        self,
        queries: Floats,
        references: Rows,
        radii: Radii,
        c: int,
        reach: dict[Request, Floats],
        plan: NeighborPlan,
    ) -> dict[Request, Counts]:
        """Count the references of class ``c`` near each query; the other column stays 0."""
        counts = {request: np.zeros((len(queries), 2), np.int64) for request in plan.requests}
        if not counts:
            return counts
        mean = {k: mean_radius(radii[k]) for k in plan.ks(Ball.MEAN)}
        for start in range(0, len(references), self.reference_tile):
            tile = references.tile(start, start + self.reference_tile).astype(np.float64)
            squared = squared_distances(queries, tile)
            for (ball, k), count in counts.items():
                if ball is Ball.REFERENCE:
                    inside = squared <= radii[k][start : start + len(tile)]
                elif ball is Ball.MEAN:
                    inside = np.sqrt(squared) <= mean[k]
                else:
                    inside = squared <= reach[ball, k][:, c, None]
                count[:, c] += np.count_nonzero(inside, axis=1)
        return counts

    def _cross(
        self, queries: Floats, references: Rows, radii: Radii, own: Radii, is_other_class: bool
    ) -> dict[int, Counts]:
        """Count who holds the queries in their own balls, and whom the queries hold in theirs."""
        counts = {k: np.zeros((len(queries), 2), np.int64) for k in own}
        if not counts or not is_other_class:
            return counts
        for start in range(0, len(references), self.reference_tile):
            tile = references.tile(start, start + self.reference_tile).astype(np.float64)
            squared = squared_distances(queries, tile)
            for k, count in counts.items():
                holders = squared <= radii[k][start : start + len(tile)]
                held = squared <= own[k][:, None]
                count += np.stack([holders.sum(axis=1), held.sum(axis=1)], axis=1)
        return counts
