"""Fréchet distance: what means and covariances can tell apart.

Sums are taken over blocks of fixed size by single-threaded matrix products, which threads take in
any order, so that no number depends on how many there are.
"""

import math
import os
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.data.readers.archives import holds_moments
from precall.data.readers.array_location import ArrayLocation
from precall.engines import Session, choose_engine
from precall.errors import InputError, PrecallWarning
from precall.runtime.threads import single_threaded_libraries

Floats = NDArray[np.float64]

_ROWS_AT_A_TIME = 1024


def mean_of(features: FeatureSet) -> Floats:
    """Mean of all rows in float64, (d,)."""
    total = np.zeros(features.n_features)
    for tile in features.rows.tiles(_ROWS_AT_A_TIME):
        total += tile.sum(axis=0, dtype=np.float64)
    return total / len(features)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Mean and covariance of a set of samples.

    Examples
    --------
    >>> import numpy as np, precall
    >>> known = precall.Moments(np.zeros(2), np.eye(2))
    >>> precall.frechet_distance(known, precall.Moments(np.array([3.0, 4.0]), np.eye(2)))
    25.0
    """

    mean: Floats  # (d,)
    covariance: Floats  # (d, d), unbiased
    n: int | None = None  # samples behind them; None if unknown

    @classmethod
    def of(cls, features: FeatureSet, *, threads: int = 1) -> Self:
        """Measure the moments of a set of samples."""
        with choose_engine("auto").open(threads, lambda n_pairs: None) as session:
            return cls.measured(session, features)

    @classmethod
    def measured(cls, session: Session, features: FeatureSet) -> Self:
        """Measure in float64, in two passes over blocks of rows: safe for any offset.

        Needs the covariance and a block of rows, whatever the number of samples.
        """
        n = len(features)
        if n < 2:
            raise InputError(f"a covariance needs at least 2 samples; {features.role} has {n}.")
        mean = session.total(features.rows) / n
        return cls(mean, session.scatter(features.rows, mean) / (n - 1), n)

    @classmethod
    def read(cls, path: str | os.PathLike[str], role: str) -> Self:
        """Read ``mu`` and ``sigma`` from an .npz file, the layout that the FID tools write."""
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                if not isinstance(file, np.lib.npyio.NpzFile):
                    raise InputError(
                        f"{role}: {path} is no .npz file; moments are read from one with mu and "
                        "sigma."
                    )
                missing = {"mu", "sigma"} - set(file.files)
                if missing:
                    raise InputError(
                        f"{role}: {path} has no {' and no '.join(sorted(missing))}; it holds "
                        f"{', '.join(file.files) or 'nothing'}."
                    )
                mean, covariance = (np.asarray(file[name]) for name in ("mu", "sigma"))
        except InputError:
            raise
        except OSError as error:
            raise InputError(
                f"{role}: cannot read moments from {path}: {error.strerror or error}."
            ) from error
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{role}: cannot read moments from {path}: it is no .npz file of plain numbers. "
                "Save them with numpy.savez(path, mu=mu, sigma=sigma)."
            ) from error
        return cls._checked(mean, covariance, role)

    @classmethod
    def _checked(cls, mean: NDArray[np.generic], sigma: NDArray[np.generic], role: str) -> Self:
        d = mean.size
        if mean.ndim != 1 or d == 0 or sigma.shape != (d, d):
            raise InputError(
                f"{role}: mu must have shape (d,) and sigma (d, d); got {mean.shape} and "
                f"{sigma.shape}."
            )
        if not all(array.dtype.kind in "fiu" for array in (mean, sigma)):
            raise InputError(
                f"{role}: mu and sigma must be real numbers; got {mean.dtype} and {sigma.dtype}."
            )
        center, covariance = mean.astype(np.float64), sigma.astype(np.float64)
        if not (np.isfinite(center).all() and np.isfinite(covariance).all()):
            raise InputError(f"{role}: mu or sigma holds NaN or infinity.")
        tolerance = 1e-5 * np.abs(covariance).max(initial=0.0)
        if not np.allclose(covariance, covariance.T, rtol=1e-5, atol=tolerance):
            raise InputError(f"{role}: sigma is not symmetric, so it is no covariance.")
        return cls(center, covariance / 2 + covariance.T / 2)

    @property
    def is_deficient(self) -> bool:
        """Whether there were too few samples for a covariance of full rank."""
        return self.n is not None and self.n <= len(self.mean)


def frechet_distance(real: object, generated: object) -> float:
    """‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2(Σ₁Σ₂)^½), the FID of whatever the features are.

    Each side is :class:`Moments`, the path of an .npz file with ``mu`` and ``sigma`` as the FID
    tools write it, or features in any form that :func:`precall.evaluate` takes.

    With Σ₁ = A Aᵀ and Σ₂ = B Bᵀ from two symmetric eigenproblems, the trace of (Σ₁Σ₂)^½ is the sum
    of the singular values of AᵀB. So the answer is never complex, never negative beyond rounding,
    which is cut off, and features of very different variance keep their share of it.

    Examples
    --------
    >>> import numpy as np
    >>> one = Moments(np.zeros(2), np.eye(2))
    >>> frechet_distance(one, Moments(np.array([3.0, 4.0]), 4 * np.eye(2)))
    27.0
    """
    sides = _as_moments(real, "real"), _as_moments(generated, "generated")
    for role, side in zip(("real", "generated"), sides, strict=True):
        if side.is_deficient:
            warnings.warn(
                f"{role} has {side.n} samples of {len(side.mean)} features, too few for a "
                "covariance of full rank; the Fréchet distance is biased upwards.",
                PrecallWarning,
                stacklevel=2,
            )
    return distance_of_moments(*sides)


def _as_moments(data: object, role: str) -> Moments:
    if isinstance(data, Moments):
        return data
    if isinstance(data, str | os.PathLike) and holds_moments(ArrayLocation.of(data, role)):
        return Moments.read(data, role)
    return Moments.of(FeatureSet.of(data, role))


def distance_of_moments(real: Moments, generated: Moments) -> float:
    """Fréchet distance of two Gaussians with these moments; see :func:`frechet_distance`."""
    if real.mean.shape != generated.mean.shape:
        raise InputError(
            "real and generated must have the same number of features; got "
            f"{len(real.mean)} and {len(generated.mean)}."
        )
    # Scaled to the size of the covariances, so that nothing under- or overflows on the way.
    scale = max(np.abs(real.covariance).max(), np.abs(generated.covariance).max())
    squared_shift = float(np.sum((real.mean - generated.mean) ** 2))
    if scale == 0.0:
        return squared_shift
    covariances = real.covariance / scale, generated.covariance / scale
    with single_threaded_libraries():
        roots = [_root(covariance) for covariance in covariances]
        common = np.linalg.svd(roots[0].T @ roots[1], compute_uv=False).sum()
    spread = float(sum(np.trace(covariance) for covariance in covariances) - 2 * common)
    return squared_shift + float(scale) * max(spread, 0.0)


def distance_of_samples(session: Session, real: FeatureSet, generated: FeatureSet) -> float:
    """Fréchet distance of two sets of samples."""
    if max(len(real), len(generated)) < real.n_features:
        return _distance_of_few(session, real, generated)
    return distance_of_moments(*(Moments.measured(session, side) for side in (real, generated)))


def _distance_of_few(session: Session, real: FeatureSet, generated: FeatureSet) -> float:
    """Fréchet distance of fewer samples than features, without covariances of the features.

    With centred rows X/√(n − 1) and Y/√(m − 1) for roots of the covariances the trace of (Σ₁Σ₂)^½
    is the sum of the singular values of XYᵀ.
    """
    means, sides = (mean_of(real), mean_of(generated)), (real, generated)
    for side in sides:
        if len(side) < 2:
            raise InputError(f"a covariance needs at least 2 samples; {side.role} has {len(side)}.")
    squared_shift = float(np.sum((means[0] - means[1]) ** 2))
    scale = max(
        float(np.abs(side.rows.tile(0, len(side)) - mean).max())
        for side, mean in zip(sides, means, strict=True)
    )
    if scale == 0.0:
        return squared_shift
    exponent = math.frexp(scale)[1]
    x, y = (
        session.operand(side.rows, mean, np.float64, exponent)
        for side, mean in zip(sides, means, strict=True)
    )
    n, m = (len(side) - 1 for side in sides)
    with single_threaded_libraries():
        products = session.products(x, slice(None), y)
        common = np.linalg.svd(products, compute_uv=False).sum() / math.sqrt(n * m)
    spread = float(x.norms.sum() / n + y.norms.sum() / m - 2 * common)
    return squared_shift + math.ldexp(max(spread, 0.0), 2 * exponent)


def _root(covariance: Floats) -> Floats:
    """A with A Aᵀ = Σ, without the directions in which there is no variance but rounding."""
    values, vectors = np.linalg.eigh(covariance)
    largest = float(np.abs(values).max())
    if values.min() < -1e-6 * largest:
        raise InputError(
            "sigma is no covariance: it has negative eigenvalues, down to "
            f"{values.min() / largest:.2g} of the largest."
        )
    kept = values > len(values) * float(np.finfo(np.float64).eps) * largest
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
