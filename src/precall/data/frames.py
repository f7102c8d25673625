"""Features around their common mean, for what needs no exact distances."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, FloatRows
from precall.runtime.threads import in_threads

_TILE = 1024  # rows
_N_PROBES = 64
_SPARE = 1000.0
_SAFE_EXPONENT = 1000  # of a power of two that is a normal number, and its inverse


def over_power_of_two(values: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Divide by 2**exponent without rounding, in place where a product serves: ldexp is slow."""
    if abs(exponent) > _SAFE_EXPONENT:
        return np.asarray(np.ldexp(values, -exponent))
    values *= 2.0**-exponent
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The mean of several sets, and a power of two: around it and over this all lie within ±1."""

    center: NDArray[np.float64]  # (d,)
    exponent: int

    @classmethod
    def around(cls, sets: Sequence[FeatureSet], threads: int = 1) -> Self:
        """Find the frame of all samples together."""
        tiles = [(side, start) for side in sets for start in range(0, len(side), _TILE)]

        def total(at: tuple[FeatureSet, int]) -> NDArray[np.float64]:
            return np.asarray(_tile(*at).sum(axis=0, dtype=np.float64))

        mean = np.sum(in_threads(total, tiles, threads), axis=0) / sum(map(len, sets))

        def farthest(at: tuple[FeatureSet, int]) -> float:
            return float(np.abs(_tile(*at) - mean).max())

        return cls(mean, math.frexp(max(in_threads(farthest, tiles, threads)))[1])

    def apply(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return rows as they are in this frame."""
        return over_power_of_two(rows - self.center, self.exponent)

    def dense(self, sets: Sequence[FeatureSet], dtype: type[np.floating]) -> NDArray[np.floating]:
        """Return all sets in one array; no more than a tile of the rows is ever held twice."""
        rows = np.empty((sum(map(len, sets)), len(self.center)), dtype)
        start = 0
        for tile in _tiles(sets):
            rows[start : start + len(tile)] = self.apply(tile)
            start += len(tile)
        return rows

    def float32_tells_neighbors_apart(self, sets: Sequence[FeatureSet]) -> bool:
        """Whether products in float32 resolve the distance of neighbours, judged by some rows."""
        n, first = sum(map(len, sets)), 0
        chosen, found = np.arange(0, n, max(1, n // _N_PROBES)), []
        for side in sets:
            here = chosen[(chosen >= first) & (chosen < first + len(side))] - first
            found.append(self.apply(side.select(here).tile(0, len(here))).astype(np.float32))
            first += len(side)
        probes = np.concatenate(found).astype(np.float64)
        norms = np.einsum("ij,ij->i", probes, probes)
        squared = norms[:, None] + norms - 2 * probes @ probes.T
        # Among so few the nearest is farther than among all, in d dimensions by at most this.
        ratio = (len(probes) / n) ** (2 / probes.shape[1])
        np.fill_diagonal(squared, np.inf)
        nearest = float(np.median(squared.min(axis=1))) * ratio
        resolution = float(np.finfo(np.float32).eps) * float(norms.max())
        return bool(nearest > _SPARE * resolution)


def _tile(side: FeatureSet, start: int) -> FloatRows:
    return side.rows.tile(start, start + _TILE)


def _tiles(sets: Sequence[FeatureSet]) -> Iterator[FloatRows]:
    return (tile for side in sets for tile in side.rows.tiles(_TILE))
