"""One curve from several estimators: as tight as the tightest wherever it is, and honest."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.hull import lower_hull
from precall.curves.judged import Judged, Places, mean_curve
from precall.curves.pr_curve import PRCurve

BEST = "best"  # its name, where there are several others

Flags = NDArray[np.bool_]
Errors = tuple[int, int]  # real called generated, generated called real


def best_curve(candidates: Sequence[Evidence], seed: int) -> PRCurve | None:
    """Combine the evidence of several estimators about the same samples.

    The mean, at equal λ, of the curves of :func:`best_classifiers`; ``None`` where there are none.
    """
    parts = best_classifiers(candidates, np.arange(len(candidates[0]) if candidates else 0), seed)
    return mean_curve([parts]) if parts else None


def best_classifiers(candidates: Sequence[Evidence], places: Places, seed: int) -> list[Judged]:
    """Choose the best classifiers of several estimators, and say by whom they are measured.

    Half of the evaluated samples select: the classifiers, each an estimator and a γ, that are best
    for some λ. The other half measures only these again. Then the halves change places. A few
    classifiers chosen beforehand are measured instead of the best of thousands, so the curve is
    less biased downwards than any of those that it is made of: near its ends, where few samples
    decide, it may lie above them all. Nothing where a class has fewer than two evaluated samples.

    Parameters
    ----------
    places
        (n_samples,) where each sample stands in its class.
    """
    if not candidates:
        return []
    is_real = candidates[0].is_real
    if min(np.count_nonzero(is_real), np.count_nonzero(~is_real)) < 2:
        return []
    half = halve(is_real, seed)
    return [
        Judged(
            [evidence.select(~selects) for evidence in candidates],
            classifiers_of_hull([evidence.select(selects) for evidence in candidates]),
            places[~selects],
        )
        for selects in (half, ~half)
    ]


def classifiers_of_hull(candidates: Sequence[Evidence]) -> list[tuple[int, float]]:
    """Return the classifiers, by candidate and γ, that make up the hull of all."""
    classifiers: dict[Errors, tuple[int, float]] = {}
    for i, evidence in enumerate(candidates):
        for gamma in ErrorRates.of(evidence).best().tolist():
            classifiers.setdefault(_errors(evidence, gamma), (i, gamma))
    if not classifiers:
        return []
    hull = lower_hull(*np.array(list(classifiers)).T)
    return [classifiers[point] for point in zip(*hull, strict=True)]


def _errors(evidence: Evidence, gamma: float) -> Errors:
    called_real, is_real = evidence.called_real(gamma), evidence.is_real
    return int(np.count_nonzero(is_real & ~called_real)), int(
        np.count_nonzero(~is_real & called_real)
    )


def halve(is_real: Flags, seed: int) -> Flags:
    """Choose half of both classes."""
    half = np.zeros(len(is_real), dtype=bool)
    for real, rng in zip((True, False), np.random.default_rng(seed).spawn(2), strict=True):
        order = rng.permutation(np.flatnonzero(is_real == real))
        half[order[: len(order) // 2]] = True
    return half
