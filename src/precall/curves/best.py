"""One curve from several estimators: as tight as the tightest wherever it is, and honest."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.hull import lower_hull
from precall.curves.pr_curve import PRCurve

Flags = NDArray[np.bool_]
Errors = tuple[int, int]  # real called generated, generated called real


def best_curve(candidates: Sequence[Evidence], seed: int) -> PRCurve | None:
    """Combine the evidence of several estimators about the same samples.

    Half of the evaluated samples select: the classifiers, each an estimator and a γ, that are best
    for some λ. The other half measures only these again, and the hull of what it finds and of the
    trivial pair is the curve. Then the halves change places, and the two curves are averaged at
    equal λ. A few classifiers chosen beforehand are measured instead of the best of thousands, so
    the curve is less biased downwards than any of those that it is made of. ``None`` where a class
    has fewer than two evaluated samples.
    """
    if not candidates:
        return None
    is_real = candidates[0].is_real
    if min(np.count_nonzero(is_real), np.count_nonzero(~is_real)) < 2:
        return None
    half = halve(is_real, seed)
    return PRCurve.mean([_select_and_measure(candidates, part) for part in (half, ~half)])


def _select_and_measure(candidates: Sequence[Evidence], selects: Flags) -> PRCurve:
    chosen = classifiers_of_hull([evidence.select(selects) for evidence in candidates])
    measured = [evidence.select(~selects) for evidence in candidates]
    is_real = measured[0].is_real
    n_real = int(np.count_nonzero(is_real))
    n_generated = len(is_real) - n_real
    trivial = [(n_real, 0), (0, n_generated)]
    errors = [_errors(measured[i], gamma) for i, gamma in chosen] + trivial
    fpr, fnr = lower_hull(*np.array(errors).T)
    return PRCurve(np.asarray(fpr) / n_real, np.asarray(fnr) / n_generated)


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
