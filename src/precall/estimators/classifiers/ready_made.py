"""Classifiers that are chosen by name: functions that make an untrained one."""

import math
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.estimators.classifiers.kernel import KernelDiscriminant
from precall.estimators.classifiers.linear import LinearEnsemble
from precall.estimators.classifiers.standardizer import Standardizer
from precall.runtime.threads import single_threaded_libraries

Sizes = tuple[int, int]  # real, generated

_ENOUGH_TO_HOLD_OUT = 50  # samples of a class
_MOST_MULTIPLIED = 32  # features that are all multiplied with each other


class _Standardized:
    """A classifier of scikit-learn on standardized features, the same on any number of threads."""

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        self._standardizer = Standardizer.of(rows)
        with single_threaded_libraries(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence: any classifier gives a valid bound
            self._classifier.fit(self._standardizer.apply(rows), np.asarray(is_real, np.int64))
        if "n_jobs" in self._classifier.get_params():
            self._classifier.set_params(n_jobs=1)  # trees would be summed in any order
        return self

    def predict_proba(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the chances of generated and of real for each row (n, d)."""
        with single_threaded_libraries():
            return np.asarray(self._classifier.predict_proba(self._standardizer.apply(rows)))


def _forest(sizes: Sizes, seed: int, threads: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed, n_jobs=threads)
    return _Standardized(forest)


def _boosting(sizes: Sizes, seed: int, threads: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    stops = min(sizes) >= _ENOUGH_TO_HOLD_OUT
    boosting = HistGradientBoostingClassifier(max_iter=200, early_stopping=stops, random_state=seed)
    return _Standardized(boosting)


def _mlp(sizes: Sizes, seed: int, threads: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    mlp = MLPClassifier(
        (128, 64),
        alpha=1e-2,
        batch_size=min(256, sum(sizes)),
        early_stopping=min(sizes) >= _ENOUGH_TO_HOLD_OUT,
        max_iter=200,
        random_state=seed,
    )
    return _Standardized(mlp)


def _knn(sizes: Sizes, seed: int, threads: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    k = max(1, round(math.sqrt(min(sizes))))
    return _Standardized(KNeighborsClassifier(k, algorithm="brute"))


class _Quadratic:
    """The linear ensemble on features and their squares, and on products of few features."""

    def __init__(self, seed: int, threads: int) -> None:
        self._ensemble = LinearEnsemble(seed=seed, threads=threads)

    @property
    def choice(self) -> str:
        """What cross-validation settled on."""
        return self._ensemble.choice

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        self._standardizer = Standardizer.of(rows)
        self._ensemble.fit(self._expand(rows), is_real)
        return self

    def decision_function(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log odds of real for each row (n, d)."""
        return self._ensemble.decision_function(self._expand(rows))

    def _expand(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        standardized = self._standardizer.apply(rows)
        d = rows.shape[1]
        i, j = np.triu_indices(d) if d <= _MOST_MULTIPLIED else (np.arange(d), np.arange(d))
        return np.concatenate([standardized, standardized[:, i] * standardized[:, j]], axis=1)


READY_MADE: dict[str, Callable[..., Any]] = {  # each makes an untrained one, for so many samples
    "linear": lambda sizes, seed, threads: LinearEnsemble(seed=seed, threads=threads),
    "quadratic": lambda sizes, seed, threads: _Quadratic(seed, threads),
    "forest": _forest,
    "boosting": _boosting,
    "mlp": _mlp,
    "knn": _knn,
    "kernel": lambda sizes, seed, threads: KernelDiscriminant(seed=seed, threads=threads),
}
