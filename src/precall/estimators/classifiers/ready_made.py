"""Classifiers that are chosen by name, and the best of several."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.estimators.classifiers.kernel import KernelDiscriminant
from precall.estimators.classifiers.linear import LinearEnsemble
from precall.estimators.classifiers.scales import (
    calibration,
    in_row_tiles,
    log_odds,
    mean_risk,
    standardizing,
)
from precall.runtime.threads import single_threaded_libraries

_BEST_OF = ("linear", "quadratic", "kernel", "boosting", "mlp")
_ENOUGH_TO_HOLD_OUT = 50  # samples of a class
_MOST_MULTIPLIED = 32  # features that are all multiplied with each other
_SURE = 30.0  # log odds


class _Standardized:
    """A classifier of scikit-learn on standardized features, the same on any number of threads."""

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        self._standardize = standardizing(rows, np.asarray(is_real, dtype=bool))
        # Warnings of convergence do not matter: any classifier gives a valid bound.
        with single_threaded_libraries(), warnings.catch_warnings(action="ignore"):
            self._classifier.fit(self._standardize(rows), np.asarray(is_real, np.int64))
        if "n_jobs" in self._classifier.get_params():
            self._classifier.set_params(n_jobs=1)  # trees would be summed in any order
        return self

    def predict_proba(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the chances of generated and of real for each row (n, d)."""
        with single_threaded_libraries():
            return in_row_tiles(
                lambda tile: self._classifier.predict_proba(self._standardize(tile)), rows
            )


class _Quadratic(LinearEnsemble):
    """The linear ensemble on features and their squares, and on products of few features."""

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        self._standardize = standardizing(rows, np.asarray(is_real, dtype=bool))
        return super().fit(self._expand(rows), is_real)

    def decision_function(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log odds of real for each row (n, d)."""
        of_expanded = super().decision_function
        return in_row_tiles(lambda tile: of_expanded(self._expand(tile)), rows)

    def _expand(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        standardized = self._standardize(rows)
        d = rows.shape[1]
        i, j = np.triu_indices(d) if d <= _MOST_MULTIPLIED else (np.arange(d), np.arange(d))
        return np.concatenate([standardized, standardized[:, i] * standardized[:, j]], axis=1)


def _of_scikit_learn(name: str, sizes: tuple[int, int], seed: int, threads: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    stops = min(sizes) >= _ENOUGH_TO_HOLD_OUT
    match name:
        case "forest":
            made = RandomForestClassifier(
                100, min_samples_leaf=5, random_state=seed, n_jobs=threads
            )
        case "boosting":
            made = HistGradientBoostingClassifier(
                max_iter=200, early_stopping=stops, random_state=seed
            )
        case "mlp":
            made = MLPClassifier(
                (128, 64),
                alpha=1e-2,
                batch_size=min(256, sum(sizes)),
                early_stopping=stops,
                max_iter=200,
                random_state=seed,
            )
        case _:
            made = KNeighborsClassifier(max(1, round(math.sqrt(min(sizes)))), algorithm="brute")
    return _Standardized(made)


@dataclass(slots=True, eq=False)
class BestOf:
    """Train every candidate on most samples, keep the one that judges the others best.

    Best is the lowest risk averaged over λ on a quarter of the samples to fit; the winner is then
    trained again on all of them.
    """

    candidates: Mapping[str, Callable[[tuple[int, int]], Any]]
    """By name; each makes an untrained classifier for so many real and generated samples."""
    seed: int = 0  # of the quarter
    choice: str = field(default="", init=False)
    risks: dict[str, float] = field(default_factory=dict, init=False)
    _winner: Any = field(init=False, repr=False)
    _calibration: tuple[float, float] = field(default=(1.0, 0.0), init=False, repr=False)

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        is_real = np.asarray(is_real, dtype=bool)
        rng = np.random.default_rng(self.seed)
        held_out = np.zeros(len(is_real), dtype=bool)
        for real in (True, False):
            order = rng.permutation(np.flatnonzero(is_real == real))
            held_out[order[: max(1, len(order) // 4)]] = True
        scores = {}
        for name in self.candidates:
            trained = self._train(name, rows[~held_out], is_real[~held_out])
            scores[name] = _score(trained, rows[held_out])
            self.risks[name] = mean_risk(scores[name], is_real[held_out])
        self.choice = min(self.risks, key=lambda name: self.risks[name])
        self._calibration = calibration(scores[self.choice], is_real[held_out])
        self._winner = self._train(self.choice, rows, is_real)
        return self

    def _train(self, name: str, rows: NDArray[Any], is_real: NDArray[np.bool_]) -> Any:
        sizes = int(np.count_nonzero(is_real)), int(np.count_nonzero(~is_real))
        return self.candidates[name](sizes).fit(rows, is_real.astype(np.int64))

    def decision_function(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log odds of real for each row (n, d)."""
        slope, offset = self._calibration
        return slope * _score(self._winner, rows) + offset


def _score(trained: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Chances of 0 and 1 are infinite odds, which no calibration could scale."""
    return np.clip(log_odds(trained, rows), -_SURE, _SURE)


def _best(sizes: tuple[int, int], **chance: int) -> BestOf:
    return BestOf({name: partial(READY_MADE[name], **chance) for name in _BEST_OF}, chance["seed"])


READY_MADE: dict[str, Callable[..., Any]] = {
    "linear": lambda sizes, **chance: LinearEnsemble(**chance),
    "quadratic": lambda sizes, **chance: _Quadratic(**chance),
    **{name: partial(_of_scikit_learn, name) for name in ("forest", "boosting", "mlp", "knn")},
    "kernel": lambda sizes, **chance: KernelDiscriminant(**chance),
    "best": _best,
}
"""Each makes an untrained classifier for so many real and generated samples, seed and threads."""
