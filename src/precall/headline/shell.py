"""Whether samples have the radius that references have, in units of their covariance."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.headline.moments import Ellipsoid, Moments, few_directions, squared_norms
from precall.headline.outlyingness import Floats, Outlyingness, n_outside
from precall.headline.scaling import in_spreads
from precall.headline.views import View

_SURE = 3.0  # standard errors
_FEWEST = 30  # radii to tell an exponent from
_TINY = 1e-300
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True, eq=False)
class RadialLaw:
    """A Gamma law of the squared radius s, and the density of the elliptical law that it makes.

    Of shape a in d dimensions the density at s is s^{a − d/2} e^{−s/θ}, up to a constant. A
    Gaussian has a = d/2: full inside. A sphere has more: hollow. So has a cube, which is full; and
    nobody is near the centre of many dimensions to ask. Hence only laws that are hollow for certain
    are taken for it, :func:`is_hollow`: of all others the larger radius is the farther out.
    """

    scale: float  # θ
    hollowness: float  # a − d/2, or 0

    @classmethod
    def of(cls, squared_radii: Floats, d: int) -> Self:
        """Fit the radii of references, (n,)."""
        mean = float(squared_radii.mean())
        if not is_hollow(squared_radii, d):
            return cls(mean, 0.0)
        logs = np.log(np.maximum(squared_radii, _TINY))
        shape = _gamma_shape(max(math.log(max(mean, _TINY)) - float(logs.mean()), 1e-12))
        return cls(mean / shape, max(0.0, shape - d / 2))

    def outlyingness(self, squared_radii: Floats) -> Floats:
        """Return −log density, up to constants; an increasing function of the radius if full."""
        if self.hollowness == 0.0:
            return squared_radii
        logs = np.log(np.maximum(squared_radii, _TINY))
        return np.asarray(squared_radii / self.scale - self.hollowness * logs)


def is_hollow(squared_radii: Floats, d: int) -> bool:
    """Whether the density surely grows from the centre outwards.

    A density that falls along every ray from the centre (Olshen & Savage 1970: a Gaussian, a ball,
    a cube, turned or not) has a law F of the squared radius with F(s)/s^{d/2} falling. Given the
    (i + 1)-th smallest radius, i log(s_{i+1}/s_i) then has a mean of 2/d at least, which is that of
    an exponential law. So a mean over i (Hill 1975) that is less by three standard errors says
    hollow. The innermost share ε is passed over: no single sample decides.
    """
    ordered = np.log(np.maximum(np.sort(squared_radii), _TINY))
    skipped, k = n_outside(len(ordered)), len(ordered) // 2
    while k - skipped >= _FEWEST:
        inner = ordered[k] - ordered[skipped:k]
        mean = (float(inner.sum()) + skipped * float(inner[0])) / (k - skipped)
        has_ties = 2 * len(np.unique(inner)) < len(inner)  # of a discrete law: no density
        if not has_ties and mean * d / 2 < 1 - _SURE / math.sqrt(k - skipped):
            return True
        k //= 2
    return False


def shell_test(view: View) -> Outlyingness:
    """Improbability of a sample under an elliptical law of the other references.

    Covariance and mean are of the references that are not isolated, without the one to be judged
    (Sherman & Morrison 1950). Features are in spreads, so that a sphere is one.
    """
    references, queries = view.references.array, view.queries.array
    ellipsoid = _ellipsoid(references[view.core])
    whitening = ellipsoid.whitening()
    radii, query_radii = (_radii(rows, ellipsoid, whitening) for rows in (references, queries))
    radii[view.core] = _without_itself(radii[view.core], ellipsoid)
    law = RadialLaw.of(radii[view.core], len(ellipsoid.mean))
    middle = float(np.median(radii))

    def reason(i: int) -> str:
        return f"norm too {'small' if query_radii[i] < middle else 'large'}"

    return Outlyingness("shell", law.outlyingness(radii), law.outlyingness(query_radii), reason)


def _ellipsoid(rows: NDArray[Any]) -> Ellipsoid:
    """Mean and covariance of samples in spreads."""
    sums = [tile.sum(axis=0, dtype=np.float64) for tile in _tiles(rows)]
    center = np.sum(sums, axis=0) / len(rows)
    return Ellipsoid.of(reduce(Moments.plus, (Moments.of(t, center) for t in _tiles(rows))))


def _tiles(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Samples in spreads, some at a time."""
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        yield few_directions(in_spreads(rows[start : start + _ROWS_AT_A_TIME]))


def _radii(rows: NDArray[Any], ellipsoid: Ellipsoid, whitening: NDArray[Any]) -> Floats:
    """Squared radius of each row."""
    found = [squared_norms(ellipsoid.whiten(tile, whitening)) for tile in _tiles(rows)]
    return np.concatenate(found)


def _without_itself(radii: Floats, ellipsoid: Ellipsoid) -> Floats:
    """Squared radius of each sample by the mean and the covariance of all others."""
    n = ellipsoid.n
    part = (1 - ellipsoid.shrinkage) * n / (n - 1) ** 2
    return np.asarray((n / (n - 1)) ** 2 * radii / np.maximum(1 - part * radii, 1e-9))


def _gamma_shape(log_gap: float) -> float:
    """Shape of a Gamma law by log mean − mean log, near its maximum of likelihood (Minka 2002)."""
    return (3 - log_gap + math.sqrt((log_gap - 3) ** 2 + 24 * log_gap)) / (12 * log_gap)
