"""The executable definition of every neighbour statistic: float64, direct differences, one thread.

Two sweeps. The first finds how far balls reach, the second counts who is inside. Memory is
O(tile · n), never O(n · m).
"""

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.splits import FitEval
from precall.engines.protocol import Meter, Progress
from precall.neighbors.radii import (
    clipped_thresholds,
    is_realism_candidate,
    mean_radius,
    soft_radius,
)
from precall.neighbors.statistics import (
    Ball,
    CrossPlan,
    CrossStatistics,
    Nearest,
    NearestOther,
    NeighborPlan,
    NeighborStatistics,
    Request,
    concat_each,
)

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
                over_classes = [
                    NeighborStatistics(
                        labels,
                        self._count(tile, references[other], radii[other], other, reach, plan),
                        reach,
                    )
                    for other in (0, 1)
                ]
                meter.advance(len(tile) * sum(map(len, references)) * bool(plan.requests))
                parts.append(reduce(NeighborStatistics.merge, over_classes))
        found = NeighborStatistics.concat(parts)
        if plan.cross is None:
            return found
        cross = self._cross(references, radii, plan.cross, meter)
        return replace(found, cross=cross)

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
        self, classes: tuple[Rows, Rows], radii: list[Radii], plan: CrossPlan, meter: Meter
    ) -> CrossStatistics:
        """Find what each sample is to the other class."""
        tiles = [
            self._cross_tile(c, start, classes, radii, plan, meter)
            for c in (0, 1)
            for start in range(0, len(classes[c]), self.query_tile)
        ]
        counts, place, squared, holds, realism, soft, clipped = zip(*tiles, strict=True)
        nearest = NearestOther(np.concatenate(place), np.concatenate(squared), concat_each(holds))
        return CrossStatistics(
            concat_each([{k: of_class[k] for k in sorted(plan.radius_ks)} for of_class in radii]),
            concat_each(counts),
            nearest if plan.nearest else None,
            concat_each(realism),
            concat_each(soft),
            concat_each(clipped),
        )

    def _cross_tile(
        self,
        c: int,
        start: int,
        classes: tuple[Rows, Rows],
        radii: list[Radii],
        plan: CrossPlan,
        meter: Meter,
    ) -> tuple[Any, ...]:
        """Counts, nearest, realism, soft cover and clipped balls of a tile of class ``c``."""
        tile = classes[c].tile(start, start + self.query_tile).astype(np.float64)
        others, part = classes[1 - c], slice(start, start + len(tile))
        squared = self._to_all(tile, others)
        own = {k: plan.tie_rule.thresholds(radii[c][k][part]) for k in sorted(plan.ks)}
        of_others = {k: plan.tie_rule.thresholds(radii[1 - c][k]) for k in sorted(plan.ks)}
        held = {k: squared <= of_others[k] for k in of_others}
        holds = {k: squared <= own[k][:, None] for k in own}
        is_nearest = squared == squared.min(axis=1, keepdims=True)
        meter.advance(len(tile) * len(others) * ((c == 0) + bool(plan.soft_ks)))
        to_real = squared
        if c == 0 and plan.clipped_ks:
            to_real = self._to_all(tile, classes[0])
            meter.advance(len(tile) * len(classes[0]))
        return (
            {k: np.stack([held[k].sum(axis=1), holds[k].sum(axis=1)], axis=1) for k in held},
            is_nearest.argmax(axis=1),
            squared.min(axis=1),
            {k: (held[k] & is_nearest).any(axis=1) for k in held},
            {
                k: _squared_realism(squared + plan.realism_offset, radii[0][k])
                if c == 1
                else np.full(len(tile), np.nan)
                for k in sorted(plan.realism_ks)
            },
            {k: _soft(squared, soft_radius(radii[1 - c][k])) for k in sorted(plan.soft_ks)},
            {
                k: (to_real <= clipped_thresholds(radii[0][k])).sum(axis=1) - (c == 0)
                for k in sorted(plan.clipped_ks)
            },  # a real sample's own ball does not count
        )

    def _to_all(self, tile: Floats, references: Rows) -> Floats:
        parts = references.tiles(self.reference_tile)
        return np.concatenate([squared_distances(tile, p.astype(np.float64)) for p in parts], 1)


def _squared_realism(squared: Floats, squared_radii: Floats) -> Floats:
    """Largest ratio over the references, those with large radii left out."""
    kept = is_realism_candidate(squared_radii)
    squared, squared_radii = squared[:, kept], squared_radii[kept]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = squared_radii / squared
    both_zero = (squared == 0) & (squared_radii == 0)
    return np.asarray(np.where(both_zero, 1.0, ratios).max(axis=1))


def _soft(squared: Floats, radius: float) -> Floats:
    """1 − ∏ min(1, d/R), multiplied in the order of the references."""
    missed = np.ones(len(squared))
    for column in np.sqrt(squared).T:
        missed *= np.where(column < radius, column / radius if radius else 0.0, column > 0)
    return 1.0 - missed
