"""Distributions that can be sampled and whose density is known."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from precall.errors import InputError, check_integer

Floats = NDArray[np.float64]
_LARGEST = 1e150
Bounds = tuple[Floats, Floats]  # lowest and highest corner, each (d,)


class Distribution(ABC):
    """A probability distribution with a density on R^d.

    Examples
    --------
    >>> from precall.distributions import Distribution, Gaussian
    >>> law = Gaussian([0.0, 0.0])
    >>> isinstance(law, Distribution), law.sample(3, seed=0).shape
    (True, (3, 2))
    >>> law.log_density([[0, 0]]).round(2)
    array([-1.84])
    """

    __slots__ = ()

    @property
    def n_features(self) -> int:
        """Dimension d: the length of the first parameter, unless a distribution says otherwise."""
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent rows from a random generator: shape (n, d)."""

    @abstractmethod
    def log_density(self, rows: NDArray[Any]) -> Floats:
        """Return the log density at each row; −inf outside the support: shape (n,)."""

    def sample(self, n: int, seed: int) -> Floats:
        """Draw ``n`` independent rows, the same for the same seed: shape (n, d)."""
        return self.draw(*_stream(n, seed))

    def _rows(self, rows: NDArray[Any]) -> Floats:
        """Check that rows live in the same space."""
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(
                f"rows must have shape (n, {self.n_features}) like this distribution; got shape "
                f"{rows.shape}."
            )
        return rows

    def bounds(self) -> Bounds | None:
        """Return a box that holds the support; ``None`` where the support is unbounded."""
        return None

    def same_as(self, other: "Distribution") -> bool:
        """Whether both are of one kind, with equal parameters."""
        return type(self) is type(other) and all(
            _equal(getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian(Distribution):
    """A normal distribution.

    Parameters
    ----------
    mean
        Shape (d,).
    covariance
        A variance for all features, one variance a feature (d,), or a positive definite matrix
        (d, d).

    Examples
    --------
    >>> Gaussian([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]]).sample(3, seed=0).shape
    (3, 2)
    """

    mean: Floats
    covariance: Floats = 1.0  # type: ignore[assignment]

    def __post_init__(self) -> None:
        mean = _vector(self.mean, "mean")
        covariance = np.array(self.covariance, dtype=np.float64)
        d = len(mean)
        if covariance.shape not in ((), (d,), (d, d)):
            raise InputError(
                f"covariance must be a number or have shape ({d},) or ({d}, {d}) like mean; got "
                f"shape {covariance.shape}."
            )
        if not np.isfinite(covariance).all():
            raise InputError("covariance must be finite.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)
        self._root()  # raises unless positive definite

    def _root(self) -> Floats:
        """Return a square root of the covariance: standard deviations, or a triangular factor."""
        if self.covariance.ndim < 2:
            if not (self.covariance > 0).all():
                raise InputError("covariance must be positive.")
            return np.sqrt(self.covariance)
        if not np.array_equal(self.covariance, self.covariance.T):
            raise InputError("covariance must be a symmetric matrix.")
        try:
            return np.asarray(np.linalg.cholesky(self.covariance), np.float64)
        except np.linalg.LinAlgError as error:
            raise InputError("covariance must be positive definite.") from error

    def covariance_matrix(self) -> Floats:
        """Return the covariance as a matrix (d, d)."""
        if self.covariance.ndim == 2:
            return self.covariance
        return np.diag(np.broadcast_to(self.covariance, self.mean.shape))

    def whiten(self, differences: Floats) -> Floats:
        """Divide rows (n, d) by the square root of the covariance."""
        root = self._root()
        if root.ndim < 2:
            return differences / root
        return np.asarray(scipy.linalg.solve_triangular(root, differences.T, lower=True).T)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent rows."""
        root = self._root()
        noise = rng.standard_normal((n, self.n_features))
        return self.mean + (noise * root if root.ndim < 2 else noise @ root.T)

    def log_density(self, rows: NDArray[Any]) -> Floats:
        """Return the log density at each row."""
        root = self._root()
        scales = np.diag(root) if root.ndim == 2 else np.broadcast_to(root, self.mean.shape)
        constant = self.n_features * math.log(2 * math.pi) / 2 + math.fsum(np.log(scales))
        white = self.whiten(self._rows(rows) - self.mean)
        return np.asarray(-0.5 * np.einsum("ij,ij->i", white, white) - constant)


@dataclass(frozen=True, slots=True, eq=False)
class Mixture(Distribution):
    """A weighted choice between distributions; of Gaussians, a Gaussian mixture.

    Parameters
    ----------
    components
        Distributions of one dimension.
    weights
        Non-negative, divided by their sum; equal by default. A weight of 0 drops a component.

    Examples
    --------
    >>> modes = [Gaussian([0.0]), Gaussian([5.0])]
    >>> Mixture(modes, [0.7, 0.3]).sample(4, seed=0).shape
    (4, 1)
    """

    components: tuple[Distribution, ...]
    weights: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        components = tuple(self.components) if isinstance(self.components, Iterable) else ()
        if not components or not all(isinstance(c, Distribution) for c in components):
            raise InputError("components must be a list of at least one distribution.")
        if len({component.n_features for component in components}) > 1:
            raise InputError("components must all have the same number of features.")
        given = [1.0] * len(components) if self.weights is None else self.weights
        weights = np.array(given, dtype=np.float64)
        if weights.shape != (len(components),):
            raise InputError(
                f"weights must have shape ({len(components)},), one number for each component; got "
                f"shape {weights.shape}."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise InputError("weights must be finite and non-negative, not all of them 0.")
        weights = weights / weights.max()
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "weights", weights / math.fsum(weights))

    @property
    def n_features(self) -> int:
        """Dimension d."""
        return self.components[0].n_features

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent rows."""
        return self._draw_labelled(n, rng)[0]

    def carried(self) -> list[tuple[Distribution, float]]:
        """Return the components that have weight, and their weights."""
        return [pair for pair in zip(self.components, self.weights, strict=True) if pair[1] > 0]

    def sample_labelled(self, n: int, seed: int) -> tuple[Floats, NDArray[np.intp]]:
        """Draw the rows of ``sample(n, seed)`` with the index of the component of each."""
        return self._draw_labelled(*_stream(n, seed))

    def _draw_labelled(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
        labels = rng.choice(len(self.components), size=n, p=self.weights)
        rows = np.empty((n, self.n_features))
        for i, component in enumerate(self.components):
            chosen = labels == i
            rows[chosen] = component.draw(int(chosen.sum()), rng)
        return rows, labels

    def log_density(self, rows: NDArray[Any]) -> Floats:
        """Return the log density at each row."""
        rows = self._rows(rows)
        parts = [math.log(weight) + part.log_density(rows) for part, weight in self.carried()]
        return np.asarray(np.logaddexp.reduce(parts, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class UniformBox(Distribution):
    """The uniform distribution on the box between two corners ``low`` and ``high``, each (d,).

    Examples
    --------
    >>> UniformBox([0, 0], [10, 10]).log_density([[5, 5], [11, 5]]).round(3)
    array([-4.605,   -inf])
    """

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        low, high = _vector(self.low, "low"), _vector(self.high, "high")
        if low.shape != high.shape or not (low < high).all():
            raise InputError("low and high must be equally long, with low < high in every feature.")
        if (np.abs([low, high]) > _LARGEST).any():
            raise InputError(f"low and high must not exceed {_LARGEST:g}.")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent rows."""
        return rng.uniform(self.low, self.high, (n, self.n_features))

    def log_density(self, rows: NDArray[Any]) -> Floats:
        """Return the log density at each row."""
        rows = self._rows(rows)
        inside = ((rows >= self.low) & (rows <= self.high)).all(axis=1)
        return np.where(inside, -math.fsum(np.log(self.high - self.low)), -np.inf)

    def bounds(self) -> Bounds:
        """Return the box itself."""
        return self.low, self.high


@dataclass(frozen=True, slots=True, eq=False)
class UniformShell(Distribution):
    """The uniform distribution between two concentric spheres.

    Parameters
    ----------
    center
        Shape (d,).
    inner, outer
        Radii, 0 ≤ inner < outer.

    Examples
    --------
    >>> import numpy as np
    >>> from precall.distributions import UniformShell
    >>> radii = np.linalg.norm(UniformShell([0.0, 0.0], 1.0, 2.0).sample(500, seed=0), axis=1)
    >>> bool((radii >= 1).all() and (radii <= 2).all())
    True
    """

    center: Floats
    inner: float
    outer: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _vector(self.center, "center"))
        if not all(isinstance(r, int | float) for r in (self.inner, self.outer)) or not (
            0 <= self.inner < self.outer <= _LARGEST
        ):
            raise InputError(
                f"radii must satisfy 0 <= inner < outer <= {_LARGEST:g}; got inner={self.inner!r} "
                f"and outer={self.outer!r}."
            )

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent rows: a uniform direction, radius^d uniform."""
        d = self.n_features
        direction = rng.standard_normal((n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        hollow = (self.inner / self.outer) ** d
        radius = self.outer * rng.uniform(hollow, 1.0, (n, 1)) ** (1 / d)
        return self.center + radius * direction

    def log_density(self, rows: NDArray[Any]) -> Floats:
        """Return the log density at each row."""
        d = self.n_features
        radius = np.linalg.norm(self._rows(rows) - self.center, axis=1)
        log_unit_ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)
        hollow = math.log1p(-((self.inner / self.outer) ** d))
        log_volume = log_unit_ball + d * math.log(self.outer) + hollow
        return np.where((radius >= self.inner) & (radius <= self.outer), -log_volume, -np.inf)

    def bounds(self) -> Bounds:
        """Return the cube around the outer sphere."""
        return self.center - self.outer, self.center + self.outer


def UniformBall(center: ArrayLike, radius: float) -> UniformShell:  # noqa: N802
    """Return the uniform distribution in a ball: a shell without a hollow.

    Examples
    --------
    >>> from precall.distributions import UniformBall
    >>> ball = UniformBall([0.0, 0.0, 0.0], 2.0)
    >>> ball.inner, ball.outer, ball.sample(4, seed=0).shape
    (0.0, 2.0, (4, 3))
    """
    return UniformShell(np.asarray(center), 0.0, radius)


@dataclass(frozen=True, slots=True, eq=False)
class UniformTorus(Distribution):
    """The uniform distribution in a solid torus around the third axis of R³.

    Parameters
    ----------
    center
        Shape (3,).
    major
        Distance from the centre of the torus to the centre of its tube.
    minor
        Radius of the tube, 0 < minor ≤ major.

    Examples
    --------
    >>> from precall.distributions import UniformTorus
    >>> torus = UniformTorus([0.0, 0.0, 0.0], major=2.0, minor=0.5)
    >>> torus.log_density([[0, 0, 0], [2, 0, 0]]).round(2)  # the hole, the tube
    array([ -inf, -2.29])
    """

    center: Floats
    major: float
    minor: float

    def __post_init__(self) -> None:
        center = _vector(self.center, "center")
        if len(center) != 3:
            raise InputError(f"center must have three coordinates; got {len(center)}.")
        if not all(isinstance(r, int | float) for r in (self.minor, self.major)) or not (
            0 < self.minor <= self.major <= _LARGEST
        ):
            raise InputError(
                f"radii must satisfy 0 < minor <= major <= {_LARGEST:g}; got minor={self.minor!r} "
                f"and major={self.major!r}."
            )
        object.__setattr__(self, "center", center)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` independent rows: rejection within the tube, then a turn about the axis."""
        x, z = np.empty(0), np.empty(0)  # in the half-plane of the tube's cross-section
        while len(x) < n:
            x_new, z_new = rng.uniform(-self.minor, self.minor, (2, 2 * n + 16))
            # A turn about the axis sweeps a volume in proportion to the distance from it.
            height = rng.uniform(0, self.major + self.minor, 2 * n + 16)
            kept = (x_new**2 + z_new**2 <= self.minor**2) & (height <= self.major + x_new)
            x, z = np.append(x, x_new[kept]), np.append(z, z_new[kept])
        distance, z = self.major + x[:n], z[:n]
        angle = rng.uniform(0, 2 * np.pi, n)
        return self.center + np.stack([distance * np.cos(angle), distance * np.sin(angle), z], 1)

    def log_density(self, rows: NDArray[Any]) -> Floats:
        """Return the log density at each row: the volume is 2π²·major·minor²."""
        x, y, z = (self._rows(rows) - self.center).T
        inside = np.hypot(np.hypot(x, y) - self.major, z) <= self.minor
        log_volume = math.log(2 * math.pi**2) + math.log(self.major) + 2 * math.log(self.minor)
        return np.where(inside, -log_volume, -np.inf)

    def bounds(self) -> Bounds:
        """Return the box around the torus."""
        reach = np.array([self.major + self.minor, self.major + self.minor, self.minor])
        return self.center - reach, self.center + reach


def _stream(n: int, seed: int) -> tuple[int, np.random.Generator]:
    check_integer("n", n, 0)
    check_integer("seed", seed, 0)
    return int(n), np.random.default_rng(int(seed))


def _vector(values: ArrayLike, name: str) -> Floats:
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a vector of finite numbers; got {values!r}.") from error
    if vector.ndim != 1 or len(vector) == 0 or not np.isfinite(vector).all():
        raise InputError(f"{name} must be a vector of finite numbers; got shape {vector.shape}.")
    return vector


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):  # components of a mixture
        return len(a) == len(b) and all(x.same_as(y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))
