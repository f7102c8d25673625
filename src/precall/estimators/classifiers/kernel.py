"""Kernel discriminant analysis (Sykes et al. 2024 §5.2; Ghosh & Chaudhuri 2004)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.estimators.classifiers.scales import (
    calibration,
    in_row_tiles,
    mean_risk,
    standardizing,
)
from precall.runtime.threads import in_threads, single_threaded_libraries

Floats = NDArray[np.float64]

_BANDWIDTHS = tuple(2.0**power for power in range(-4, 4))
_MOST_HELD_OUT = 2000  # samples of each class
_ROWS_AT_A_TIME = 256
_ROUNDING = 1e-9  # of squared distances, in units of squared norms


@dataclass(slots=True, eq=False)
class KernelDiscriminant:
    """Compare Gaussian kernel densities of both classes, of standardized features.

    One bandwidth for both, chosen on a quarter of the samples to fit by the risk averaged over λ.
    A narrow kernel asks the nearest sample, a very wide one which mean is nearer.
    """

    bandwidths: Sequence[float] = _BANDWIDTHS  # in units of the median distance of the samples
    seed: int = 0  # of the quarter
    threads: int = 1  # which never changes a number
    choice: str = field(default="", init=False)
    _standardize: Callable[[NDArray[Any]], Floats] = field(init=False, repr=False)
    _classes: tuple[Floats, Floats] = field(init=False, repr=False)  # real, generated
    _squared_bandwidth: float = field(init=False, repr=False)
    _calibration: tuple[float, float] = field(default=(1.0, 0.0), init=False, repr=False)

    def fit(self, rows: NDArray[Any], is_real: NDArray[Any]) -> Self:
        """Train on rows (n, d), of which those with ``is_real`` are real."""
        is_real = np.asarray(is_real, dtype=bool)
        self._standardize = standardizing(rows, is_real)
        standardized = self._standardize(rows)
        self._classes = standardized[is_real], standardized[~is_real]
        rng = np.random.default_rng(self.seed)
        orders = [rng.permutation(np.flatnonzero(is_real == real)) for real in (True, False)]
        divided = [np.split(order, [min(len(order) // 4, _MOST_HELD_OUT)]) for order in orders]
        unit = self._squared_bandwidth = _median_squared_distance(rng.permutation(standardized))
        if any(len(judged) == 0 for judged, _ in divided):
            return self
        held_out = np.concatenate([judged for judged, _ in divided])
        fitted = [standardized[kept] for _, kept in divided]
        candidates = [unit * bandwidth**2 for bandwidth in self.bandwidths]
        scores = self._log_odds(standardized[held_out], fitted, candidates)
        t = int(np.argmin([mean_risk(column, is_real[held_out]) for column in scores.T]))
        self._squared_bandwidth = candidates[t]
        self._calibration = calibration(scores[:, t], is_real[held_out])
        self.choice = f"bandwidth {self.bandwidths[t]:.3g}"
        return self

    def decision_function(self, rows: NDArray[Any]) -> Floats:
        """Return the log odds of real for each row (n, d)."""

        def judge(tile: NDArray[Any]) -> Floats:
            bandwidths = [self._squared_bandwidth]
            return self._log_odds(self._standardize(tile), self._classes, bandwidths)[:, 0]

        slope, offset = self._calibration
        return slope * in_row_tiles(judge, rows) + offset

    def _log_odds(
        self, rows: Floats, classes: Sequence[Floats], squared_bandwidths: Sequence[float]
    ) -> Floats:
        """Log ratio of the kernel sums over both classes, (n, n_bandwidths)."""

        def of_tile(tile: Floats) -> Floats:
            real, generated = (_log_kernel_sums(tile, c, squared_bandwidths) for c in classes)
            return real - generated

        tiles = (rows[i : i + _ROWS_AT_A_TIME] for i in range(0, len(rows), _ROWS_AT_A_TIME))
        with single_threaded_libraries():
            return np.concatenate(in_threads(of_tile, tiles, self.threads))


def _log_kernel_sums(
    tile: Floats, references: Floats, squared_bandwidths: Sequence[float]
) -> Floats:
    """Log Σ exp(−d²/2h²) over the references, (n_tile, n_bandwidths)."""
    squared = _squared_distances(tile, references)
    nearest = squared.min(axis=1, keepdims=True)
    squared -= nearest
    sums = [
        np.log(np.exp(squared / (-2 * h2)).sum(axis=1)) - nearest[:, 0] / (2 * h2)
        for h2 in squared_bandwidths
    ]
    return np.stack(sums, axis=1)


def _squared_distances(a: Floats, b: Floats) -> Floats:
    squared = a @ b.T
    squared *= -2
    squared += np.sum(a**2, axis=1)[:, None]
    squared += np.sum(b**2, axis=1)
    return np.maximum(squared, 0.0, out=squared)


def _median_squared_distance(shuffled: Floats) -> float:
    """Median over pairs of some samples; 1 where most are the same."""
    some = shuffled[:1000]
    with single_threaded_libraries():
        squared = _squared_distances(some, some)
    median = float(np.median(squared[np.triu_indices(len(some), 1)]))
    return median if median > _ROUNDING * float(np.mean(some**2)) * some.shape[1] else 1.0
