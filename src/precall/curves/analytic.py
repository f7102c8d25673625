"""The precision–recall curve of two Gaussians with equal covariance, in closed form.

Only the Mahalanobis distance δ of the means matters. The best classifier at λ errs with
fpr = Φ(−(ln λ + δ²/2)/δ) and fnr = Φ((ln λ − δ²/2)/δ). What has no closed form is a quadrature in
u = ln λ, in which the area under a curve is ½ ∫ α·β du.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.curves.pr_curve import Curve, PRCurve, PrecisionRecall
from precall.errors import InputError

Floats = NDArray[np.float64]

_LAST_LOG = 46.0  # beyond |ln λ| = 46 a curve's remaining area is below e^-46 ≈ 1e-20
_PANEL_WIDTH = 0.125
_LARGEST_SHIFT = 1e6
_NODES_PER_PANEL = 12


@dataclass(frozen=True, slots=True)
class GaussianShiftCurve(Curve):
    """The true curve of N(μ₁, Σ) against N(μ₂, Σ).

    Parameters
    ----------
    shift
        δ > 0, the Mahalanobis distance ‖Σ^(−1/2)(μ₁ − μ₂)‖.

    Examples
    --------
    >>> curve = GaussianShiftCurve(1.0)
    >>> round(curve.at(1.0).precision, 6), round(curve.area, 6)
    (0.617075, 0.679141)
    """

    shift: float

    def __post_init__(self) -> None:
        if not 0 < self.shift <= _LARGEST_SHIFT:
            raise InputError(
                f"shift must be a positive number up to {_LARGEST_SHIFT:g}; got {self.shift!r}."
            )

    def error_rates_at(self, trade_off: Floats) -> tuple[Floats, Floats]:
        """Return fpr and fnr of the likelihood ratio classifier at each trade-off λ."""
        with np.errstate(divide="ignore"):
            return self._error_rates(np.log(trade_off))

    def _error_rates(self, u: Any) -> tuple[Any, Any]:
        half = self.shift / 2
        return scipy.special.ndtr(-u / self.shift - half), scipy.special.ndtr(u / self.shift - half)

    def _log_trade_off(self, fpr: Floats) -> Floats:
        """Return ln λ where the best classifier has this fpr."""
        with np.errstate(divide="ignore"):
            return np.asarray(-self.shift * (scipy.special.ndtri(fpr) + self.shift / 2))

    def swapped(self) -> Self:
        """Return the curve itself: it is symmetric."""
        return self

    @property
    def area(self) -> float:
        """Area under the curve, by quadrature."""
        return _integrate(lambda u: _area_density(*self._error_rates(u), u), self._panels())

    def _panels(self) -> Floats:
        """Edges of quadrature panels in u: even ones, and finer ones where the curve bends."""
        even = np.arange(-_LAST_LOG, _LAST_LOG + _PANEL_WIDTH, _PANEL_WIDTH)
        bend = np.clip(self.shift * np.arange(-40.0, 40.25, 0.25), -_LAST_LOG, _LAST_LOG)
        return np.unique(np.concatenate([even, bend]))

    def _best_for(self, b: float) -> Floats:
        """Where the slope of F_b in λ vanishes: fpr = b²·fnr."""

        def slope(u: float) -> float:
            fpr, fnr = self._error_rates(u)
            return float(fpr - b * b * fnr) if b <= 1 else float(fpr / b / b - fnr)

        return np.array([math.exp(_root(slope))])

    def median(self) -> PrecisionRecall:
        """Return the PR median: the curve is symmetric, so its halving ray is λ = 1."""
        return self.at(1.0)

    def iou(self, other: Curve) -> float:
        """Return the intersection over the union of the regions under two curves, by quadrature."""
        if isinstance(other, GaussianShiftCurve):  # nested: the smaller shift lies above
            if self.shift == other.shift:
                return 1.0
            return min(self.area, other.area) / max(self.area, other.area)
        if not isinstance(other, PRCurve):
            raise TypeError(f"cannot intersect a GaussianShiftCurve with a {type(other).__name__}")
        if len(other.trade_offs) == 0:
            return 0.0
        edges = self._edges_with(other)

        def densities(u: Floats) -> tuple[Floats, Floats]:
            rates = self._error_rates(u), other.error_rates_at(np.exp(u))
            return _area_density(*rates[0], u), _area_density(*rates[1], u)

        shared = _integrate(lambda u: np.minimum(*densities(u)), edges)
        return shared / _integrate(lambda u: np.maximum(*densities(u)), edges)

    def _edges_with(self, other: PRCurve) -> Floats:
        """Panel edges between which neither curve has a corner and the two do not cross.

        On a piece of ``other``, our α minus its α is concave in λ, with its top where our fpr
        equals the piece's: on either side of that λ there is at most one crossing.
        """
        tops = self._log_trade_off(other.fpr)
        edges = np.unique(np.concatenate([self._panels(), np.log(other.trade_offs), tops]))
        edges = edges[np.abs(edges) <= _LAST_LOG + _PANEL_WIDTH]
        f, g = other.error_rates_at(np.exp((edges[:-1] + edges[1:]) / 2))

        def excess(u: Any, f: Any, g: Any) -> Any:
            fpr, fnr = self._error_rates(u)
            return np.exp(u) * (fpr - f) + (fnr - g)

        crossed = np.flatnonzero(excess(edges[:-1], f, g) * excess(edges[1:], f, g) < 0)
        crossings = [
            _root(partial(excess, f=f[i], g=g[i]), edges[i], edges[i + 1]) for i in crossed
        ]
        return np.unique(np.concatenate([edges, crossings]))

    def _precision_at(self, recall: Floats) -> Floats:
        return np.array([self._at_recall(beta) for beta in recall.ravel()]).reshape(recall.shape)

    def _at_recall(self, beta: float) -> float:
        if beta in (0.0, 1.0):
            return 1.0 - beta
        farthest = self.shift**2 / 2 + 40 * self.shift + 800
        u = _root(lambda u: self._precision(-u) - beta, -farthest, farthest)
        return self._precision(u)

    def _precision(self, u: float) -> float:
        """α at λ = e^u, also where e^u has no float; recall is the same at −u."""
        log_fpr = scipy.special.log_ndtr(-u / self.shift - self.shift / 2)
        return float(np.exp(u + log_fpr) + self._error_rates(u)[1])

    @property
    def total_variation(self) -> float:
        """2Φ(δ/2) − 1."""
        return math.erf(self.shift / (2 * math.sqrt(2)))

    @property
    def hellinger(self) -> float:
        """√(1 − exp(−δ²/8))."""
        return math.sqrt(-math.expm1(-(self.shift**2) / 8))

    @property
    def jensen_shannon(self) -> float:
        """Jensen–Shannon divergence in nats, by quadrature along the line through both means."""

        def density(x: Floats) -> Floats:
            log_ratio = self.shift * (self.shift / 2 - x)  # ln p/q at x, p = N(0, 1)
            p = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
            return p * (math.log(2) - np.logaddexp(0, -log_ratio))

        # KL(P‖M) and KL(Q‖M) are equal by symmetry.
        return _integrate(density, np.arange(-40.0, 40.0 + _PANEL_WIDTH, _PANEL_WIDTH))

    def kl_divergence(self, *, reverse: bool = False) -> float:
        """KL(P‖Q) = δ²/2, both ways."""
        return self.shift**2 / 2

    def chi2_divergence(self, *, reverse: bool = False) -> float:
        """χ²(P‖Q) = exp(δ²) − 1, both ways."""
        with np.errstate(over="ignore"):
            return float(np.expm1(self.shift**2))

    def _frontier(self) -> tuple[Floats, Floats]:
        """On evenly spaced quantiles of the likelihood ratio."""
        fpr = np.linspace(0, 1, 721)
        return fpr, self._error_rates(self._log_trade_off(fpr))[1]


def _area_density(fpr: Any, fnr: Any, u: Any) -> Any:
    """½·α·β at λ = e^u, symmetric in the two rates so that neither end overflows."""
    half = np.exp(u / 2)
    return 0.5 * (fpr * half + fnr / half) ** 2


def _integrate(density: Callable[[Floats], Floats], edges: Floats) -> float:
    """Gauss–Legendre quadrature on every panel between two edges."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    half_widths = np.diff(edges)[:, None] / 2
    points = (edges[:-1] + edges[1:])[:, None] / 2 + half_widths * nodes
    return math.fsum((density(points) * weights * half_widths).ravel())


def _root(function: Callable[[float], float], low: float = -700.0, high: float = 700.0) -> float:
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-14))
