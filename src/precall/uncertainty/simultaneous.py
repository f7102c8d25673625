"""How far the largest of many deviations may reach, and what that leaves to say of two curves."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def largest_deviation(deviations: Floats, error: float, degrees: int) -> float:
    """Return what the largest deviation along a curve exceeds with a chance of at most ``error``.

    In standard errors. The directions of standardised deviations along the curve are points on a
    sphere; the chance that noise comes near the path they make is known from its length κ: at most
    2·P(T > c) + κ/π·(1 + c²/ν)^(−ν/2) (Naiman 1986; Sun & Loader 1994).

    Parameters
    ----------
    deviations
        (n_draws, n_points), of draws around their mean.
    degrees
        ν of the standard errors.
    """
    from scipy.optimize import brentq
    from scipy.stats import t

    size = np.sqrt(np.sum(deviations**2, axis=0))
    known = deviations[:, size > 0] / size[size > 0]
    steps = np.sum(known[:, 1:] * known[:, :-1], axis=0)
    length = float(np.arccos(np.clip(steps, -1, 1)).sum())

    def excess(c: float) -> float:
        path = length / math.pi * (1 + c * c / degrees) ** (-degrees / 2)
        return float(2 * t.sf(c, degrees) + path - error)

    return float(brentq(excess, 0, 1e4))


@dataclass(frozen=True, slots=True)
class BandOfDifference:
    """Where one curve's precision less another's lies at each λ, for all λ at once."""

    trade_offs: tuple[float, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def better(self) -> tuple[float, ...]:
        """Trade-offs at which the first curve is clearly higher."""
        return tuple(t for t, end in zip(self.trade_offs, self.low, strict=True) if end > 0)

    @property
    def worse(self) -> tuple[float, ...]:
        """Trade-offs at which it is clearly lower."""
        return tuple(t for t, end in zip(self.trade_offs, self.high, strict=True) if end < 0)
