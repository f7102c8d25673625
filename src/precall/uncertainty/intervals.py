"""Intervals for scores, from how much they differ between random blocks of the samples.

A bootstrap draws samples twice, and a sample is its own nearest neighbour at distance 0: scores
that count neighbours break. Taking blocks apart instead leaves every block a plain sample. Over
many random partitions, halves A and B of both sets give V₂ = mean (T_A − T_B)²/4 and quarters V₄,
the mean of their variance over 4. If a score were a mean over the samples both would estimate its
variance. What depends on pairs or more is inflated in smaller blocks, so that
V = max(V₂, 2V₂ − V₄) extrapolates to the whole.

One sweep tells most scores of all blocks. The rest are measured block by block, of at most 4 000
samples together. Fréchet and kernel distances are made of single samples and pairs alone, so that
V₂ and V₄ tell the two apart: L + 2Q and L + 4Q, of which L + Q is left for the whole. α-precision
turns back at 1, which it reaches where P = Q, and varies least in the samples where it is highest:
quarters are off the bound more often, so that V = max(V₄, 2V₂ − V₄). Clipped density and coverage
are cut off at 1: their blocks are taken as they are before, and the interval is carried through the
cut (see :meth:`Replicates.interval`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.splits import NoSplit
from precall.neighbors.blocks.one_sweep import fits_in_blocks, measure_blocks
from precall.neighbors.blocks.recomputed import Division, by_partition, n_in_blocks
from precall.neighbors.statistics import ROLES, CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps
from precall.runtime.threads import in_threads, single_threaded_libraries
from precall.scores.kernel_distance import N_SUBSETS
from precall.scores.metric import Metric, SamplePair
from precall.scores.requests import ScoreRequest
from precall.scores.score import Score

_DEGREES_OF_FREEDOM = 64
_BLOCKS_AT_A_TIME = 24
_SOFT_FLOOR = math.log(1e-6)  # an interval needs no more digits

Blocks = NDArray[np.float64]
Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)  # of means over a normal law


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """A score of every block of every partition; one that is folded, before it is."""

    metric: Metric
    halves: Blocks  # (n_partitions, 2)
    quarters: Blocks  # (n_partitions, 4)
    share: float = 1.0  # of the samples that were divided
    extra: float = 0.0  # variance that is not of the samples
    fold: Callable[[Floats], Floats] | None = None  # of a score that is folded: what folds it,
    before: float = math.nan  # and what it is before, of all samples

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
        if self.metric.variance == "single samples":
            variance = self.share * max(v2, 2 * v2 - v4)
        elif self.metric.variance == "folded":
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

    def interval(self, value: float, confidence: float) -> tuple[float, float]:
        """Return an interval around the score, within the bounds of what it can be.

        Where the score is folded: the expected score for every place that the number before may
        have in expectation, from one end of its interval to the other.
        """
        half, (low, high) = self.half_width(confidence), self.metric.bounds
        if self.fold is None:
            return max(low, value - half), min(high, value + half)
        ends = np.array([self.before - half, self.before + half])
        around = ends[:, None] + self.deviation * _NODES
        expected = self.fold(around) @ (_WEIGHTS / _WEIGHTS.sum())
        found = np.stack([self.fold(ends), expected])
        return max(low, float(found[:, 0].min())), min(high, float(found[:, 1].max()))

    def interval_of_difference(
        self, other: Self, values: tuple[float, float], confidence: float
    ) -> tuple[float, float]:
        """Return an interval around this score less another's, of the same real samples.

        Where the scores are folded, from the interval of each and how the two go together (Zou &
        Donner 2008).
        """
        difference = values[0] - values[1]
        if self.fold is None:
            half = self._minus(other).half_width(confidence)
            return difference - half, difference + half
        ours, theirs = (
            [abs(end - value) for end in of.interval(value, confidence)]
            for of, value in zip((self, other), values, strict=True)
        )
        shared = self._correlation(other)
        below, above = _of_both(ours[0], theirs[1], shared), _of_both(ours[1], theirs[0], shared)
        return difference - below, difference + above

    def _correlation(self, other: Self) -> float:
        """How far two scores go together, from the differences of halves."""
        ours, theirs = (of.halves[:, 0] - of.halves[:, 1] for of in (self, other))
        size = math.sqrt(float(ours @ ours) * float(theirs @ theirs))
        return float(ours @ theirs) / size if size else 0.0

    def _minus(self, other: Self) -> Self:
        """Return the replicates of a difference, where the real samples are divided alike."""
        return replace(
            self,
            halves=self.halves - other.halves,
            quarters=self.quarters - other.quarters,
            share=max(self.share, other.share),
            extra=self.extra + other.extra,
        )


def _of_both(ours: float, theirs: float, correlation: float) -> float:
    """How far a difference reaches, if two numbers reach so far."""
    return math.sqrt(max(0.0, ours**2 + theirs**2 - 2 * correlation * ours * theirs))


def replicate_scores(
    sweeps: Sweeps, pair: SamplePair, requests: Sequence[ScoreRequest], scores: Mapping[str, Score]
) -> dict[str, Replicates]:
    """Score random blocks of the samples.

    There are no replicates of a score whose k is too large for a quarter of the samples.

    Parameters
    ----------
    scores
        Of all samples.
    """
    in_one_sweep = [r for r in requests if r.metric.of_blocks == "one sweep"]
    others = [r for r in requests if r.metric.of_blocks != "one sweep"]
    found = _replicates_of_one_sweep(pair, in_one_sweep)
    found |= _recomputed_replicates(sweeps, pair, others, scores)
    sizes = len(pair.sets[0]), len(pair.sets[1])
    folded = {r.name: (r.fold(*sizes), r.before(pair)) for r in requests if r.metric.folded}
    return {
        name: replace(of, fold=folded[name][0], before=folded[name][1]) if name in folded else of
        for name, of in found.items()
    }


def _replicates_of_one_sweep(
    pair: SamplePair, requests: Sequence[ScoreRequest]
) -> dict[str, Replicates]:
    n, m = map(len, pair.sets)
    plans = {r.name: r.needs for r in requests}
    fitting = [r for r in requests if (p := plans[r.name]) and fits_in_blocks(p, n, m)]
    if not fitting:
        return {}
    plan = CrossPlan().union(p for r in fitting if (p := plans[r.name]))
    halves = measure_blocks(pair.session, pair.sets, plan, pair.seed)
    return {
        r.name: Replicates(r.metric, r.before(halves), r.before(halves.quarters)) for r in fitting
    }


def _recomputed_replicates(
    sweeps: Sweeps, pair: SamplePair, requests: Sequence[ScoreRequest], scores: Mapping[str, Score]
) -> dict[str, Replicates]:
    sizes = tuple(map(len, pair.sets))
    divided = n_in_blocks(*sizes)
    smallest = min(divided) // 4
    fitting = [r for r in requests if max(r.n_needed(role) for role in ROLES) < smallest]
    if not fitting:
        return {}
    division = Division.draw(pair.sets, pair.seed)
    at_once = {
        r.name: r.metric.of_blocks(pair.session, division.sets, division.blocks)
        for r in fitting
        if callable(r.metric.of_blocks)
    }
    found = dict(at_once)
    if one_by_one := [r for r in fitting if r.name not in at_once]:
        found |= _measured_one_by_one(sweeps, pair, one_by_one, division)
    share = max(few / size for few, size in zip(divided, sizes, strict=True))
    return {
        r.name: Replicates(r.metric, *by_partition(found[r.name]), share, _extra(scores[r.name]))
        for r in fitting
    }


def _measured_one_by_one(
    sweeps: Sweeps, pair: SamplePair, requests: Sequence[ScoreRequest], division: Division
) -> dict[str, Blocks]:
    """Measure every block as if it were all there is; some blocks at a time."""
    needs = [p for r in requests if (p := r.needs) is not None]
    rule = requests[0].convention.tie_rule(*(side.input_dtype for side in pair.sets))
    base = CrossPlan(tie_rule=rule, soft_floor=_SOFT_FLOOR)
    plan = NeighborPlan(cross=base.union(needs) if needs else None)
    alone, values = pair.session.alone(), []
    for start in range(0, len(division.blocks), _BLOCKS_AT_A_TIME):
        sets = [division.samples(b) for b in division.blocks[start : start + _BLOCKS_AT_A_TIME]]
        asked = [Ask(NoSplit().folds(*of_block, 0)[0], plan) for of_block in sets]
        found = sweeps.measure(asked, "measuring uncertainty")
        blocks = [
            SamplePair(statistics.cross, of_block, alone, pair.seed)
            for statistics, of_block in zip(found, sets, strict=True)
        ]
        with single_threaded_libraries():
            values += in_threads(
                lambda block: [float(r.before(block)) for r in requests],
                blocks,
                pair.session.threads,
            )
    return {r.name: np.array(of) for r, of in zip(requests, zip(*values, strict=True), strict=True)}


def _extra(score: Any) -> float:
    """Variance of a mean over random subsets."""
    return (score.standard_deviation or 0.0) ** 2 / N_SUBSETS
