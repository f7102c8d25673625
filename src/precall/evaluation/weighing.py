"""From the samples of a fold to the evidence of every estimator, and on to its curve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import ErrorRates
from precall.curves.evidence import Evidence
from precall.curves.pr_curve import PRCurve
from precall.data.feature_sets import FeatureSet, Rows
from precall.data.splits import Fold
from precall.engines import Engine, Progress, n_threads
from precall.estimators import Estimator, NeighborEstimator, Task
from precall.evaluation.tuning import needs_tuning, tune
from precall.neighbors.statistics import NeighborPlan, NeighborStatistics

__all__ = ["Pool", "Weighed", "Weigher"]

Sets = tuple[FeatureSet, FeatureSet]  # real, generated


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What was found in one fold."""

    statistics: NeighborStatistics
    estimators: Mapping[str, Estimator]  # with every k settled
    evidence: Mapping[str, list[Evidence]]  # one a repeat


@dataclass(frozen=True, slots=True)
class Weigher:
    """By what means samples are weighed."""

    engine: Engine
    seed: int
    threads: int | None

    def n_parts(self, estimators: Sequence[Estimator]) -> int:
        """Parts of one fold that progress is reported in."""
        return needs_tuning(estimators) + 1 + sum(map(_n_slow_parts, estimators))

    def weigh(
        self,
        named: Mapping[str, Estimator],
        fold: Fold,
        number: int,
        plan: NeighborPlan,
        next_progress: Callable[[], Progress],
    ) -> Weighed:
        """Settle what is left to cross-validation, count all neighbours at once, weigh.

        Parameters
        ----------
        number
            Of the fold: what is left to chance differs from fold to fold.
        plan
            What else is to be counted.
        """
        seed = int(np.random.SeedSequence((self.seed, number)).generate_state(1)[0])
        if needs_tuning(list(named.values())):
            named = tune(named, fold, seed, self.engine, self.threads, next_progress())
        plan = plan.union(estimator.needs() for estimator in named.values())
        statistics = self._measure(fold, plan, next_progress())
        evidence: dict[str, list[Evidence]] = {name: [] for name in named}
        for name, estimator in named.items():
            for repeat in range(estimator.n_repeats):
                task = Task(fold, statistics, seed, repeat, n_threads(self.threads))
                evidence[name].append(estimator.evidence(task))
                if _n_slow_parts(estimator):
                    next_progress()(1, 1)
        return Weighed(statistics, named, evidence)

    def _measure(self, fold: Fold, plan: NeighborPlan, progress: Progress) -> NeighborStatistics:
        if plan == NeighborPlan():  # nobody asked about neighbours
            n, m = len(fold.real.evaluated), len(fold.generated.evaluated)
            return NeighborStatistics(np.repeat([True, False], [n, m]), {}, {})
        return self.engine.measure(
            fold.real, fold.generated, plan, threads=self.threads, progress=progress
        )


def _n_slow_parts(estimator: Estimator) -> int:
    """Parts of the work that only begin when the neighbours are counted."""
    return 0 if isinstance(estimator, NeighborEstimator) else estimator.n_repeats


@dataclass(slots=True, eq=False)
class Pool:
    """The evidence for one curve, collected fold by fold."""

    sets: Sets
    parts: list[list[Evidence]] = field(default_factory=list)  # of each fold, of each repeat
    choices: list[str] = field(default_factory=list)  # of cross-validation, where it had one
    _ratios: tuple[NDArray[np.float64], NDArray[np.float64]] = field(init=False)

    def __post_init__(self) -> None:
        real, generated = (np.full(len(side), np.nan) for side in self.sets)
        self._ratios = real, generated

    def add(self, asked: Estimator, settled: Estimator, fold: Fold, found: list[Evidence]) -> None:
        """Add the evidence of one fold."""
        self.parts.append(found)
        if settled is not asked:
            self.choices.append(f"k={settled.n_neighbors}")
        self.choices += [evidence.choice for evidence in found if evidence.choice]
        sides = (fold.real, fold.generated)
        sizes = [len(side.fit) for side in sides]
        ratio = np.median([settled.likelihood_ratio(e, *sizes) for e in found], axis=0)
        of_sides = ratio[found[0].is_real], ratio[~found[0].is_real]
        for out, side, features, values in zip(
            self._ratios, sides, self.sets, of_sides, strict=True
        ):
            out[_places(side.evaluated, features.rows)] = values

    @property
    def likelihood_ratios(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """p/q at each real and each generated sample; NaN where it was not evaluated."""
        return self._ratios

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of all folds, one a repeat: errors at equal γ add up."""
        return [Evidence.concat(folds) for folds in zip(*self.parts, strict=True)]

    def curve(self, *, pools_folds: bool) -> PRCurve:
        """Return the curve, the mean over repeats, and over folds that are not to be pooled."""
        parts = self.evidence if pools_folds else [e for found in self.parts for e in found]
        curves = [PRCurve.of(ErrorRates.of(evidence)) for evidence in parts]
        return curves[0] if len(curves) == 1 else PRCurve.mean(curves)


def _places(evaluated: Rows, rows: Rows) -> slice | NDArray[np.intp]:
    """Where some rows of a set stand in it."""
    if evaluated is rows or evaluated.selection is None:
        return slice(None)
    if rows.selection is None:
        return evaluated.selection
    return np.searchsorted(rows.selection, evaluated.selection)  # both are sorted
