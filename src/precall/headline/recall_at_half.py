"""Recall at λ = ½ of the honest best curve, from classifiers that judge what they have not seen.

The share of real that is produced at least half as often as it should be, what is rarer counted in
proportion: α_λ/λ at λ = ½.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.curves.best import classifiers_of_hull, halve
from precall.curves.error_rates import Evidence
from precall.headline.outlyingness import Flags, Floats

TRADE_OFF = 0.5
_DECAY = 0.01  # of the weights of the stack, per sample
_FARTHEST = 5.0  # spreads of a score from its median
_N_STEPS = 25
_N_HALVINGS = 4  # who chooses is chance that an average leaves less of


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Errors that chosen classifiers make on samples that did not choose them."""

    real_called_generated: Flags  # (n_classifiers, n_real)
    generated_called_real: Flags  # (n_classifiers, n_generated)
    places: tuple[NDArray[np.intp], NDArray[np.intp]]  # of these samples among all

    @property
    def recalls(self) -> Floats:
        """Error rates of each classifier, fpr + fnr/λ."""
        fpr, fnr = self.real_called_generated.mean(axis=1), self.generated_called_real.mean(axis=1)
        return np.asarray(fpr + fnr / TRADE_OFF)

    @property
    def recall(self) -> float:
        """The smallest, or that of the trivial classifier that calls nothing real."""
        return float(self.recalls.min(initial=1.0))

    def draws(self, of_real: NDArray[Any], of_generated: NDArray[Any]) -> Floats:
        """The same of the best classifier if samples count as often as their weight says.

        Of the one classifier, and above 1, too: the smallest of many in every draw would vary less,
        and so would one that is cut off where the trivial classifier is better.
        """
        if not len(self.recalls):
            return np.ones(len(of_real))
        best = int(self.recalls.argmin())
        rates = []
        for weights, errs, places in (
            (of_real, self.real_called_generated[best], self.places[0]),
            (of_generated, self.generated_called_real[best], self.places[1]),
        ):
            chosen = weights[:, places]
            rates.append(chosen[:, errs].sum(axis=1) / np.maximum(chosen.sum(axis=1), 1))
        return np.asarray(rates[0] + rates[1] / TRADE_OFF)


@dataclass(frozen=True, slots=True, eq=False)
class RecallAtHalf:
    """Random halves of the samples: each measures what the other has chosen."""

    halves: tuple[Measured, ...]

    @classmethod
    def of(cls, evidence: Mapping[str, Evidence], seed: int) -> Self:
        """Choose classifiers on half of the evaluated samples, among them a stack of all.

        Parameters
        ----------
        evidence
            Of the same samples, by classifier.
        """
        candidates = list(evidence.values())
        is_real = candidates[0].is_real
        columns = np.stack([_as_column(one) for one in candidates], axis=1)
        seeds = np.random.SeedSequence((seed, 8)).generate_state(_N_HALVINGS).tolist()
        divided = [halve(is_real, each) for each in seeds]
        parts = [part for half in divided for part in (half, ~half)]
        return cls(tuple(_choose_and_measure(candidates, columns, part) for part in parts))

    def value(self) -> float:
        """The mean over all halves."""
        return float(np.mean([half.recall for half in self.halves]))

    def draws(self, of_real: NDArray[Any], of_generated: NDArray[Any]) -> Floats:
        """The value of resampled sets, (n_draws,): samples count as often as their weight says."""
        return np.asarray(
            np.mean([half.draws(of_real, of_generated) for half in self.halves], axis=0), np.float64
        )


def _choose_and_measure(candidates: list[Evidence], columns: Floats, chooses: Flags) -> Measured:
    is_real = candidates[0].is_real
    every = [*candidates, _stack(columns, is_real, chooses)]
    chosen = classifiers_of_hull([evidence.select(chooses) for evidence in every])
    measured = [evidence.select(~chooses) for evidence in every]
    truth = is_real[~chooses]
    calls = np.array([measured[i].called_real(gamma) for i, gamma in chosen], bool)
    calls = calls.reshape(len(chosen), len(truth))
    places = np.flatnonzero(~chooses[is_real]), np.flatnonzero(~chooses[~is_real])
    return Measured(~calls[:, truth], calls[:, ~truth], places)


def _as_column(evidence: Evidence) -> Floats:
    """Evidence as a number to weigh with others: log odds in spreads from their median."""
    counts = np.issubdtype(evidence.for_real.dtype, np.integer)
    more = 0.5 if counts else 1e-300
    odds = np.log(evidence.for_real + more) - np.log(evidence.for_generated + more)
    first, middle, third = np.quantile(odds, [0.25, 0.5, 0.75])
    return np.asarray(np.clip((odds - middle) / ((third - first) or 1.0), -_FARTHEST, _FARTHEST))


def _stack(columns: Floats, is_real: Flags, fitted: Flags) -> Evidence:
    """Weigh all classifiers together (Wolpert 1992): a logistic fit on those that choose."""
    design = np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
    rows, target = design[fitted], is_real[fitted].astype(np.float64)
    decay = np.append(np.full(columns.shape[1], _DECAY), 0.0)
    bound = rows.T @ rows / (4 * len(rows)) + np.diag(decay + 1e-9)  # of every Hessian
    factor = scipy.linalg.cho_factor(bound)
    weights = np.zeros(design.shape[1])
    for _ in range(_N_STEPS):
        residual = scipy.special.expit(rows @ weights) - target
        slope = rows.T @ residual / len(rows) + decay * weights
        weights -= scipy.linalg.cho_solve(factor, slope)
    odds = design @ weights
    return Evidence(scipy.special.expit(odds), scipy.special.expit(-odds), is_real)
