"""Intervals for scores, from how much they differ between random blocks of the samples.

A bootstrap draws samples twice, and a sample is its own nearest neighbour at distance 0: scores
that count neighbours break. Taking blocks apart instead leaves every block a plain sample. Over
many random partitions, halves A and B of both sets give V₂ = mean (T_A − T_B)²/4 and quarters V₄,
the mean of their variance over 4. If a score were a mean over the samples both would estimate its
variance. What depends on pairs or more is inflated in smaller blocks, so that
V = max(V₂, 2V₂ − V₄) extrapolates to the whole.

One sweep tells most scores of all blocks. The rest are measured block by block, of at most 2 000
samples a class. Fréchet and kernel distances are made of single samples and pairs alone, so that
V₂ and V₄ tell the two apart: L + 2Q and L + 4Q, of which L + Q is left for the whole. Scores that
are folded at their bound, which they reach where P = Q, vary least in the samples where they are
highest: quarters are off the bound more often, so that V = max(V₄, 2V₂ − V₄).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.neighbors.blocks import (
    BlockPlan,
    BlockStatistics,
    RecomputedBlocks,
    measure_blocks,
    n_in_blocks,
)
from precall.scores.records import COVER_RATIO, Score, ScoreRequest

__all__ = [
    "BoundedReplicates",
    "Replicates",
    "is_told_by_one_sweep",
    "recomputed_replicates",
    "score_replicates",
]

Sets = tuple[FeatureSet, FeatureSet]  # real, generated

N_WORDS = 2  # of 64 partitions
_DEGREES_OF_FREEDOM = 64
_SHARE = 0.0, 1.0
_N_SUBSETS = 100  # of kernel_distance

Blocks = NDArray[np.float64]
Kind = Literal["any", "pairs", "folded"]


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """A score of every block of every partition."""

    halves: Blocks  # (n_partitions, 2)
    quarters: Blocks  # (n_partitions, 4)
    share: float = 1.0  # of the samples that were divided
    kind: Kind = "any"
    extra: float = 0.0  # variance that is not of the samples

    @property
    def variance(self) -> float:
        """Variance of the score of all samples."""
        return self.deviation * self.deviation

    @property
    def deviation(self) -> float:
        """Standard deviation of the score of all samples."""
        # In units of the largest score: a Fréchet distance of huge features has no finite square.
        unit = max(float(np.abs(self.halves).max()), float(np.abs(self.quarters).max())) or 1.0
        return unit * math.sqrt(self._variance_in(unit))

    def _variance_in(self, unit: float) -> float:
        halves, quarters = self.halves / unit, self.quarters / unit
        v2 = float(np.mean((halves[:, 0] - halves[:, 1]) ** 2) / 4)
        v4 = float(np.mean(np.var(quarters, axis=1, ddof=1)) / 4)
        if self.kind == "any":
            variance = self.share * max(v2, 2 * v2 - v4)
        elif self.kind == "folded":
            variance = self.share * max(v4, 2 * v2 - v4)
        else:
            singles, pairs = 2 * v2 - v4, (v4 - v2) / 2
            variance = max(self.share * singles + self.share**2 * pairs, self.share**2 * v2 / 2)
        return variance + self.extra / unit / unit

    def half_width(self, confidence: float) -> float:
        """Half of the width of an interval around the score."""
        from scipy.stats import t

        degrees = min(_DEGREES_OF_FREEDOM, len(self.halves))  # of V₂, if halves were independent
        return float(t.ppf((1 + confidence) / 2, degrees)) * self.deviation

    def interval(
        self, value: float, confidence: float, bounds: tuple[float, float]
    ) -> tuple[float, float]:
        """Return an interval around the score, within the bounds of what it can be."""
        half = self.half_width(confidence)
        return max(bounds[0], value - half), min(bounds[1], value + half)

    def minus(self, other: Self) -> Self:
        """Return the replicates of a difference, where the real samples are divided alike."""
        return replace(
            self,
            halves=self.halves - other.halves,
            quarters=self.quarters - other.quarters,
            share=max(self.share, other.share),
            extra=self.extra + other.extra,
        )


@dataclass(frozen=True, slots=True)
class _Blockwise:
    """How a score of blocks is read off, and what it needs."""

    value: Callable[[BlockStatistics, int, bool], Blocks]
    needs: Callable[[int], BlockPlan]
    bounds: tuple[float, float] = _SHARE


def _balls(k: int) -> BlockPlan:
    return BlockPlan(ks=frozenset({k}))


def _covers(k: int) -> BlockPlan:
    return BlockPlan(covers=frozenset({(COVER_RATIO * k, k)}))


def _f_score(b: BlockStatistics, k: int, quarters: bool) -> Blocks:
    precision = b.held("generated", k, quarters=quarters)
    recall = b.held("real", k, quarters=quarters)
    return np.asarray(2 * precision * recall / np.maximum(1e-5, precision + recall))


def _held(role: Any) -> Callable[[BlockStatistics, int, bool], Blocks]:
    return lambda b, k, quarters: b.held(role, k, quarters=quarters)


def _holds(role: Any) -> Callable[[BlockStatistics, int, bool], Blocks]:
    return lambda b, k, quarters: b.holds(role, k, quarters=quarters)


def _cover(role: Any) -> Callable[[BlockStatistics, int, bool], Blocks]:
    return lambda b, k, quarters: b.cover(role, COVER_RATIO * k, k, quarters=quarters)


def _smaller(role: Any) -> Callable[[BlockStatistics, int, bool], Blocks]:
    return lambda b, k, quarters: np.minimum(
        b.held(role, k, quarters=quarters), b.holds(role, k, quarters=quarters)
    )


_BLOCKWISE = {
    "precision": _Blockwise(_held("generated"), _balls),
    "recall": _Blockwise(_held("real"), _balls),
    "f_score": _Blockwise(_f_score, _balls),
    "density": _Blockwise(
        lambda b, k, quarters: b.density(k, quarters=quarters),
        lambda k: BlockPlan(densities=frozenset({k})),
        (0.0, np.inf),
    ),
    "coverage": _Blockwise(_holds("real"), _balls),
    "precision_coverage": _Blockwise(_holds("generated"), _balls),
    "symmetric_precision": _Blockwise(_smaller("generated"), _balls),
    "symmetric_recall": _Blockwise(_smaller("real"), _balls),
    "precision_cover": _Blockwise(_cover("generated"), _covers),
    "recall_cover": _Blockwise(_cover("real"), _covers),
}


_BOUNDS = {
    "alpha_precision": (-np.inf, 1.0),
    "beta_recall": (-np.inf, 1.0),
    "frechet_distance": (0.0, np.inf),
    "kernel_distance": (-np.inf, np.inf),
}
_KINDS: dict[str, Kind] = {
    "frechet_distance": "pairs",
    "kernel_distance": "pairs",
    "clipped_density": "folded",
    "clipped_coverage": "folded",
    "alpha_precision": "folded",
}


@dataclass(frozen=True, slots=True, eq=False)
class BoundedReplicates:
    """Replicates of a score, and what it can be."""

    replicates: Replicates
    bounds: tuple[float, float] = _SHARE

    def interval(self, value: float, confidence: float) -> tuple[float, float]:
        """Return an interval around the score."""
        return self.replicates.interval(value, confidence, self.bounds)


def score_replicates(
    sets: Sets, requests: Sequence[ScoreRequest], seed: int, threads: int
) -> dict[str, BoundedReplicates]:
    """Return the replicates of each score that one sweep tells of all blocks.

    There are none of a score whose k is too large for a quarter of the samples.
    """
    n, m = map(len, sets)
    fitting = {
        request.name: (_BLOCKWISE[request.defined_as], request.k)
        for request in requests
        if is_told_by_one_sweep(request) and request.k is not None
    }
    fitting = {name: (how, k) for name, (how, k) in fitting.items() if how.needs(k).fits(n, m)}
    if not fitting:
        return {}
    plan = BlockPlan.union([how.needs(k) for how, k in fitting.values()])
    blocks = measure_blocks(sets, plan, n_words=N_WORDS, seed=seed, threads=threads)
    return {
        name: BoundedReplicates(
            Replicates(how.value(blocks, k, False), how.value(blocks, k, True)), how.bounds
        )
        for name, (how, k) in fitting.items()
    }


def is_told_by_one_sweep(request: ScoreRequest) -> bool:
    """Whether a score of all blocks comes from one look at the distances."""
    return request.defined_as in _BLOCKWISE


def recomputed_replicates(
    sets: Sets,
    requests: Sequence[ScoreRequest],
    scores: Mapping[str, Score],
    measure: Callable[[Sequence[ScoreRequest]], Mapping[str, RecomputedBlocks]],
) -> dict[str, BoundedReplicates]:
    """Return the replicates of scores that are measured block by block.

    Parameters
    ----------
    scores
        Of all samples.
    measure
        Measures those of the requests that blocks have enough samples for.
    """
    smallest = min(n_in_blocks(len(side)) for side in sets) // 4
    fitting = [request for request in requests if request.n_needed < smallest]
    if not fitting:
        return {}
    blocks = measure(fitting)
    share = max(n_in_blocks(len(side)) / len(side) for side in sets)
    found = {}
    for request in fitting:
        of_blocks, kind = blocks[request.name], request.defined_as
        spread = scores[request.name].standard_deviation or 0.0
        replicates = Replicates(
            of_blocks.halves,
            of_blocks.quarters,
            share,
            _KINDS.get(kind, "any"),
            spread**2 / _N_SUBSETS,
        )
        found[request.name] = BoundedReplicates(replicates, _BOUNDS.get(kind, _SHARE))
    return found
