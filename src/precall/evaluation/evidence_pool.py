"""From folds to the evidence of every estimator, and on to its curve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from precall.curves.best import best_classifiers
from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.judged import Judged, Places
from precall.curves.pr_curve import PRCurve
from precall.data.feature_sets import FeatureSet
from precall.data.splits import Fold, Split
from precall.estimators import Estimator, NeighborEstimator, Task
from precall.evaluation.tuning import needs_tuning, tune
from precall.neighbors.statistics import NeighborPlan, NeighborStatistics
from precall.neighbors.sweeps import Ask, Sweeps

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Ratios = tuple[NDArray[np.float64], NDArray[np.float64]]  # p/q of real and of generated samples
Named = Mapping[str, Estimator]

_TRAINING = 100  # pairs that take as long to compare as one sample to learn from


@dataclass(slots=True, eq=False)
class EvidencePool:
    """The evidence for one curve, collected fold by fold."""

    sets: Sets
    parts: list[list[Evidence]] = field(default_factory=list)  # of each fold, of each repeat
    places: list[Places] = field(default_factory=list)  # of each fold: who is evaluated
    choices: list[str] = field(default_factory=list)  # of cross-validation, where it had one
    likelihood_ratios: Ratios = field(init=False)  # NaN where a sample was not evaluated

    def __post_init__(self) -> None:
        real, generated = (np.full(len(side), np.nan) for side in self.sets)
        self.likelihood_ratios = real, generated

    def add(self, asked: Estimator, settled: Estimator, fold: Fold, found: list[Evidence]) -> None:
        """Add the evidence of one fold."""
        self.parts.append(found)
        if settled is not asked:
            self.choices.append(f"k={settled.n_neighbors}")
        self.choices += [evidence.choice for evidence in found if evidence.choice]
        sides = (fold.real, fold.generated)
        sizes = [len(side.fit) for side in sides]
        ratio = np.median([settled.likelihood_ratio(e, *sizes) for e in found], axis=0)
        is_real, places = found[0].is_real, np.empty(len(found[0]), np.intp)
        for of_side, out, side, features in zip(
            (is_real, ~is_real), self.likelihood_ratios, sides, self.sets, strict=True
        ):
            places[of_side] = features.rows.places_of(side.evaluated.stored)
            out[places[of_side]] = ratio[of_side]
        self.places.append(places)

    @property
    def judged_ratios(self) -> Ratios:
        """p/q of the samples that were evaluated."""
        real, generated = (ratios[~np.isnan(ratios)] for ratios in self.likelihood_ratios)
        return real, generated

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of all folds, one a repeat: errors at equal γ add up."""
        return [Evidence.concat(folds) for folds in zip(*self.parts, strict=True)]

    def judged(self) -> list[list[Judged]]:
        """Fold by fold, of each repeat: the best classifiers and who measures them."""
        return [
            [Judged.best_of(evidence, places) for evidence in found]
            for found, places in zip(self.parts, self.places, strict=True)
        ]

    def curve(self, split: Split) -> PRCurve:
        """Return the curve, the mean over repeats, and over folds that are not to be pooled."""
        every = [evidence for found in self.parts for evidence in found]
        parts = every if split.repeats_halves else self.evidence
        curves = [PRCurve.of(ErrorRates.of(evidence)) for evidence in parts]
        return curves[0] if len(curves) == 1 else PRCurve.mean(curves)


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan:
    """Who weighs the samples of a fold."""

    fold: Fold
    estimators: Named  # with every k settled
    seed: int  # of all chance in this fold

    @property
    def ask(self) -> Ask:
        """What has to be found for it."""
        needs = (estimator.needs() for estimator in self.estimators.values())
        return Ask(self.fold, NeighborPlan().union(needs))


def plan_folds(sweeps: Sweeps, named: Named, sets: Sets, split: Split, seed: int) -> list[FoldPlan]:
    """Divide the samples, and settle fold by fold what is left to cross-validation.

    Parameters
    ----------
    named
        Estimators by the names of their curves.
    """
    plans = []
    for i, fold in enumerate(split.folds(*sets, seed) if named else ()):
        its_seed = int(np.random.SeedSequence((seed, i)).generate_state(1)[0])
        is_open = needs_tuning(list(named.values()))
        settled = tune(sweeps, named, fold, its_seed) if is_open else named
        plans.append(FoldPlan(fold, settled, its_seed))
    return plans


def pool_evidence(
    sweeps: Sweeps,
    named: Named,
    sets: Sets,
    plans: Sequence[FoldPlan],
    found: Sequence[NeighborStatistics],
) -> dict[str, EvidencePool]:
    """Weigh the samples of every fold by what was found in it; by curve."""
    pools = {name: EvidencePool(sets) for name in named}
    for plan, statistics in zip(plans, found, strict=False):
        for name, estimator in plan.estimators.items():
            evidence = []
            for repeat in range(estimator.n_repeats):
                task = Task(plan.fold, statistics, plan.seed, repeat, sweeps.session.threads)
                evidence.append(estimator.evidence(task))
                sweeps.progress.advance(_training_work(estimator, plan.fold))
            pools[name].add(named[name], estimator, plan.fold, evidence)
    return pools


def expected_work(estimators: Sequence[Estimator], folds: Sequence[Fold]) -> float:
    """Estimate the work of weighing folds, in pairs of samples to compare."""
    plan = NeighborPlan().union(estimator.needs() for estimator in map(_with_any_k, estimators))
    return sum(
        Ask(fold, plan).n_pairs + sum(e.n_repeats * _training_work(e, fold) for e in estimators)
        for fold in folds
    )


def _with_any_k(estimator: Estimator) -> Estimator:
    is_open = isinstance(estimator, NeighborEstimator) and estimator.n_neighbors is None
    return replace(estimator, k=1) if is_open else estimator  # type: ignore[type-var]


def _training_work(estimator: Estimator, fold: Fold) -> int:
    """Work that only begins when the neighbours are counted, of one repeat."""
    if isinstance(estimator, NeighborEstimator):
        return 0
    return _TRAINING * (len(fold.real.fit) + len(fold.generated.fit))


def best_of_all(pools: Mapping[str, EvidencePool], split: Split, seed: int) -> list[list[Judged]]:
    """Combine all estimators: split by split, the best classifiers and who measures them.

    Nothing without a split, where none of them is judged by unseen samples.
    """
    if not split.judges_unseen or not pools:
        return []
    every = list(pools.values())
    places = every[0].places
    if not split.repeats_halves:
        pooled = [evidence for pool in every for evidence in pool.evidence]
        parts = [best_classifiers(pooled, np.concatenate(places), seed)]
    else:
        folds = zip(*(pool.parts for pool in every), strict=True)
        candidates = [[evidence for found in fold for evidence in found] for fold in folds]
        parts = [best_classifiers(c, p, seed) for c, p in zip(candidates, places, strict=True)]
    return [part for part in parts if part]
