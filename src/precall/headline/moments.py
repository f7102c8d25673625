"""Means and shrunken covariances of a class, of all samples and of all but some."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROWS_AT_A_TIME = 1024
_MOST_DIRECTIONS = 4096
_SKETCHED_TO = 2048


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sums over samples less a centre, which add up: of rows, of their products, of norms⁴."""

    center: Floats  # (d,) the mean, or near it: norms⁴ are not moved
    n: int
    total: Floats  # (d,)
    scatter: Floats  # (d, d)
    fourth: float

    @classmethod
    def of(cls, rows: NDArray[Any], center: Floats) -> Self:
        """Sum over rows (n, d)."""
        d = rows.shape[1]
        total, scatter, fourth = np.zeros(d), np.zeros((d, d)), 0.0
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            tile = rows[start : start + _ROWS_AT_A_TIME] - center.astype(rows.dtype)
            norms = np.einsum("ij,ij->i", tile, tile)
            total += tile.sum(axis=0)
            scatter += tile.T @ tile
            fourth += float(norms @ norms)
        return cls(center, len(rows), total, scatter, fourth)

    def less(self, other: Self) -> Self:
        """Return the sums over all samples but those of ``other``."""
        return type(self)(
            self.center,
            self.n - other.n,
            self.total - other.total,
            self.scatter - other.scatter,
            self.fourth - other.fourth,
        )

    def plus(self, other: Self) -> Self:
        """Return the sums over both."""
        return type(self)(
            self.center,
            self.n + other.n,
            self.total + other.total,
            self.scatter + other.scatter,
            self.fourth + other.fourth,
        )

    @property
    def around_mean(self) -> Self:
        """The same with products around the mean: what classes with different means can add."""
        scatter = self.scatter - np.outer(self.total, self.total) / self.n
        return type(self)(self.center, self.n, np.zeros_like(self.total), scatter, self.fourth)


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """A mean and a covariance (1 − ρ)S + ρμI that is never singular (Ledoit & Wolf 2004)."""

    n: int
    mean: Floats  # (d,)
    covariance: Floats  # (d, d) shrunken
    shrinkage: float  # ρ

    @classmethod
    def of(cls, moments: Moments) -> Self:
        """Shrink the covariance as much as its own noise suggests."""
        n, d = moments.n, len(moments.total)
        mean = moments.total / n
        covariance = moments.scatter / n - np.outer(mean, mean)
        scale = float(np.trace(covariance)) / d
        squared = float(np.einsum("ij,ij->", covariance, covariance))
        off_target, noise = squared - d * scale**2, (moments.fourth / n - squared) / n
        shrinkage = min(1.0, noise / off_target) if off_target > 0 else 1.0
        shrinkage = max(shrinkage, 1 / (n + 1))  # rounding leaves no negative variance
        covariance *= 1 - shrinkage
        covariance[np.diag_indices(d)] += shrinkage * scale if scale > 0 else 1.0
        return cls(n, moments.center + mean, covariance, shrinkage)

    def whitening(self) -> NDArray[np.float32]:
        """Inverse L⁻¹ of the Cholesky factor: ‖L⁻¹(x − mean)‖² is the squared radius of x."""
        lower = np.linalg.cholesky(self.covariance)
        inverse, _ = scipy.linalg.lapack.dtrtri(lower, lower=1)
        return np.asarray(np.tril(inverse), np.float32)

    def log_volume(self, whitening: NDArray[np.float32]) -> float:
        """Half the logarithm of the determinant."""
        return -float(np.log(np.diagonal(whitening).astype(np.float64)).sum())

    def whiten(self, rows: NDArray[Any], whitening: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return L⁻¹(x − mean) of rows (n, d)."""
        return np.asarray((rows - self.mean.astype(np.float32)) @ whitening.T)


def squared_norms(rows: NDArray[Any]) -> Floats:
    """Squared norm of each row, summed in float64."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def few_directions(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows that a covariance can be taken of: more than 4 096 features are sketched.

    Each feature is added, with a random sign, to one of 2 048 sums (Charikar et al. 2002): inner
    products are kept on average.
    """
    d = rows.shape[1]
    if d <= _MOST_DIRECTIONS:
        return rows
    rng = np.random.default_rng(d)
    order, signs = rng.permutation(d), rng.choice(np.array([-1, 1], rows.dtype), d)
    starts = np.arange(_SKETCHED_TO) * d // _SKETCHED_TO
    sketched = np.empty((len(rows), _SKETCHED_TO), rows.dtype)
    step = max(1, math.floor(2**24 / d))
    for start in range(0, len(rows), step):
        tile = rows[start : start + step, order] * signs
        sketched[start : start + step] = np.add.reduceat(tile, starts, axis=1)
    return sketched
