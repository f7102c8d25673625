"""The scales that classifiers share: of features, of scores as log odds, and of their risk."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.curves.error_rates import ErrorRates
from precall.errors import InputError

Floats = NDArray[np.float64]

_FARTHEST = 1e6  # deviations from a mean
_LARGEST_PLAIN = 30.0
_LARGEST = 700.0  # odds beyond exp of it overflow
_LEAST_SLOPE = 1e-3
_ROWS_AT_A_TIME = 4096


def standardizing(
    rows: NDArray[Any], is_real: NDArray[np.bool_]
) -> Callable[[NDArray[Any]], Floats]:
    """Measure rows (n, d), one column at a time in float64; return what standardizes such rows.

    It subtracts a mean and divides by a deviation within the classes, feature by feature, in
    float64. Nothing is farther out than a million; the deviation of a constant feature is 1.
    """
    mean, deviation = np.empty(rows.shape[1]), np.ones(rows.shape[1])
    for j in range(rows.shape[1]):
        column = rows[:, j].astype(np.float64)
        middle = (column.min() + column.max()) / 2
        reach = column.max() - middle
        if reach == 0.0:
            mean[j] = middle
            continue
        scaled = (column - middle) / reach  # from -1 to 1: no square can overflow or vanish
        mean[j] = middle + reach * scaled.mean()
        deviation[j] = reach * _deviation_within(scaled, is_real) or 1.0  # which may underflow

    def standardize(rows: NDArray[Any]) -> Floats:
        standardized: Floats = np.subtract(rows, mean, dtype=np.float64)
        with np.errstate(over="ignore"):
            standardized /= deviation
        return np.clip(standardized, -_FARTHEST, _FARTHEST, out=standardized)

    return standardize


def _deviation_within(column: Floats, is_real: NDArray[np.bool_]) -> float:
    """Deviation of a feature without what the difference of the class means adds to it.

    That part would shrink a feature just because it tells the classes apart. As much as chance may
    add is left in: labels have no say in the scale of features that do not differ, else samples
    left out of training would give themselves away by it; and a feature that is constant in each
    class has a deviation, too.
    """
    share = np.count_nonzero(is_real) / len(is_real)
    difference = column[is_real].mean() - column[~is_real].mean()
    added = share * (1 - share) * difference**2
    variance = column.var()
    # Chance adds χ²/n of the whole, and χ² > 2 log 2n to less than one of n features.
    by_chance = 2 * math.log(2 * len(column)) / len(column) * variance
    return math.sqrt(variance - max(added - by_chance, 0.0))


def in_row_tiles(judge: Callable[[NDArray[Any]], NDArray[Any]], rows: NDArray[Any]) -> Floats:
    """Judge rows (n, d), a few thousand at a time, so that no copy of all of them is needed."""
    starts = range(0, max(len(rows), 1), _ROWS_AT_A_TIME)
    return np.concatenate([judge(rows[i : i + _ROWS_AT_A_TIME]) for i in starts])


def log_odds(classifier: Any, rows: NDArray[Any]) -> Floats:
    """Ask a trained classifier, whose label 1 means real, for its log odds of each row (n, d).

    Its ``decision_function`` is taken for them, else they follow from its ``predict_proba``; any
    increasing function of the odds will do, since only their order and even odds matter. Two
    chances of 0 are even odds.
    """
    if hasattr(classifier, "decision_function"):
        scores = _flat(classifier.decision_function(rows), classifier, "decision_function", rows)
        if not np.isfinite(scores).all():
            raise _refusal(classifier, "decision_function", "values that are not finite")
        scores = _bounded(scores)
        return -scores if _is_reversed(classifier) else scores
    if not hasattr(classifier, "predict_proba"):
        raise InputError(
            f"estimator {type(classifier).__name__} has neither decision_function nor "
            "predict_proba after it was fitted."
        )
    chances = np.asarray(classifier.predict_proba(rows), dtype=np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise _refusal(classifier, "predict_proba", "values outside of 0 to 1")
    with np.errstate(divide="ignore"):
        if chances.shape == (len(rows), 2):  # each column is precise near 0
            chances = np.where(chances.any(axis=1, keepdims=True), chances, 0.5)  # no opinion
            odds = np.log(chances[:, 1]) - np.log(chances[:, 0])
            return -odds if _is_reversed(classifier) else odds
        chances = _flat(chances, classifier, "predict_proba", rows)
        return np.asarray(np.log(chances) - np.log1p(-chances))


def calibration(scores: Floats, is_real: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and offset that make log odds of scores of held-out samples (Platt 1999).

    A logistic fit whose targets stop short of 0 and 1, so that it is finite for perfect scores, and
    whose slope is positive: it never reverses the order of the scores.
    """
    n_real = int(np.count_nonzero(is_real))
    n_generated = len(is_real) - n_real
    high, low = (n_real + 1) / (n_real + 2), 1 / (n_generated + 2)
    target = np.where(is_real, high, low)
    center, spread = float(scores.mean()), float(scores.std())
    if spread == 0.0 or not np.isfinite(spread):
        return 1.0, 0.0
    scaled = (scores - center) / spread

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = weights[0] * scaled + weights[1]
        residual = scipy.special.expit(logits) - target
        value = np.mean(np.logaddexp(0.0, logits) - target * logits)
        return float(value), np.array([np.mean(residual * scaled), np.mean(residual)])

    slope, offset = scipy.optimize.minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS").x
    if slope < _LEAST_SLOPE:  # held-out noise is no reason to reverse the order of the scores
        slope, offset = _LEAST_SLOPE, np.log(n_real / n_generated)
    return float(slope / spread), float(offset - slope * center / spread)


def mean_risk(scores: Floats, is_real: NDArray[np.bool_]) -> float:
    """Risk averaged over λ of the classifiers that cut ``scores`` somewhere."""
    order = np.argsort(-scores)
    ordered = scores[order]
    last = np.append(ordered[1:] != ordered[:-1], True)  # of those that score alike
    called_real = np.append(0, np.cumsum(is_real[order])[last])
    generated_called_real = np.append(0, np.cumsum(~is_real[order])[last])
    n_real, n_generated = int(called_real[-1]), int(generated_called_real[-1])
    gamma = np.full(len(called_real), np.nan)
    errors = n_real - called_real, generated_called_real
    return ErrorRates(*errors, gamma, n_real, n_generated).mean_risk


def _is_reversed(classifier: Any) -> bool:
    """Whether the classifier lists its label for real first."""
    classes = getattr(classifier, "classes_", None)
    return classes is not None and len(classes) == 2 and classes[0] == 1


def _bounded(scores: Floats) -> Floats:
    """Keep the order of scores, and those of plain size, but let no odds overflow."""
    excess = np.log1p(np.maximum(np.abs(scores) - _LARGEST_PLAIN, 0.0))
    size = np.minimum(np.minimum(np.abs(scores), _LARGEST_PLAIN) + excess, _LARGEST)
    return np.asarray(np.sign(scores) * size)


def _flat(found: Any, classifier: Any, method: str, rows: NDArray[Any]) -> Floats:
    values: Floats = np.asarray(found, dtype=np.float64)
    if values.shape == (len(rows), 1):
        values = values[:, 0]
    if values.shape != (len(rows),):
        raise _refusal(classifier, method, f"shape {values.shape} for {len(rows)} rows")
    return values


def _refusal(classifier: Any, method: str, seen: str) -> InputError:
    return InputError(
        f"estimator {type(classifier).__name__} must return from {method} one number per row, or "
        f"two probabilities; got {seen}."
    )
