"""Classifiers that are best for some trade-off, and the samples that say how often each errs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.hull import lower_hull
from precall.curves.pr_curve import PRCurve

Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

_CELLS_AT_A_TIME = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A few classifiers, settled beforehand or the best of their family, measured by samples."""

    evidence: Sequence[Evidence]  # of the same samples, by estimator
    classifiers: Sequence[tuple[int, float]]  # which evidence, and γ; both trivial ones go without
    places: Places  # (n_samples,) where each stands in its class

    @classmethod
    def best_of(cls, evidence: Evidence, places: Places) -> Self:
        """Take those of one estimator that are best for some λ on these very samples."""
        return cls([evidence], [(0, gamma) for gamma in ErrorRates.of(evidence).best()], places)

    @property
    def is_real(self) -> Flags:
        """The truth, (n_samples,)."""
        return self.evidence[0].is_real

    def wrong(self) -> Iterator[Flags]:
        """Say who is called what he is not, (n_classifiers, n_samples), some classifiers a time."""
        step = max(1, _CELLS_AT_A_TIME // len(self.is_real))
        for start in range(0, len(self.classifiers), step):
            few = self.classifiers[start : start + step]
            calls = np.stack([self.evidence[i].called_real(gamma) for i, gamma in few])
            yield calls != self.is_real

    def rates(self, of_real: NDArray[Any], of_generated: NDArray[Any]) -> tuple[Any, Any]:
        """Return fpr and fnr, each (n_draws, n_classifiers + 2), of samples that count so often.

        Parameters
        ----------
        of_real, of_generated
            (n_draws, n), how often each sample of a class counts in each draw; no copy is made of
            float32.
        """
        everybody = np.ones((1, len(self.is_real)), np.bool_)
        counts: tuple[list[Any], list[Any]] = ([], [])
        for some in chain(self.wrong(), [everybody]):
            for found, truth, weights in zip(
                counts, (self.is_real, ~self.is_real), (of_real, of_generated), strict=True
            ):
                # Errors are put where the weights are, as they are fewer. Sums of integers: exact.
                errors = np.zeros((weights.shape[1], len(some)), np.float32)
                errors[self.places[truth]] = some[:, truth].T
                found.append((np.asarray(weights, np.float32) @ errors).astype(np.float64))
        rates = []
        for (*found, size), trivial in zip(counts, ([1.0, 0.0], [0.0, 1.0]), strict=True):
            known = np.concatenate([*found, np.empty((len(size), 0))], axis=1)
            of_trivial = np.repeat([trivial], len(size), axis=0)
            rates.append(np.concatenate([known / np.maximum(size, 1.0), of_trivial], axis=1))
        return rates[0], rates[1]

    def curve(self) -> PRCurve:
        """Return the lower hull of their error rates and of the trivial pair."""
        n_real = int(np.count_nonzero(self.is_real))
        n_generated = len(self.is_real) - n_real
        found = [
            (np.count_nonzero(of[self.is_real]), np.count_nonzero(of[~self.is_real]))
            for some in self.wrong()
            for of in some
        ]
        errors = [*found, (n_real, 0), (0, n_generated)]
        fpr, fnr = lower_hull(*np.array(errors).T)
        return PRCurve(np.asarray(fpr) / n_real, np.asarray(fnr) / n_generated)


def mean_curve(splits: Sequence[Sequence[Judged]]) -> PRCurve:
    """Average at equal λ what is measured in each split, and then the splits."""
    return PRCurve.mean([PRCurve.mean([part.curve() for part in split]) for split in splits])
