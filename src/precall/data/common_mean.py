"""Features around their common mean, for what needs no exact distances."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet

__all__ = ["centred", "float32_tells_neighbors_apart"]

_TILE = 1024  # rows
_N_PROBES = 64
_SPARE = 1000.0


def centred(sets: Sequence[FeatureSet], dtype: type[np.floating]) -> NDArray[np.floating]:
    """Return all sets in one array around its mean, scaled by a power of 2 to lie within ±1.

    No more than a tile of the rows is ever held twice.
    """
    n = sum(map(len, sets))
    sums = [tile.sum(axis=0, dtype=np.float64) for side in sets for tile in side.rows.tiles(_TILE)]
    mean = np.sum(sums, axis=0) / n
    largest = max(
        float(np.abs(tile - mean).max()) for side in sets for tile in side.rows.tiles(_TILE)
    )
    exponent = math.frexp(largest)[1]
    rows = np.empty((n, len(mean)), dtype)
    start = 0
    for side in sets:
        for tile in side.rows.tiles(_TILE):
            rows[start : start + len(tile)] = np.ldexp(tile - mean, -exponent)
            start += len(tile)
    return rows


def float32_tells_neighbors_apart(rows: NDArray[np.floating]) -> bool:
    """Whether products in float32 resolve the distance of neighbours, judged by some rows."""
    probes = rows[:: max(1, len(rows) // _N_PROBES)].astype(np.float64)
    norms = np.einsum("ij,ij->i", probes, probes)
    squared = norms[:, None] + norms - 2 * probes @ probes.T
    # Among so few the nearest is farther than among all, in d dimensions by at most this factor.
    ratio = (len(probes) / len(rows)) ** (2 / max(rows.shape[1], 1))
    np.fill_diagonal(squared, np.inf)
    nearest = float(np.median(squared.min(axis=1))) * ratio
    resolution = float(np.finfo(np.float32).eps) * float(norms.max())
    return bool(nearest > _SPARE * resolution)
