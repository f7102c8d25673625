"""Features of mean 0 and variance 1, whatever their offset and scale."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FARTHEST = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Standardizer:
    """Subtracts a mean and divides by a deviation, feature by feature."""

    mean: Floats  # (d,)
    deviation: Floats  # (d,), 1 for a feature that is constant

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self:
        """Measure rows (n, d), one column at a time in float64."""
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
            deviation[j] = reach * scaled.std() or 1.0  # which may underflow
        return cls(mean, deviation)

    def apply(self, rows: NDArray[Any]) -> Floats:
        """Return the standardized rows in float64; nothing is farther out than a million."""
        standardized: Floats = np.subtract(rows, self.mean, dtype=np.float64)
        with np.errstate(over="ignore"):
            standardized /= self.deviation
        return np.clip(standardized, -_FARTHEST, _FARTHEST, out=standardized)
