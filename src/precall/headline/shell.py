"""Whether samples have the radius that references have, in units of their covariance."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.headline.moments import Ellipsoid, Moments, few_directions, squared_norms
from precall.headline.outlyingness import Floats, Outlyingness
from precall.headline.views import View

_SURE = 3.0  # standard errors
_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class RadialLaw:
    """A Gamma law of the squared radius s, and the density of the elliptical law that it makes.

    Of shape a in d dimensions the density at s is s^{a − d/2} e^{−s/θ}, up to a constant. A
    Gaussian has a = d/2: full inside. A sphere has more: hollow. A cube has more, too, but is as
    full as a Gaussian: independent features whose own kurtosis is κ give a sum of squares of shape
    d²/Σ(κ − 1). So only what a exceeds both by, less three standard errors, counts as hollow: c in
    s/θ − c log s. Nobody is near the centre of many dimensions to ask.
    """

    scale: float  # θ
    hollowness: float  # c

    @classmethod
    def of(cls, squared_radii: Floats, whitened: NDArray[Any]) -> Self:
        """Fit the radii of references, (n,), whose whitened features are (n, d)."""
        n, d = whitened.shape
        mean = float(squared_radii.mean())
        log_gap = math.log(max(mean, _TINY)) - float(
            np.log(np.maximum(squared_radii, _TINY)).mean()
        )
        shape = _gamma_shape(max(log_gap, 1e-12))
        full = max(d / 2, _shape_of_independent(whitened))
        certain = shape * (1 - _SURE * math.sqrt(2 / n))
        return cls(mean / shape, max(0.0, certain - full))

    def outlyingness(self, squared_radii: Floats) -> Floats:
        """Return −log density, up to constants; an increasing function of the radius if full."""
        if self.hollowness == 0.0:
            return squared_radii
        logs = np.log(np.maximum(squared_radii, _TINY))
        return np.asarray(squared_radii / self.scale - self.hollowness * logs)


def shell_test(view: View) -> Outlyingness:
    """Improbability of a sample under an elliptical law of the other references.

    Covariance and mean are of the references that are not isolated, without the one to be judged
    (Sherman & Morrison 1950).
    """
    references, queries = (few_directions(rows.array) for rows in (view.references, view.queries))
    inside = references[view.core]
    ellipsoid = Ellipsoid.of(Moments.of(inside, inside.mean(axis=0, dtype=np.float64)))
    whitening = ellipsoid.whitening()
    whitened = ellipsoid.whiten(references, whitening)
    radii = squared_norms(whitened)
    radii[view.core] = _without_itself(radii[view.core], ellipsoid)
    query_radii = _radii(queries, ellipsoid, whitening)
    law = RadialLaw.of(radii[view.core], whitened[view.core])
    middle = float(np.median(radii))

    def reason(i: int) -> str:
        return f"norm too {'small' if query_radii[i] < middle else 'large'}"

    of_references, of_queries = law.outlyingness(radii), law.outlyingness(query_radii)
    return Outlyingness("shell", of_references, of_queries, reason)


def _radii(rows: NDArray[Any], ellipsoid: Ellipsoid, whitening: NDArray[Any]) -> Floats:
    return squared_norms(ellipsoid.whiten(rows, whitening))


def _without_itself(radii: Floats, ellipsoid: Ellipsoid) -> Floats:
    """Squared radius of each sample by the mean and the covariance of all others."""
    n = ellipsoid.n
    part = (1 - ellipsoid.shrinkage) * n / (n - 1) ** 2
    return np.asarray((n / (n - 1)) ** 2 * radii / np.maximum(1 - part * radii, 1e-9))


def _gamma_shape(log_gap: float) -> float:
    """Shape of a Gamma law by log mean − mean log, near its maximum of likelihood (Minka 2002)."""
    return (3 - log_gap + math.sqrt((log_gap - 3) ** 2 + 24 * log_gap)) / (12 * log_gap)


def _shape_of_independent(whitened: NDArray[Any]) -> float:
    """Shape that the squared norm would have if the features were independent."""
    n, d = whitened.shape
    second, fourth = np.zeros(d), np.zeros(d)
    for start in range(0, n, 1024):
        squares = whitened[start : start + 1024].astype(np.float64) ** 2
        second += squares.sum(axis=0)
        fourth += (squares * squares).sum(axis=0)
    kurtosis = n * fourth / np.maximum(second * second, _TINY)
    return float(d * d / max(float(np.sum(np.maximum(kurtosis - 1, 0.0))), 1e-12))
