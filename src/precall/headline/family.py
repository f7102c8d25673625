"""Classifiers that see what the tests of the support see, fitted on folds in one pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.data.splits import FitEval, Fold
from precall.headline.box import Box
from precall.headline.grid import grids_of, off_grid
from precall.headline.moments import Ellipsoid, Moments, few_directions, squared_norms
from precall.headline.outlyingness import Floats
from precall.headline.scaling import in_spreads
from precall.headline.views import View
from precall.runtime.threads import in_threads

Scores = tuple[Floats, Floats]  # of real and of generated samples: the higher, the more real

_BOOSTED_ON = 1000  # samples of a class
_N_TREES = 60
_FEATURES_TO_BOOST = 256  # of more, those that differ most on their own
_ROWS_AT_A_TIME = 1024
_ONE_AT_A_TIME = Lock()  # scikit-learn sets the filters of warnings, which all threads share


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Real and generated samples in the units of real, and who of each may be fitted on."""

    real: View
    generated: View
    folds: Sequence[Fold]
    seed: int
    threads: int

    @property
    def scaled(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Real and generated samples."""
        return self.real.references.array, self.real.queries.array

    def fitted(self, i: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of real and of generated that fold i is fitted on: isolated ones never."""
        fold = self.folds[i]
        real, generated = fold.real.fit.stored, fold.generated.fit.stored
        return real[self.real.core[real]], generated[self.generated.core[generated]]

    def evaluated(self, i: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of real and of generated that fold i judges."""
        fold = self.folds[i]
        return fold.real.evaluated.stored, fold.generated.evaluated.stored

    def scaled_fold(self, i: int, fitted_on: int) -> Fold:
        """Fold i in the units of real, fitted on so many samples of a class at most."""
        rng = np.random.default_rng((self.seed, 9, i))
        sides = [
            FitEval(rows.select(some(fitted, fitted_on, rng)), rows.select(evaluated))
            for rows, fitted, evaluated in zip(
                (self.real.references, self.real.queries),
                self.fitted(i),
                self.evaluated(i),
                strict=True,
            )
        ]
        return Fold(*sides)


def score_folds(classes: Classes) -> dict[str, Scores]:
    """Let the classifiers of each fold judge its evaluated samples; by classifier."""
    moments = _Moments.of(classes)
    has_grid = any(grids_of(view.raw[0][view.core]) for view in (classes.real, classes.generated))

    def judge(i: int) -> dict[str, Floats]:
        scaled = classes.scaled
        fitted = [rows[chosen] for rows, chosen in zip(scaled, classes.fitted(i), strict=True)]
        judged = _both(scaled, classes.evaluated(i))
        found = {**moments.judge(i, classes), "box": _box(fitted, judged)}
        if has_grid:
            found["grid"] = _grid(classes, i)
        return found | {"boosting": _boosting(fitted, judged, classes.seed + i)}

    found = in_threads(judge, range(len(classes.folds)), classes.threads)
    sizes = [len(rows) for rows in classes.scaled]
    scores: dict[str, Scores] = {
        name: (np.empty(sizes[0]), np.empty(sizes[1])) for name in found[0]
    }
    for i, of_fold in enumerate(found):
        places = classes.evaluated(i)
        for name, values in of_fold.items():
            scores[name][0][places[0]] = values[: len(places[0])]
            scores[name][1][places[1]] = values[len(places[0]) :]
    return scores


def some(rows: NDArray[Any], most: int, rng: np.random.Generator) -> NDArray[Any]:
    """So many of the rows at most, in their order."""
    return rows if len(rows) <= most else rows[np.sort(rng.permutation(len(rows))[:most])]


def _both(
    rows: tuple[NDArray[Any], NDArray[Any]], chosen: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> NDArray[Any]:
    """Chosen real samples, then chosen generated ones."""
    return np.concatenate([of_class[c] for of_class, c in zip(rows, chosen, strict=True)])


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Classifiers that follow from means and covariances, which add up over folds."""

    sketched: tuple[NDArray[Any], NDArray[Any]]
    parts: Sequence[tuple[Moments, Moments]]  # of the samples that each fold evaluates
    whole: tuple[Moments, Moments]

    @classmethod
    def of(cls, classes: Classes) -> "_Moments":
        sketched = few_directions(classes.scaled[0]), few_directions(classes.scaled[1])
        cores = classes.real.core, classes.generated.core
        centers = [
            rows[core].mean(axis=0, dtype=np.float64)
            for rows, core in zip(sketched, cores, strict=True)
        ]

        def part(i: int) -> tuple[Moments, Moments]:
            real, generated = (
                Moments.of(rows[places[core[places]]], center)
                for rows, core, center, places in zip(
                    sketched, cores, centers, classes.evaluated(i), strict=True
                )
            )
            return real, generated

        parts = in_threads(part, range(len(classes.folds)), classes.threads)
        real, generated = (reduce(Moments.plus, of_class) for of_class in zip(*parts, strict=True))
        return cls(sketched, parts, (real, generated))

    def judge(self, i: int, classes: Classes) -> dict[str, Floats]:
        """Judge the samples of a fold by the moments of all others."""
        fitted = [whole.less(part) for whole, part in zip(self.whole, self.parts[i], strict=True)]
        judged = _both(self.sketched, classes.evaluated(i))
        real, generated = map(Ellipsoid.of, fitted)
        within = Ellipsoid.of(reduce(Moments.plus, (m.around_mean for m in fitted)))
        apart = real.mean - generated.mean
        factor = scipy.linalg.cho_factor(within.covariance, lower=True)
        solved = scipy.linalg.cho_solve(factor, apart)
        spread = math.sqrt(float(apart @ within.covariance @ apart)) or 1.0
        centered = judged - ((real.mean + generated.mean) / 2).astype(np.float32)
        directions = np.stack([solved, apart / spread], axis=1).astype(np.float32)
        linear, centroid = (centered @ directions).T.astype(np.float64)
        quadratic = _log_density(real, judged) - _log_density(generated, judged)
        return {"linear": linear, "centroid": centroid, "quadratic": quadratic}


def _log_density(ellipsoid: Ellipsoid, rows: NDArray[Any]) -> Floats:
    """Logarithm of a Gaussian density, up to what all have in common."""
    whitening = ellipsoid.whitening()
    radii = squared_norms(ellipsoid.whiten(rows, whitening))
    return np.asarray(-radii / 2 - ellipsoid.log_volume(whitening))


def _box(fitted: Sequence[NDArray[Any]], judged: NDArray[Any]) -> Floats:
    """How much farther beyond the range of generated than of real; 0 within both."""
    of_real, of_generated = (np.maximum(Box.of(rows).beyond(judged)[0], 0.0) for rows in fitted)
    return np.asarray(of_generated - of_real)


def _grid(classes: Classes, i: int) -> Floats:
    """How much farther off the grid of generated than of real."""
    raw = classes.real.raw
    judged = _both(raw, classes.evaluated(i))
    of_real, of_generated = (
        off_grid(grids_of(rows[fitted]), judged)[0]
        for rows, fitted in zip(raw, classes.fitted(i), strict=True)
    )
    return np.asarray(of_generated - of_real)


def _boosting(fitted: Sequence[NDArray[Any]], judged: NDArray[Any], seed: int) -> Floats:
    """Log odds by boosted trees, fitted on 1 000 samples of a class at most; all are judged.

    Beside the features the trees see how far a sample is from the middle of either class: what
    differs in its norm differs little in every feature.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(seed)
    chosen = [some(rows, _BOOSTED_ON, rng) for rows in fitted]
    middles = [in_spreads(rows).mean(axis=0) for rows in chosen]
    telling = most_telling(chosen[0], chosen[1], _FEATURES_TO_BOOST)
    *chosen, judged = (_with_radii(rows, middles, telling) for rows in (*chosen, judged))
    labels = np.repeat([1, 0], [len(rows) for rows in chosen])
    order = rng.permutation(len(labels))
    trees = HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=_N_TREES,
        max_leaf_nodes=8,
        max_bins=63,
        early_stopping=False,
        random_state=seed,
    )
    with _ONE_AT_A_TIME:
        trees.fit(np.concatenate(chosen)[order], labels[order])
        return np.asarray(trees.decision_function(judged), np.float64)


def most_telling(
    real: NDArray[Any], generated: NDArray[Any], most: int
) -> NDArray[np.intp] | slice:
    """Which features differ most on their own, by the distance of Kolmogorov & Smirnov."""
    if real.shape[1] <= most:
        return slice(None)
    both = np.concatenate([real, generated])
    order = np.argsort(both, axis=0, kind="stable")
    values = np.take_along_axis(both, order, axis=0)
    steps = np.where(order < len(real), 1 / len(real), -1 / len(generated))
    apart = np.abs(np.cumsum(steps, axis=0)[:-1])
    apart[values[1:] == values[:-1]] = 0.0  # between equal values there is nothing to tell
    return np.sort(np.argsort(-apart.max(axis=0), kind="stable")[:most])


def _with_radii(
    rows: NDArray[Any], middles: Sequence[NDArray[Any]], features: NDArray[np.intp] | slice
) -> NDArray[Any]:
    """Some features, then the squared distance from each middle over all, in spreads."""
    radii = np.empty((len(rows), len(middles)), rows.dtype)
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        tile = in_spreads(rows[start : start + _ROWS_AT_A_TIME])
        for j, middle in enumerate(middles):
            radii[start : start + len(tile), j] = squared_norms(tile - middle)
    return np.concatenate([rows[:, features], radii], axis=1)


def comparable(scores: Scores, folds: Sequence[Fold], reference: int) -> Scores:
    """Put the scores of all folds on one scale: that of a fold's own references.

    Parameters
    ----------
    reference
        0 for real, 1 for generated.
    """
    put: Scores = (np.empty_like(scores[0]), np.empty_like(scores[1]))
    for fold in folds:
        places = fold.real.evaluated.stored, fold.generated.evaluated.stored
        first, middle, third = np.quantile(scores[reference][places[reference]], [0.25, 0.5, 0.75])
        for out, values, chosen in zip(put, scores, places, strict=True):
            out[chosen] = (values[chosen] - middle) / ((third - first) or 1.0)
    return put
