"""The classifier of Simon et al. 2019 §6: linear classifiers whose median decides."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.estimators.classifiers.scales import (
    calibration,
    in_row_tiles,
    mean_risk,
    standardizing,
)
from precall.runtime.threads import in_threads, single_threaded_libraries

Floats = NDArray[np.float64]

_DECAYS = tuple(float(decay) for decay in np.geomspace(1e-4, 1e2, 7))
_PLAIN_DECAY = 1.0
_SMALL_GRAM = 2**16  # numbers: of larger ones the factors of few members fill the memory
_WORTH_THREADS = 2**22  # products of numbers; with fewer, starting threads takes longer


@dataclass(slots=True, eq=False)
class LinearEnsemble:
    """Logistic regressions on standardized features, whose median decides.

    The samples to fit are dealt into as many parts as there are members; each member fits all but
    one part. Some of the parts left out choose one weight decay for all, by the risk averaged over
    λ, and all of them turn the median into log odds. Only samples to fit are looked at.

    Newton steps are all with the Hessian that bounds every other from above (Böhning 1992). The
    first is the least-squares classifier. Few steps are weight decay of their own where the classes
    can be separated.
    """

    n_members: int = 10  # as in the paper
    decays: Sequence[float] = _DECAYS  # in units of a standardized feature's variance
    n_choosing: int = 3  # members that try every weight decay
    n_steps: int = 8
    seed: int = 0  # of the parts
    threads: int = 1  # of the members, which never changes a number
    choice: str = field(default="", init=False)
    _enter: Callable[[NDArray[Any]], Floats] = field(init=False, repr=False)
    _weights: Floats = field(init=False, repr=False)  # (r, n_members), without the offsets
    _calibration: tuple[float, float] = field(default=(1.0, 0.0), init=False, repr=False)

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        is_real = np.asarray(is_real, dtype=bool)
        with single_threaded_libraries():
            self._enter = _entering(rows, is_real)
            parts = _deal(is_real, self.n_members, self.seed)
            spaced = [self._enter(rows[part]) for part in parts]
            threads = self._threads_for(len(rows) * spaced[0].shape[1] ** 2)
            grams = in_threads(lambda part: part.T @ part, spaced, threads)
            truths = [is_real[part] for part in parts]
            blocks = list(map(_Block, spaced, truths, grams))
            decay, weights = self._choose_decay(blocks)
            rest = [(j, decay) for j in range(weights.shape[1], len(blocks))]
            weights = np.concatenate([weights, self._train(blocks, rest)], axis=1)
            held_out = [block.score(w) for block, w in zip(blocks, weights.T, strict=True)]
        self._weights, self._calibration = weights[:-1], (1.0, float(np.median(weights[-1])))
        if len(blocks) > 1:
            self._calibration = calibration(np.concatenate(held_out), np.concatenate(truths))
        self.choice = f"weight decay {decay:.3g}"
        return self

    def decision_function(self, rows: NDArray[Any]) -> Floats:
        """Return the log odds of real for each row (n, d)."""

        def median(tile: NDArray[Any]) -> Floats:
            return np.asarray(np.median(self._enter(tile)[:, :-1] @ self._weights, axis=1))

        slope, offset = self._calibration
        with single_threaded_libraries():
            return slope * in_row_tiles(median, rows) + offset

    def _choose_decay(self, blocks: list["_Block"]) -> tuple[float, Floats]:
        """Let some members try every decay; return the best, and their weights at it."""
        if len(blocks) == 1:  # nothing is left out to judge by
            plain = min(self.decays, key=lambda decay: abs(math.log(decay / _PLAIN_DECAY)))
            return plain, np.zeros((blocks[0].rows.shape[1], 0))
        choosing = blocks[: self.n_choosing]
        members = [(j, decay) for j in range(len(choosing)) for decay in self.decays]
        at_once = len(members) if blocks[0].gram.size <= _SMALL_GRAM else len(self.decays)
        starts = range(0, len(members), at_once)
        trained = [self._train(blocks, members[i : i + at_once]) for i in starts]
        weights = np.split(np.concatenate(trained, axis=1), len(choosing), axis=1)
        scores = np.concatenate([b.score(w) for b, w in zip(choosing, weights, strict=True)])
        truth = np.concatenate([block.is_real for block in choosing])
        risks = [mean_risk(column, truth) for column in scores.T]
        t = len(risks) - 1 - int(np.argmin(risks[::-1]))  # of equals the simplest
        return self.decays[t], np.stack([w[:, t] for w in weights], axis=1)

    def _train(self, blocks: list["_Block"], members: Sequence[tuple[int, float]]) -> Floats:
        """Train members on all blocks but their own; on the only one, if there is one.

        Returns weights (r + 1, n), one column for each pair of an own block and a decay.
        """
        leave_out = len(blocks) > 1
        own = np.array([j for j, _ in members], dtype=np.intp)
        sizes = np.array([len(block.is_real) for block in blocks])
        n = sizes.sum() - leave_out * sizes[own]
        gram = functools.reduce(np.add, [block.gram for block in blocks])
        decaying = np.append(np.ones(len(gram) - 1), 0.0)  # all weights, but not the offset
        penalties = np.outer(decaying, [decay for _, decay in members])
        weights = np.zeros(penalties.shape)

        def factor(t: int) -> Any:
            """Cholesky factor of the bound on the Hessian, XᵀX/4n and the decay."""
            bound = (gram - leave_out * blocks[own[t]].gram) / (4 * n[t])
            bound.flat[:: len(bound) + 1] += penalties[:, t]
            found, info = scipy.linalg.lapack.dpotrf(bound, lower=1, clean=0, overwrite_a=1)
            if info:
                raise np.linalg.LinAlgError(f"the bound on the Hessian is singular ({info}).")
            return found

        def gradient(i: int) -> Floats:
            residual = scipy.special.expit(blocks[i].rows @ weights)
            residual -= blocks[i].is_real[:, None]
            residual[:, leave_out & (own == i)] = 0.0
            return np.asarray(blocks[i].rows.T @ residual)

        factors = in_threads(factor, range(len(members)), self._threads_for(gram.size * len(gram)))
        threads = self._threads_for(int(sizes.sum()) * weights.size)
        for _ in range(self.n_steps):
            parts = in_threads(gradient, range(len(blocks)), threads)
            slope = penalties * weights + np.sum(parts, axis=0) / n
            for t in range(len(members)):
                weights[:, t] -= scipy.linalg.lapack.dpotrs(factors[t], slope[:, t], lower=1)[0]
        return weights

    def _threads_for(self, work: int) -> int:
        return self.threads if work >= _WORTH_THREADS else 1


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some samples in the space of the classifiers."""

    rows: Floats  # (n, r + 1)
    is_real: NDArray[np.bool_]  # (n,)
    gram: Floats  # (r + 1, r + 1)

    def score(self, weights: Floats) -> Floats:
        """Scores without the offset, which depends on how many of each class were fitted."""
        return np.asarray(self.rows[:, :-1] @ weights[:-1])


