"""Any classifier, trained on the fit samples (Simon et al. 2019, Algorithm 1)."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.feature_sets import Rows
from precall.data.splits import Fold
from precall.errors import InputError
from precall.estimators.base import Estimator, Task
from precall.estimators.classifiers import READY_MADE, log_odds

_FEWEST = 2
_FEWEST_FOR_BEST = 4
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True)
class Trained(Estimator):
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
        is trained for each fold. Label 1 means real. It is asked once about all samples to
        evaluate, real and generated in random order.

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

    def __post_init__(self) -> None:
        if isinstance(self.estimator, str) and self.estimator not in READY_MADE:
            known = ", ".join(map(repr, READY_MADE))
            raise InputError(f"estimator {self.estimator!r} is unknown; choose from {known}.")
        is_object = hasattr(self.estimator, "fit") and not isinstance(self.estimator, type)
        if not (self.estimator is None or isinstance(self.estimator, str) or is_object):
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
        rng = np.random.default_rng(task.seed)
        classifier = self._trained(task, rng)
        order = rng.permutation(len(task.is_real))
        odds = np.empty(len(order))
        # All in one call and shuffled: neither the call nor the place in it tells the class.
        odds[order] = log_odds(classifier, _gather(task.evaluated, order, _precision(task)))
        chances = scipy.special.expit(odds), scipy.special.expit(-odds)
        return Evidence(*chances, task.is_real, str(getattr(classifier, "choice", "")))

    def _trained(self, task: Task, rng: np.random.Generator) -> Any:
        """Return a classifier that was trained on the fit samples of the fold."""
        sizes = len(task.fitted[0]), len(task.fitted[1])
        if self.estimator is None or isinstance(self.estimator, str):
            make = READY_MADE[self.estimator or "linear"]
            classifier = make(sizes, seed=task.seed, threads=task.threads)
        else:
            classifier = _untrained_copy(self.estimator, task.seed)
        order = rng.permutation(sum(sizes))  # no training by class
        labels = np.repeat([1, 0], sizes)[order]
        classifier.fit(_gather(task.fitted, order, _precision(task)), labels)
        return classifier

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as the odds for real, over those of drawing a real sample to fit.

        A classifier that balances the classes itself has accounted for the latter.
        """
        weights = _parameters(self.estimator, "class_weight").values()
        return evidence.ratio() * (1.0 if any(isinstance(w, str) for w in weights) else m / n)


def _precision(task: Task) -> np.dtype[Any]:
    """Precision that holds the samples to fit of both classes."""
    return np.result_type(*(part.array.dtype for part in task.fitted))


def _gather(
    parts: Sequence[Rows], order: NDArray[np.intp], dtype: np.dtype[Any]
) -> NDArray[np.floating]:
    """Return the rows of all parts in the given order, in one precision."""
    rows = np.empty((len(order), parts[0].n_features), dtype)
    places, start = np.argsort(order), 0
    for part in parts:
        for tile in part.tiles(_ROWS_AT_A_TIME):
            rows[places[start : start + len(tile)]] = tile
            start += len(tile)
    return rows


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
