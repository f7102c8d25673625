"""The classifier of 003 §6: linear classifiers whose median decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.classifiers.log_odds import calibration
from precall.classifiers.standardizing import Standardizer
from precall.error_rates import ErrorRates
from precall.evidence import Evidence
from precall.parallel import in_threads, single_threaded_libraries

__all__ = ["LinearEnsemble"]

Floats = NDArray[np.float64]

_DECAYS = tuple(float(decay) for decay in np.geomspace(1e-4, 1e2, 7))
_PLAIN_DECAY = 1.0
_ROWS_AT_A_TIME = 4096


@dataclass(slots=True, eq=False)
class LinearEnsemble:
    """Logistic regressions on standardized features, whose median decides.

    The samples to fit are dealt into as many parts as there are members; each member fits all but
    one part. The parts left out choose one weight decay for all, by the risk averaged over λ, and
    turn the median into log odds. No sample but the fitted ones is looked at.

    Parameters
    ----------
    n_members
        Number of classifiers; 10 in the paper.
    decays
        Weight decays to choose from, in units of a standardized feature's variance.
    n_steps
        Newton steps, all with the Hessian that bounds every other from above (Böhning 1992). The
        first step is the least-squares classifier. Few steps are weight decay of their own where
        the classes can be separated.
    seed, threads
        Of the parts; of the members, which never changes a number.
    """

    n_members: int = 10
    decays: Sequence[float] = _DECAYS
    n_steps: int = 8
    seed: int = 0
    threads: int = 1
    choice: str = field(default="", init=False)
    _space: "_Space" = field(init=False, repr=False)
    _weights: Floats = field(init=False, repr=False)  # (r + 1, n_members)
    _calibration: tuple[float, float] = field(default=(1.0, 0.0), init=False, repr=False)

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        is_real = np.asarray(is_real, dtype=bool)
        with single_threaded_libraries():
            self._space = _Space.of(rows)
            parts = _deal(is_real, self.n_members, self.seed)
            blocks = [_Block(self._space.apply(rows[part]), is_real[part]) for part in parts]
            weights = self._train(blocks)
            held_out = [block.rows @ w for block, w in zip(blocks, weights, strict=True)]
        t = self._choose(np.concatenate(held_out), is_real[np.concatenate(parts)], len(blocks))
        self._weights = np.stack([w[:, t] for w in weights], axis=1)
        return self

    def decision_function(self, rows: NDArray[Any]) -> Floats:
        """Return the log odds of real for each row (n, d)."""
        medians = [np.zeros(0)]
        with single_threaded_libraries():
            for start in range(0, len(rows), _ROWS_AT_A_TIME):
                tile = self._space.apply(rows[start : start + _ROWS_AT_A_TIME])
                medians.append(np.median(tile @ self._weights, axis=1))
        slope, offset = self._calibration
        return slope * np.concatenate(medians) + offset

    def _train(self, blocks: "list[_Block]") -> list[Floats]:
        """Return each member's weights (r + 1, n_decays), fitted on all blocks but its own."""
        grams = in_threads(lambda block: block.rows.T @ block.rows, blocks, self.threads)
        total = np.sum(grams, axis=0)
        members = range(len(blocks))

        def train(j: int) -> Floats:
            others = [block for i, block in enumerate(blocks) if i != j or len(blocks) == 1]
            gram = total - grams[j] if len(blocks) > 1 else total
            return _logistic(others, gram, self.decays, self.n_steps)

        return in_threads(train, members, self.threads)

    def _choose(self, held_out: Floats, is_real: NDArray[np.bool_], n_blocks: int) -> int:
        """Return which decay serves best the samples that were left out, and calibrate by them."""
        if n_blocks == 1:  # nothing was left out
            t = int(np.argmin(np.abs(np.log(np.asarray(self.decays) / _PLAIN_DECAY))))
        else:
            risks = [mean_risk(scores, is_real) for scores in held_out.T]
            t = len(risks) - 1 - int(np.argmin(risks[::-1]))  # of equals the simplest
            self._calibration = calibration(held_out[:, t], is_real)
        self.choice = f"weight decay {self.decays[t]:.3g}"
        return t


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


def _logistic(
    blocks: Sequence[_Block], gram: Floats, decays: Sequence[float], n_steps: int
) -> Floats:
    """Weights (r + 1, n_decays) of logistic regressions with each decay; the offset has none."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import expit

    n = sum(len(block.is_real) for block in blocks)
    bound = gram / (4 * n)
    penalty = np.ones(len(gram))
    penalty[-1] = 0.0
    factors = [cho_factor(bound + np.diag(decay * penalty), lower=True) for decay in decays]
    penalties = np.outer(penalty, decays)
    weights = np.zeros((len(gram), len(decays)))
    for _ in range(n_steps):
        gradient = penalties * weights
        for block in blocks:
            residual = expit(block.rows @ weights)
            residual -= block.is_real[:, None]
            gradient += block.rows.T @ residual / n
        for t, factor in enumerate(factors):
            weights[:, t] -= cho_solve(factor, gradient[:, t])
    return weights
