"""Neighbour counts chosen by cross-validation within the fit samples (Sykes et al. 2024 §5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from precall.curves.error_rates import ErrorRates, Evidence
from precall.data.splits import FitEval, Fold
from precall.estimators import Estimator, NeighborEstimator, Task
from precall.neighbors.statistics import NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps

_POWERS = range(-3, 3)  # of two, times the root of the number of fit samples
_FEWEST_JUDGED = 100
_JUDGED = 0.2  # share of the fit samples of each class that is judged, in either direction


def needs_tuning(estimators: Sequence[Estimator]) -> bool:
    """Whether some k is left to cross-validation."""
    return any(_is_open(estimator) for estimator in estimators)


def tune(
    sweeps: Sweeps, named: Mapping[str, Estimator], fold: Fold, seed: int
) -> dict[str, Estimator]:
    """Settle each k that is left to cross-validation; evaluated samples are not looked at.

    The fit samples are halved; each half is judged by the other with every k at once. The k with
    the lowest risk averaged over λ wins; of several the largest, which is the smoothest.
    """
    candidates = {
        name: [replace(estimator, k=k) for k in _grid(fold)]
        for name, estimator in named.items()
        if isinstance(estimator, NeighborEstimator) and _is_open(estimator)
    }
    every = [estimator for tried in candidates.values() for estimator in tried]
    plan = NeighborPlan().union(estimator.needs() for estimator in every)
    found: dict[Estimator, list[Evidence]] = {estimator: [] for estimator in every}
    asked = [Ask(half, plan) for half in _halves(fold, seed)]
    for ask, statistics in zip(asked, sweeps.measure(asked, "choosing k"), strict=True):
        for estimator, parts in found.items():
            parts.append(estimator.evidence(Task(ask.fold, statistics)))
    risks = {
        estimator: ErrorRates.of(Evidence.concat(parts)).mean_risk
        for estimator, parts in found.items()
    }
    best = {
        name: min(reversed(tried), key=lambda estimator: risks[estimator])
        for name, tried in candidates.items()
    }
    return {name: best.get(name, estimator) for name, estimator in named.items()}


def _is_open(estimator: Estimator) -> bool:
    return isinstance(estimator, NeighborEstimator) and estimator.k == "cv"


def _grid(fold: Fold) -> list[int]:
    """Ks to try: powers of two around the root of the number of fit samples."""
    smallest = min(len(fold.real.fit), len(fold.generated.fit))
    most = smallest // 2 - 1  # the other half has to hold more than k
    root = np.sqrt(smallest)
    return sorted({int(np.clip(np.rint(root * 2.0**power), 1, most)) for power in _POWERS})


def _halves(fold: Fold, seed: int) -> list[Fold]:
    """Halve the fit samples; each half, or enough of it, is judged by the other."""
    classes = []
    sides = (fold.real.fit, fold.generated.fit)
    for rows, rng in zip(sides, np.random.default_rng(seed).spawn(2), strict=True):
        one, two = np.array_split(rng.permutation(len(rows)), 2)
        n_judged = max(_FEWEST_JUDGED, round(_JUDGED * len(rows)))
        classes.append(
            [
                FitEval(rows.select(np.sort(fit)), rows.select(np.sort(judged[:n_judged])))
                for fit, judged in ((one, two), (two, one))
            ]
        )
    return [Fold(*pair) for pair in zip(*classes, strict=True)]
