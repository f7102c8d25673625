"""Any classifier, trained on the fit samples (Simon et al. 2019, Algorithm 1)."""

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.feature_sets import Rows
from precall.data.splits import Fold
from precall.errors import InputError
from precall.estimators.base import FeatureEstimator, Task
from precall.estimators.classifiers import READY_MADE, BestOf, log_odds

_BEST_OF = ("linear", "quadratic", "kernel", "boosting", "mlp")
_ROWS_AT_A_TIME = 4096
_FEWEST = 2
_FEWEST_FOR_BEST = 4


@dataclass(frozen=True, slots=True)
class Trained(FeatureEstimator):
    """Train a classifier on the fit samples, and let it weigh the evaluated ones.

    Any classifier gives an upper bound (Simon et al. 2019, Theorem 5), so a better one is a tighter
    curve. It has to be judged by samples that it has not seen: a split is required.

    Parameters
    ----------
    estimator
        ``None`` or ``"linear"`` for the ensemble of linear classifiers of Simon et al. 2019 §6;
        ``"quadratic"``, ``"forest"``, ``"boosting"``, ``"mlp"``, ``"knn"`` or ``"kernel"``;
        ``"best"`` for the one of several that judges a part of the fit samples best; or any object
        with scikit-learn's ``fit`` and ``decision_function`` or ``predict_proba``, of which a copy
        is trained for each fold. Label 1 means real.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, generated = rng.normal(0, 1, (1000, 64)), rng.normal(0.2, 1, (1000, 64))
    >>> estimators = [precall.Trained(), precall.Coverage()]
    >>> result = precall.evaluate(real, generated, estimators=estimators, split=precall.CrossFit(5))
    >>> for name, curve in result.curves.items():
    ...     print(name, round(curve.area, 2))
    classifier 0.43
    coverage 0.52
    """

    estimator: Any = None
    n_repeats: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.estimator is None or isinstance(self.estimator, str):
            if self.estimator not in (None, "best", *READY_MADE):
                known = ", ".join(repr(name) for name in (*READY_MADE, "best"))
                raise InputError(f"estimator {self.estimator!r} is unknown; choose from {known}.")
            return
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InputError(
                "estimator must be a name or an object with fit and decision_function or "
                f"predict_proba; got {self.estimator!r:.200}."
            )

    @property
    def name(self) -> str:
        """Name of its curve, which tells the classifier unless it is the default."""
        if self.estimator is None:
            return "classifier"
        if isinstance(self.estimator, str):
            return f"classifier_{self.estimator}"
        return f"classifier_{type(self.estimator).__name__.lower()}"

    def check(self, fold: Fold) -> None:
        """Refuse to judge a classifier by the samples that it was trained on."""
        if any(side.fit is side.evaluated for side in (fold.real, fold.generated)):
            raise InputError(
                "a trained classifier must be judged by samples that it has not seen; pass a "
                "split such as precall.CrossFit(5)."
            )
        least = _FEWEST_FOR_BEST if self.estimator == "best" else _FEWEST
        for role, side in (("real", fold.real), ("generated", fold.generated)):
            if len(side.fit) < least:
                raise InputError(
                    f"{self.name} needs at least {least} samples of each class to fit on; the "
                    f"split leaves {len(side.fit)} of {role}."
                )

    def evidence(self, task: Task) -> Evidence:
        """Train on the fit samples of the fold, weigh its evaluated ones."""
        from scipy.special import expit

        real, generated = task.fold.real, task.fold.generated
        fitted = [real.fit, generated.fit]
        rows = np.concatenate([side.tile(0, len(side)) for side in fitted])
        labels = np.repeat([1, 0], [len(side) for side in fitted])
        order = np.random.default_rng(task.seed).permutation(len(rows))  # no training by class
        classifier = self._make(task)
        classifier.fit(rows[order], labels[order])
        sides = real.evaluated, generated.evaluated
        odds = np.concatenate([_weigh(classifier, side, rows.dtype) for side in sides])
        is_real = np.repeat([True, False], [len(side) for side in sides])
        return Evidence(expit(odds), expit(-odds), is_real, str(getattr(classifier, "choice", "")))

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as the odds for real, over those of drawing a real sample to fit.

        A classifier that balances the classes itself has accounted for the latter.
        """
        weights = _parameters(self.estimator, "class_weight").values()
        return evidence.ratio() * (1.0 if any(isinstance(w, str) for w in weights) else m / n)

    def _make(self, task: Task) -> Any:
        """Return an untrained classifier."""
        if not (self.estimator is None or isinstance(self.estimator, str)):
            return _untrained_copy(self.estimator, task.seed)
        chance = {"seed": task.seed, "threads": task.threads}
        if self.estimator == "best":
            makers = {name: partial(READY_MADE[name], **chance) for name in _BEST_OF}
            return BestOf(makers, task.seed)
        sizes = len(task.fold.real.fit), len(task.fold.generated.fit)
        return READY_MADE[self.estimator or "linear"](sizes, **chance)


def _untrained_copy(estimator: Any, seed: int) -> Any:
    """Copy a classifier for one fold; what it leaves to chance is seeded."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    classifier = clone(estimator, safe=False)
    random_states = _parameters(classifier, "random_state")
    unset = {name: seed for name, value in random_states.items() if value is None}
    return classifier.set_params(**unset) if unset else classifier


def _parameters(estimator: Any, name: str) -> dict[str, Any]:
    """Parameters of this name of a classifier of scikit-learn and of all its parts."""
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return {path: v for path, v in parameters.items() if path.rpartition("__")[2] == name}


def _weigh(classifier: Any, side: Rows, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    tiles = (tile.astype(dtype, copy=False) for tile in side.tiles(_ROWS_AT_A_TIME))
    return np.concatenate([log_odds(classifier, tile) for tile in tiles])
