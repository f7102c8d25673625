"""The classifier of Simon et al. 2019 §6: linear classifiers whose median decides."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import ErrorRates, Evidence
from precall.estimators.classifiers.log_odds import calibration
from precall.estimators.classifiers.standardizer import Standardizer
from precall.runtime.threads import in_threads, single_threaded_libraries

Floats = NDArray[np.float64]

_DECAYS = tuple(float(decay) for decay in np.geomspace(1e-4, 1e2, 7))
_PLAIN_DECAY = 1.0
_ROWS_AT_A_TIME = 4096


@dataclass(slots=True, eq=False)
class LinearEnsemble:
    """Logistic regressions on standardized features, whose median decides.

    The samples to fit are dealt into as many parts as there are members; each member fits all but
    one part. Some of the parts left out choose one weight decay for all, by the risk averaged over
    λ, and all of them turn the median into log odds. Only samples to fit are looked at.

    Parameters
    ----------
    n_members
        Number of classifiers; 10 in the paper.
    decays
        Weight decays to choose from, in units of a standardized feature's variance.
    n_choosing
        Number of members that try every weight decay.
    n_steps
        Newton steps, all with the Hessian that bounds every other from above (Böhning 1992). The
        first step is the least-squares classifier. Few steps are weight decay of their own where
        the classes can be separated.
    seed, threads
        Of the parts; of the members, which never changes a number.
    """

    n_members: int = 10
    decays: Sequence[float] = _DECAYS
    n_choosing: int = 3
    n_steps: int = 8
    seed: int = 0
    threads: int = 1
    choice: str = field(default="", init=False)
    _space: "_Space" = field(init=False, repr=False)
    _weights: Floats = field(init=False, repr=False)  # (r, n_members), without the offsets
    _calibration: tuple[float, float] = field(default=(1.0, 0.0), init=False, repr=False)

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        is_real = np.asarray(is_real, dtype=bool)
        with single_threaded_libraries():
            self._space = _Space.of(rows)
            parts = _deal(is_real, self.n_members, self.seed)
            blocks = [_Block(self._space.apply(rows[part]), is_real[part]) for part in parts]
            members = _Members.of(blocks, self.n_steps, self.threads)
            decay, weights = self._choose_decay(members)
            rest = [(j, decay) for j in range(weights.shape[1], len(blocks))]
            weights = np.concatenate([weights, members.train(rest)], axis=1)
            held_out = [block.score(w) for block, w in zip(blocks, weights.T, strict=True)]
        self._weights, self._calibration = weights[:-1], (1.0, float(np.median(weights[-1])))
        if len(blocks) > 1:
            truth = np.concatenate([block.is_real for block in blocks])
            self._calibration = calibration(np.concatenate(held_out), truth)
        self.choice = f"weight decay {decay:.3g}"
        return self

    def decision_function(self, rows: NDArray[Any]) -> Floats:
        """Return the log odds of real for each row (n, d)."""
        medians = [np.zeros(0)]
        with single_threaded_libraries():
            for start in range(0, len(rows), _ROWS_AT_A_TIME):
                tile = self._space.apply(rows[start : start + _ROWS_AT_A_TIME])
                medians.append(np.median(tile[:, :-1] @ self._weights, axis=1))
        slope, offset = self._calibration
        return slope * np.concatenate(medians) + offset

    def _choose_decay(self, members: "_Members") -> tuple[float, Floats]:
        """Let some members try every decay; return the best, and their weights at it."""
        blocks = members.blocks
        if len(blocks) == 1:  # nothing is left out to judge by
            plain = min(self.decays, key=lambda decay: abs(math.log(decay / _PLAIN_DECAY)))
            return plain, np.zeros((blocks[0].rows.shape[1], 0))
        choosing = blocks[: self.n_choosing]
        weights = [members.train([(j, t) for t in self.decays]) for j in range(len(choosing))]
        scores = np.concatenate([b.score(w) for b, w in zip(choosing, weights, strict=True)])
        truth = np.concatenate([block.is_real for block in choosing])
        risks = [mean_risk(column, truth) for column in scores.T]
        t = len(risks) - 1 - int(np.argmin(risks[::-1]))  # of equals the simplest
        return self.decays[t], np.stack([w[:, t] for w in weights], axis=1)


def mean_risk(scores: Floats, is_real: NDArray[np.bool_]) -> float:
    """Risk averaged over λ of the classifiers that cut ``scores`` somewhere."""
    from scipy.special import expit

    centered = scores - np.median(scores)
    spread = float(np.abs(centered).max())
    scaled = centered * (20 / spread) if spread > 0 else centered  # expit keeps the order
    return ErrorRates.of(Evidence(expit(scaled), expit(-scaled), is_real)).mean_risk


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some samples in the space of the classifiers."""

    rows: Floats  # (n, r + 1)
    is_real: NDArray[np.bool_]  # (n,)

    def score(self, weights: Floats) -> Floats:
        """Scores without the offset, which depends on how many of each class were fitted."""
        return np.asarray(self.rows[:, :-1] @ weights[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """Logistic regressions, each on all blocks but its own; on the only one, if there is one."""

    blocks: list[_Block]
    grams: list[Floats]  # (r + 1, r + 1) of each block
    gram: Floats  # their sum
    n_steps: int
    threads: int

    @classmethod
    def of(cls, blocks: list[_Block], n_steps: int, threads: int) -> Self:
        grams = in_threads(lambda block: block.rows.T @ block.rows, blocks, threads)
        return cls(blocks, grams, functools.reduce(np.add, grams), n_steps, threads)

    def train(self, members: Sequence[tuple[int, float]]) -> Floats:
        """Weights (r + 1, n), one column for each pair of a member's own block and a decay."""
        from scipy.linalg import cho_solve
        from scipy.special import expit

        if not members:
            return np.zeros((len(self.grams[0]), 0))
        factors = in_threads(self._factor, members, self.threads)
        own = np.array([j for j, _ in members])
        n = np.array([self._n_fitted(j) for j in own])
        penalties = np.outer(self._penalty(), [decay for _, decay in members])
        weights = np.zeros(penalties.shape)

        def gradient(i: int) -> Floats:
            residual = expit(self.blocks[i].rows @ weights)
            residual -= self.blocks[i].is_real[:, None]
            if len(self.blocks) > 1:
                residual[:, own == i] = 0.0
            return np.asarray(self.blocks[i].rows.T @ residual)

        for _ in range(self.n_steps):
            parts = in_threads(gradient, range(len(self.blocks)), self.threads)
            slope = penalties * weights + np.sum(parts, axis=0) / n
            weights -= np.stack(
                [cho_solve(factor, slope[:, t]) for t, factor in enumerate(factors)], axis=1
            )
        return weights

    def _factor(self, member: tuple[int, float]) -> Any:
        """Cholesky factor of the bound on the Hessian, XᵀX/4n and the decay."""
        from scipy.linalg import cho_factor

        own, decay = member
        gram = self.gram - self.grams[own] if len(self.grams) > 1 else self.gram.copy()
        gram /= 4 * self._n_fitted(own)
        gram[np.diag_indices_from(gram)] += decay * self._penalty()
        return cho_factor(gram, lower=True, overwrite_a=True)

    def _n_fitted(self, own: int) -> int:
        left_out = len(self.blocks[own].is_real) if len(self.blocks) > 1 else 0
        return sum(len(block.is_real) for block in self.blocks) - left_out

    def _penalty(self) -> Floats:
        """1 for each weight, 0 for the offset, which does not decay."""
        return np.append(np.ones(len(self.grams[0]) - 1), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Standardized features with a last one that is always 1.

    Where there are more features than samples, only the span of the samples: weight decay keeps
    the weights in it, so nothing is lost.
    """

    standardizer: Standardizer
    basis: Floats | None  # (d, r)

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self:
        standardizer = Standardizer.of(rows)
        if rows.shape[1] <= len(rows):
            return cls(standardizer, None)
        standardized = standardizer.apply(rows)
        values, vectors = np.linalg.eigh(standardized @ standardized.T)
        kept = values > len(rows) * float(np.finfo(np.float64).eps) * max(values.max(), 0.0)
        return cls(standardizer, standardized.T @ (vectors[:, kept] / np.sqrt(values[kept])))

    def apply(self, rows: NDArray[Any]) -> Floats:
        standardized = self.standardizer.apply(rows)
        features = standardized if self.basis is None else standardized @ self.basis
        return np.concatenate([features, np.ones((len(rows), 1))], axis=1)


def _deal(is_real: NDArray[np.bool_], n_parts: int, seed: int) -> list[NDArray[np.intp]]:
    """Deal both classes evenly into parts: fewer, if a class has fewer samples than that."""
    rng = np.random.default_rng(seed)
    classes = [rng.permutation(np.flatnonzero(is_real == real)) for real in (True, False)]
    n_parts = min(n_parts, *map(len, classes))
    return [np.sort(np.concatenate([c[i::n_parts] for c in classes])) for i in range(n_parts)]
