"""Intervals for scores, from how much they differ between random blocks of the samples.

A bootstrap draws samples twice, and a sample is its own nearest neighbour at distance 0: scores
that count neighbours break. Taking blocks apart instead leaves every block a plain sample. Over
many random partitions, halves A and B of both sets give V₂ = mean (T_A − T_B)²/4 and quarters V₄,
the mean of their variance over 4. If a score were a mean over the samples both would estimate its
variance. What depends on pairs or more is inflated in smaller blocks, so that
V = max(V₂, 2V₂ − V₄) extrapolates to the whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.features import FeatureSet
from precall.resampling import BlockPlan, BlockStatistics, measure_blocks
from precall.scores import COVER_RATIO, ScoreRequest

__all__ = ["Replicates", "score_replicates"]

N_WORDS = 2  # of 64 partitions
_DEGREES_OF_FREEDOM = 80  # of V, roughly

Blocks = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """A score of every block of every partition."""

    halves: Blocks  # (n_partitions, 2)
    quarters: Blocks  # (n_partitions, 4)

    @property
    def variance(self) -> float:
        """Variance of the score of all samples."""
        v2 = float(np.mean((self.halves[:, 0] - self.halves[:, 1]) ** 2) / 4)
        v4 = float(np.mean(np.var(self.quarters, axis=1, ddof=1)) / 4)
        return max(v2, 2 * v2 - v4)

    def half_width(self, confidence: float) -> float:
        """Half of the width of an interval around the score."""
        from scipy.stats import t

        return float(t.ppf((1 + confidence) / 2, _DEGREES_OF_FREEDOM) * np.sqrt(self.variance))

    def interval(self, value: float, confidence: float, most: float) -> tuple[float, float]:
        """Return an interval around the score, between 0 and ``most``."""
        half = self.half_width(confidence)
        return max(0.0, value - half), min(most, value + half)

    def minus(self, other: Self) -> Self:
        """Return the replicates of a difference, where the real samples are divided alike."""
        return type(self)(self.halves - other.halves, self.quarters - other.quarters)


@dataclass(frozen=True, slots=True)
class _Blockwise:
    """How a score of blocks is read off, and what it needs."""

    value: Callable[[BlockStatistics, int, bool], Blocks]
    needs: Callable[[int], BlockPlan]
    most: float = 1.0


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
        np.inf,
    ),
    "coverage": _Blockwise(_holds("real"), _balls),
    "precision_coverage": _Blockwise(_holds("generated"), _balls),
    "symmetric_precision": _Blockwise(_smaller("generated"), _balls),
    "symmetric_recall": _Blockwise(_smaller("real"), _balls),
    "precision_cover": _Blockwise(_cover("generated"), _covers),
    "recall_cover": _Blockwise(_cover("real"), _covers),
}


def score_replicates(
    sets: tuple[FeatureSet, FeatureSet], requests: Sequence[ScoreRequest], seed: int, threads: int
) -> dict[str, tuple[Replicates, float]]:
    """Return the replicates of each score that has them, with the largest value it can have.

    Scores of other kinds have none, nor those whose k is too large for a quarter of the samples.
    """
    known = {
        request.name: (_BLOCKWISE[request.defined_as], request.k)
        for request in requests
        if request.defined_as in _BLOCKWISE and request.k is not None
    }
    n, m = map(len, sets)
    fitting = {name: (how, k) for name, (how, k) in known.items() if how.needs(k).fits(n, m)}
    if not fitting:
        return {}
    plan = BlockPlan.union([how.needs(k) for how, k in fitting.values()])
    blocks = measure_blocks(sets, plan, n_words=N_WORDS, seed=seed, threads=threads)
    return {
        name: (Replicates(how.value(blocks, k, False), how.value(blocks, k, True)), how.most)
        for name, (how, k) in fitting.items()
    }
