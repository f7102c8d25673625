"""Features in units that no outlier decides: around a median, over a robust spread."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.runtime.threads import in_threads

Floats = NDArray[np.float64]

_COLUMNS_AT_A_TIME = 64
_ROWS_AT_A_TIME = 4096
_QUARTILES = 0.25, 0.75
_INNER = 0.01, 0.99
_INNER_RANGE = 3.449  # of a Gaussian, in interquartile ranges
_ENOUGH = 20  # deviating samples to take a spread from: each decides it by a few per cent at most


@dataclass(frozen=True, slots=True, eq=False)
class RobustScale:
    """A median and a spread of each feature of one class.

    The spread is the interquartile range, or the range of the inner 98 % in units that would make
    it the same for a Gaussian, if that is more: of a feature that is zero for three samples of four
    the former is next to nothing. Where both are 0 it is the median of the deviations that are not,
    if twenty samples deviate. Of features with fewer it is, for all of them alike, the median over
    the samples that deviate in any of them, each by its smallest deviation: a spread of a few
    samples' own would make exactly these look ordinary.

    A sample's coordinate is arsinh z, z its distance from the median in spreads: z itself where
    most samples are, log 2z in the tails. So a feature with heavy tails has no more say in a
    distance than others, and no single sample moves a mean or a range by much. Beyond the inner
    98 % by √n spreads and more, all is the same: outside by any measure.
    """

    center: Floats  # (d,)
    spread: Floats  # (d,) positive
    low: Floats  # (d,) in spreads: where the same begins
    high: Floats  # (d,)

    @classmethod
    def of(cls, rows: Rows, threads: int = 1) -> Self:
        """Measure the features of some samples."""
        starts = range(0, rows.n_features, _COLUMNS_AT_A_TIME)

        def measure(start: int) -> tuple[Floats, Floats]:
            return _measured(_columns(rows, start))

        measured = in_threads(measure, starts, threads)
        center, spread, low, high = np.concatenate([found for found, _ in measured], axis=1)
        smallest = np.min([deviations for _, deviations in measured], axis=0)
        spread[spread == 0.0] = _lower_median(smallest[np.isfinite(smallest)])
        reach = np.sqrt(len(rows))
        with np.errstate(over="ignore"):
            ends = (low - center) / spread - reach, (high - center) / spread + reach
        return cls(center, spread, *ends)

    def apply(self, rows: Rows) -> Rows:
        """Return samples in these coordinates."""
        scaled = np.empty((len(rows), rows.n_features), np.float32)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            tile = rows.tile(start, start + _ROWS_AT_A_TIME)
            z: NDArray[Any] = np.subtract(tile, self.center, dtype=np.float64)
            with np.errstate(over="ignore"):
                z /= self.spread
            scaled[start : start + len(tile)] = np.arcsinh(np.clip(z, self.low, self.high))
        return Rows(scaled)


def in_spreads(coordinates: NDArray[Any]) -> NDArray[Any]:
    """Return z itself of coordinates arsinh z: distances from the median in spreads."""
    return np.asarray(np.sinh(coordinates))


def _columns(rows: Rows, start: int) -> Floats:
    """Some features of all samples, (c, n)."""
    columns = rows.array[:, start : start + _COLUMNS_AT_A_TIME]
    chosen = columns if rows.selection is None else columns[rows.selection]
    return np.array(chosen.T, dtype=np.float64, order="C")


def _measured(columns: Floats) -> tuple[Floats, Floats]:
    """Center, spread and both ends of the inner range, of columns (c, n): (4, c).

    A spread of 0 is left open. Then, too: how far each sample deviates in such features at least,
    (n,), infinite where it does not.
    """
    ordered = np.sort(columns, axis=1)
    center = _quantile(ordered, 0.5)
    low, high = (_quantile(ordered, share) for share in _INNER)
    first, third = (_quantile(ordered, share) for share in _QUARTILES)
    spread = np.maximum(third - first, (high - low) / _INNER_RANGE)
    smallest = np.full(columns.shape[1], np.inf)
    for j in np.flatnonzero(spread == 0):
        deviations = np.abs(columns[j] - center[j])
        deviations[deviations == 0] = np.inf
        deviating = deviations[np.isfinite(deviations)]
        if len(deviating) >= _ENOUGH:
            spread[j] = _lower_median(deviating)
        else:
            np.minimum(smallest, deviations, out=smallest)
    return np.stack([center, spread, low, high]), smallest


def _lower_median(values: Floats) -> float:
    """Median, the lower of two; 1 of nothing."""
    return float(np.sort(values)[(len(values) - 1) // 2]) if len(values) else 1.0


def _quantile(ordered: Floats, share: float) -> Floats:
    """A value of each sorted column, never the outermost: one outlier decides no spread."""
    n = ordered.shape[1]
    rank = min(max(round(share * (n - 1)), 1), n - 2)
    return np.asarray(ordered[:, rank])
