"""The executable definition of every neighbour statistic: float64, direct differences, one thread.

Two sweeps. The first finds how far balls reach, the second counts who is inside. Memory is
O(tile · n), never O(n · m).
"""

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from precall.engines.base import Progress
from precall.features import Rows
from precall.neighbors import Ball, Nearest, NeighborPlan, NeighborStatistics, Request
from precall.split import FitEval

__all__ = ["ReferenceEngine", "squared_distances"]

Floats = NDArray[np.float64]
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
        report = _Reporter(real, generated, plan, progress)
        references = (real.fit, generated.fit)
        radii = [self._own_radii(rows, plan.radius_ks, report) for rows in references]
        parts = []
        for is_real, queries in ((True, real.evaluated), (False, generated.evaluated)):
            for tile in queries.tiles(self.query_tile):
                tile = tile.astype(np.float64)
                reach = self._reach(tile, references, plan, report)
                labels = np.full(len(tile), is_real)
                over_classes = [
                    NeighborStatistics(
                        labels, self._count(tile, references, radii, c, plan, reach, report), reach
                    )
                    for c in (0, 1)
                ]
                parts.append(reduce(NeighborStatistics.merge, over_classes))
        return NeighborStatistics.concat(parts)

    def _nearest(self, queries: Floats, references: Rows, depth: int) -> Nearest:
        """Merge the nearest references over tiles of them."""
        nearest = Nearest.none(len(queries), depth)
        for tile in references.tiles(self.reference_tile):
            squared = squared_distances(queries, tile.astype(np.float64))
            nearest = nearest.merge(Nearest.among(squared, depth))
        return nearest

    def _own_radii(self, rows: Rows, ks: tuple[int, ...], report: "_Reporter") -> Radii:
        """Squared distance of every reference to its k-th neighbour in its class, less itself.

        A point is among its own class at distance 0, so that neighbour is the (k + 1)-th nearest.
        """
        if not ks:
            return {}
        found: list[list[Floats]] = []
        for tile in rows.tiles(self.query_tile):
            nearest = self._nearest(tile.astype(np.float64), rows, max(ks) + 1)
            found.append([nearest.kth(k + 1) for k in ks])
            report.advance(len(tile) * len(rows))
        return {
            k: np.concatenate(part) for k, part in zip(ks, zip(*found, strict=True), strict=True)
        }

    def _reach(
        self,
        queries: Floats,
        references: tuple[Rows, Rows],
        plan: NeighborPlan,
        report: "_Reporter",
    ) -> dict[Request, Floats]:
        """Squared radius around each query, for each ball that is centred on it: (q, 2)."""
        if not plan.reach_ks:
            return {}
        depth = max(plan.reach_ks)
        real, generated = (self._nearest(queries, rows, depth) for rows in references)
        union = real.merge(generated)
        report.advance(len(queries) * sum(map(len, references)))
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
        references: tuple[Rows, Rows],
        radii: list[Radii],
        c: int,
        plan: NeighborPlan,
        reach: dict[Request, Floats],
        report: "_Reporter",
    ) -> dict[Request, NDArray[np.int64]]:
        """Count the references of class ``c`` near each query; the other column stays 0."""
        counts = {request: np.zeros((len(queries), 2), np.int64) for request in plan.requests}
        if not counts:
            return counts
        mean_radius = {k: _mean_radius(squared) for k, squared in radii[c].items()}
        for start in range(0, len(references[c]), self.reference_tile):
            tile = references[c].tile(start, start + self.reference_tile).astype(np.float64)
            squared = squared_distances(queries, tile)
            for (ball, k), count in counts.items():
                if ball is Ball.REFERENCE:
                    inside = squared <= radii[c][k][start : start + len(tile)]
                elif ball is Ball.MEAN:
                    inside = np.sqrt(squared) <= mean_radius[k]
                else:
                    inside = squared <= reach[ball, k][:, c, None]
                count[:, c] += np.count_nonzero(inside, axis=1)
        report.advance(len(queries) * len(references[c]))
        return counts


def _mean_radius(squared_radii: Floats) -> float:
    """Mean of the radii, summed without rounding error so that no order of rows matters."""
    return math.fsum(np.sqrt(squared_radii)) / len(squared_radii)


class _Reporter:
    """Turns pairs of rows compared into calls of ``progress``."""

    def __init__(
        self, real: FitEval, generated: FitEval, plan: NeighborPlan, progress: Progress
    ) -> None:
        n_fit = len(real.fit) + len(generated.fit)
        n_eval = len(real.evaluated) + len(generated.evaluated)
        n_sweeps = 1 + bool(plan.reach_ks)
        self.total = n_sweeps * n_eval * n_fit
        if plan.radius_ks:
            self.total += len(real.fit) ** 2 + len(generated.fit) ** 2
        self.done = 0
        self.progress = progress

    def advance(self, n_pairs: int) -> None:
        self.done += n_pairs
        self.progress(self.done, self.total)
