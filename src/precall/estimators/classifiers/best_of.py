"""The best of several classifiers, chosen without a look at the evaluated samples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.estimators.classifiers.linear import mean_risk
from precall.estimators.classifiers.log_odds import calibration, log_odds

_HELD_OUT = 0.25
_SURE = 30.0


@dataclass(slots=True, eq=False)
class BestOf:
    """Train every candidate on most samples, keep the one that judges the others best.

    Best is the lowest risk averaged over λ on a quarter of the samples to fit; the winner is then
    trained again on all of them.

    Parameters
    ----------
    candidates
        Functions that make an untrained classifier for so many real and generated samples, by name.
    seed
        Of the quarter.
    """

    candidates: Mapping[str, Callable[[tuple[int, int]], Any]]
    seed: int = 0
    choice: str = field(default="", init=False)
    risks: dict[str, float] = field(default_factory=dict, init=False)
    _winner: Any = field(init=False, repr=False)
    _calibration: tuple[float, float] = field(default=(1.0, 0.0), init=False, repr=False)

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        is_real = np.asarray(is_real, dtype=bool)
        held_out = _some_of_each(is_real, self.seed)
        scores = {}
        sizes = _sizes(is_real[~held_out])
        for name, make in self.candidates.items():
            trained = make(sizes).fit(rows[~held_out], is_real[~held_out].astype(np.int64))
            # Chances of 0 and 1 are infinite odds, which no calibration could scale.
            scores[name] = np.clip(log_odds(trained, rows[held_out]), -_SURE, _SURE)
            self.risks[name] = mean_risk(scores[name], is_real[held_out])
        self.choice = min(self.risks, key=lambda name: self.risks[name])
        self._calibration = calibration(scores[self.choice], is_real[held_out])
        winner = self.candidates[self.choice](_sizes(is_real))
        self._winner = winner.fit(rows, is_real.astype(np.int64))
        return self

    def decision_function(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log odds of real for each row (n, d)."""
        slope, offset = self._calibration
        return slope * np.clip(log_odds(self._winner, rows), -_SURE, _SURE) + offset


def _sizes(is_real: NDArray[np.bool_]) -> tuple[int, int]:
    n_real = int(np.count_nonzero(is_real))
    return n_real, len(is_real) - n_real


def _some_of_each(is_real: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """Choose a quarter of both classes, at least one sample of each."""
    rng = np.random.default_rng(seed)
    chosen = np.zeros(len(is_real), dtype=bool)
    for real in (True, False):
        order = rng.permutation(np.flatnonzero(is_real == real))
        chosen[order[: max(1, int(_HELD_OUT * len(order)))]] = True
    return chosen