def _entering(rows: NDArray[Any], is_real: NDArray[np.bool_]) -> Callable[[NDArray[Any]], Floats]:
    """Return what turns rows into standardized features with a last one that is always 1.

    Where there are more features than samples, only the span of the samples: weight decay keeps
    the weights in it, so nothing is lost.
    """
    standardize, basis = standardizing(rows, is_real), None  # (d, r)
    if rows.shape[1] > len(rows):
        standardized = standardize(rows)
        values, vectors = np.linalg.eigh(standardized @ standardized.T)
        kept = values > len(rows) * float(np.finfo(np.float64).eps) * max(values.max(), 0.0)
        basis = standardized.T @ (vectors[:, kept] / np.sqrt(values[kept]))

    def enter(rows: NDArray[Any]) -> Floats:
        features = standardize(rows) if basis is None else standardize(rows) @ basis
        return np.concatenate([features, np.ones((len(rows), 1))], axis=1)

    return enter


def _deal(is_real: NDArray[np.bool_], n_parts: int, seed: int) -> list[NDArray[np.intp]]:
    """Deal both classes evenly into parts: fewer, if a class has fewer samples than that."""
    rng = np.random.default_rng(seed)
    classes = [rng.permutation(np.flatnonzero(is_real == real)) for real in (True, False)]
    n_parts = min(n_parts, *map(len, classes))
    return [np.sort(np.concatenate([c[i::n_parts] for c in classes])) for i in range(n_parts)]
