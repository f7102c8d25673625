"""What a feature file holds."""

import os
from dataclasses import dataclass
from typing import Self

import numpy as np

from precall.data.feature_sets import FeatureSet

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True)
class FeatureInfo:
    """The features of one file, in a few numbers."""

    features: FeatureSet
    smallest: float
    largest: float
    mean: float
    deviation: float  # over all values
    share_of_zeros: float

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file once."""
        features = FeatureSet.of(path, "file")
        shift = float(features.rows.tile(0, 1).astype(np.float64).mean())
        smallest, largest, total, squares, n_zero = np.inf, -np.inf, 0.0, 0.0, 0
        for tile in features.rows.tiles(_ROWS_AT_A_TIME):
            smallest, largest = min(smallest, float(tile.min())), max(largest, float(tile.max()))
            shifted = tile.astype(np.float64) - shift
            total += float(shifted.sum())
            squares += float((shifted**2).sum())
            n_zero += int(np.count_nonzero(tile == 0))
        size = len(features) * features.n_features
        variance = max(squares / size - (total / size) ** 2, 0.0)
        mean, deviation = shift + total / size, variance**0.5
        return cls(features, smallest, largest, mean, deviation, n_zero / size)

    def __str__(self) -> str:
        lines = {
            "file": self.features.source,
            "samples": len(self.features),
            "features": self.features.n_features,
            "type": self.features.input_dtype,
            "values": f"{_shown(self.smallest)} to {_shown(self.largest)}",
            "mean": f"{_shown(self.mean)} ± {_shown(self.deviation)}",
            "zeros": f"{100 * self.share_of_zeros:.1f} %",
            "constant features": self.features.n_constant,
            "repeated features": self.features.n_copied,
            "fingerprint": self.features.fingerprint,
        }
        return "\n".join(f"{name:18s} {value}" for name, value in lines.items())


def _shown(value: float) -> str:
    return f"{value + 0.0:.6g}"  # which makes 0 of -0
