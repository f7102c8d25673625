"""From folds to the evidence of every estimator, and on to its curve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from precall.curves.best import best_curve
from precall.curves.error_rates import ErrorRates
from precall.curves.evidence import Evidence
from precall.curves.pr_curve import PRCurve
from precall.data.feature_sets import FeatureSet
from precall.data.splits import Fold, Split
from precall.estimators import Estimator, NeighborEstimator, Task
from precall.evaluation.tuning import needs_tuning, tune
from precall.evaluation.workbench import Workbench
from precall.neighbors.plan import NeighborPlan
from precall.neighbors.statistics import CrossStatistics
from precall.neighbors.sweeps import Ask

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Ratios = tuple[NDArray[np.float64], NDArray[np.float64]]  # p/q of real and of generated samples
Named = Mapping[str, Estimator]

_TRAINING = 100  # pairs that take as long to compare as one sample to learn from


@dataclass(slots=True, eq=False)
class EvidencePool:
    """The evidence for one curve, collected fold by fold."""

    sets: Sets
    parts: list[list[Evidence]] = field(default_factory=list)  # of each fold, of each repeat
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
        of_sides = ratio[found[0].is_real], ratio[~found[0].is_real]
        for out, side, features, values in zip(
            self.likelihood_ratios, sides, self.sets, of_sides, strict=True
        ):
            out[features.rows.places_of(side.evaluated.stored)] = values

    @property
    def judged_ratios(self) -> Ratios:
        """p/q of the samples that were evaluated."""
        real, generated = (ratios[~np.isnan(ratios)] for ratios in self.likelihood_ratios)
        return real, generated

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of all folds, one a repeat: errors at equal γ add up."""
        return [Evidence.concat(folds) for folds in zip(*self.parts, strict=True)]

    def curve(self, split: Split) -> PRCurve:
        """Return the curve, the mean over repeats, and over folds that are not to be pooled."""
        every = [evidence for found in self.parts for evidence in found]
        parts = every if split.repeats_halves else self.evidence
        curves = [PRCurve.of(ErrorRates.of(evidence)) for evidence in parts]
        return curves[0] if len(curves) == 1 else PRCurve.mean(curves)


def gather_evidence(
    bench: Workbench, named: Named, sets: Sets, split: Split, seed: int, scored: Ask
) -> tuple[dict[str, EvidencePool], CrossStatistics | None]:
    """Weigh the samples of every fold, and find what scores need, in one go.

    Parameters
    ----------
    named
        Estimators by the names of their curves.
    scored
        What scores need of all samples.

    Returns
    -------
    The evidence by curve, and what was found for the scores.
    """
    folds = split.folds(*sets, seed) if named else ()
    seeds = [int(np.random.SeedSequence((seed, i)).generate_state(1)[0]) for i in range(len(folds))]
    settled = _settled(bench, named, folds, seeds)
    asked = [
        Ask(fold, NeighborPlan().union(estimator.needs() for estimator in of_fold.values()))
        for fold, of_fold in zip(folds, settled, strict=True)
    ]
    if asked and not split.judges_unseen:  # the fold is all samples: one look serves both
        asked = [Ask(asked[0].fold, asked[0].plan.union([scored.plan]))]
    elif scored.plan.cross is not None:
        asked.append(scored)
    found = bench.measure(asked, "comparing samples")
    pools = {name: EvidencePool(sets) for name in named}
    for fold, of_fold, statistics, its_seed in zip(folds, settled, found, seeds, strict=False):
        for name, estimator in of_fold.items():
            evidence = []
            for repeat in range(estimator.n_repeats):
                task = Task(fold, statistics, its_seed, repeat, bench.session.threads)
                evidence.append(estimator.evidence(task))
                bench.progress.advance(_training_work(estimator, fold))
            pools[name].add(named[name], estimator, fold, evidence)
    return pools, found[-1].cross if found else None


def _settled(
    bench: Workbench, named: Named, folds: Sequence[Fold], seeds: Sequence[int]
) -> list[Named]:
    """Settle what is left to cross-validation, fold by fold."""
    if not needs_tuning(list(named.values())):
        return [named] * len(folds)
    return [tune(bench, named, fold, seed) for fold, seed in zip(folds, seeds, strict=True)]


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


def best_of(pools: Mapping[str, EvidencePool], split: Split, seed: int) -> PRCurve | None:
    """Combine all estimators; without a split none of them is judged by unseen samples."""
    if not split.judges_unseen or not pools:
        return None
    every = list(pools.values())
    if not split.repeats_halves:
        return best_curve([evidence for pool in every for evidence in pool.evidence], seed)
    folds = zip(*(pool.parts for pool in every), strict=True)
    curves = [best_curve([e for found in fold for e in found], seed) for fold in folds]
    known = [curve for curve in curves if curve is not None]
    return PRCurve.mean(known) if known else None
