"""Precision–recall curves: everything that can be read off one, exactly.

A curve is the set of pairs (α_λ, β_λ), α_λ = min over classifiers of λ·fpr + fnr and β_λ = α_λ/λ
(Sykes et al. 2024, Eq. 2; Simon et al. 2019, Theorem 4), for every trade-off λ ∈ [0, ∞].
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precall.curves.display import PRCurveDisplay
from precall.curves.error_rates import ErrorRates
from precall.curves.hull import lower_hull, mean_hull, ray_sweeping, swept_area
from precall.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_CONVEXITY_SLACK = 1e-9  # vertices read from a file were rounded once
_LEAST_DIFFERENCE = 1e-150  # of two vertices: the squares of smaller ones vanish
_DRAWN_ANGLES = 721


class PrecisionRecall(NamedTuple):
    """One point of a curve, or arrays of them.

    Examples
    --------
    >>> from precall import PRCurve
    >>> precision, recall = PRCurve.from_histograms([0.5, 0.5], [1, 0]).at(trade_off=0.5)
    >>> float(precision), float(recall)
    (0.25, 0.5)
    """

    precision: Any
    recall: Any


class Curve(ABC):
    """What every precision–recall curve answers, be it measured or known in closed form.

    Examples
    --------
    >>> from precall import Curve, GaussianShiftCurve, PRCurve
    >>> known, found = GaussianShiftCurve(1.0), PRCurve.from_histograms([0.5, 0.5], [1, 0])
    >>> [isinstance(curve, Curve) for curve in (known, found)]
    [True, True]
    >>> [round(curve.area, 2) for curve in (known, found)], round(found.iou(known), 2)
    ([0.68, 0.5], 0.62)
    """

    @abstractmethod
    def error_rates_at(self, trade_off: Floats) -> tuple[Floats, Floats]:
        """Return fpr and fnr of the best classifier at each trade-off λ."""

    @abstractmethod
    def swapped(self) -> Self:
        """Return the curve with the roles of real and generated exchanged."""

    @property
    @abstractmethod
    def area(self) -> float:
        """Area under the curve, in [0, 1]."""

    @abstractmethod
    def median(self) -> PrecisionRecall:
        """Return the PR median, whose ray α = λβ halves the area (Sykes et al. 2024 §5.1)."""

    @abstractmethod
    def iou(self, other: "Curve") -> float:
        """Return the intersection over the union of two regions (Sykes et al. 2024 §4)."""

    def at(self, trade_off: ArrayLike) -> PrecisionRecall:
        """Return precision α_λ and recall β_λ at the trade-off λ ∈ [0, ∞], a number or an array."""
        lam = _within(trade_off, "trade_off", np.inf)
        fpr, fnr = self.error_rates_at(lam)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(np.isinf(lam), fnr, lam * fpr + fnr)
            recall = np.where(lam == 0, fpr, fpr + fnr / lam)
        return PrecisionRecall(*(_unwrap(np.minimum(share, 1.0)) for share in (precision, recall)))

    @property
    def max_precision(self) -> float:
        """α_∞: the share of generated inside the common support."""
        return float(self.at(np.inf).precision)

    @property
    def max_recall(self) -> float:
        """β_0: the share of real inside the common support."""
        return float(self.at(0.0).recall)

    def f_score(self, b: float = 1.0) -> float:
        """Return F_b, the best weighted harmonic mean of precision and recall on the curve.

        F_b = max over λ of (1 + b²)·α·β / (b²·α + β), as Sajjadi et al. 2018 have it: b > 1 weighs
        recall, b < 1 weighs precision. Sykes et al. 2024 §5.1 prints the reverse.
        """
        if not (b > 0 and math.isfinite(b)):
            raise InputError(f"b must be a positive number; got {b!r}.")
        trade_offs = self._best_for(b)
        u, v = (1.0, b * b) if b <= 1 else (1 / b / b, 1.0)  # neither overflows
        means = (u + v) * self.at(trade_offs).precision / (u + v * trade_offs)  # since β = α/λ
        return float(np.max(means, initial=0.0))

    @abstractmethod
    def _best_for(self, b: float) -> Floats:
        """Trade-offs, one of which is the best for F_b."""

    def precision_at(self, recall: ArrayLike) -> Any:
        """Return the best precision at a given recall; 0 beyond :attr:`max_recall`."""
        return _unwrap(self._precision_at(_within(recall, "recall", 1)))

    def recall_at(self, precision: ArrayLike) -> Any:
        """Return the best recall at a given precision; 0 beyond :attr:`max_precision`."""
        return _unwrap(self.swapped()._precision_at(_within(precision, "precision", 1)))

    @abstractmethod
    def _precision_at(self, recall: Floats) -> Floats:
        """Best precision at each recall in [0, 1]."""

    def roc(self) -> tuple[Floats, Floats]:
        """Return the optimal ROC curve (Simon et al. 2019 §5): fpr and 1 − fnr, from 0 to 1."""
        fpr, fnr = self._frontier()
        return fpr, 1.0 - fnr

    def mode_collapse_region(self) -> tuple[Floats, Floats]:
        """Return the frontier (ε, δ) of the mode collapse region, from (0, 0) to (1, 1).

        Some set holds a share δ of real but only a share ε of generated (Lin et al. 2018; Simon et
        al. 2019 §5).
        """
        fpr, fnr = self._frontier()
        return fnr[::-1], 1.0 - fpr[::-1]

    @abstractmethod
    def _frontier(self) -> tuple[Floats, Floats]:
        """Error rates of the best classifiers and both trivial ones, from (0, 1) to (1, 0)."""

    def sample(self, n_angles: int) -> PrecisionRecall:
        """Return the points on ``n_angles`` evenly spaced rays from λ = 0 to λ = ∞.

        λ = tan θ with θ ∈ [0, π/2] (Sykes et al. 2024, appendix B, prints atan).
        """
        if n_angles < 2:
            raise InputError(f"n_angles must be at least 2; got {n_angles}.")
        trade_off = np.tan(np.linspace(0, np.pi / 2, n_angles))
        trade_off[-1] = np.inf
        return self.at(trade_off)

    def _masses(self, reverse: bool = False) -> tuple[Floats, Floats]:
        """Mass of real and generated on each edge of the frontier, which is a level of p/q.

        They determine all f-divergences, Σ q_i f(p_i / q_i) (Siry et al. 2023).
        """
        fpr, fnr = self._frontier()
        p, q = np.diff(fpr), -np.diff(fnr)
        return (q, p) if reverse else (p, q)

    @property
    def jensen_shannon(self) -> float:
        """Jensen–Shannon divergence in nats, between 0 and ln 2."""
        p, q = self._masses()
        mean = (p + q) / 2
        return max(0.0, (_sum(_kl, p, mean) + _sum(_kl, q, mean)) / 2)

    @property
    def hellinger(self) -> float:
        """Hellinger distance, between 0 and 1."""
        p, q = self._masses()
        return math.sqrt(max(0.0, 1.0 - math.fsum(np.sqrt(p * q))))

    def kl_divergence(self, *, reverse: bool = False) -> float:
        """Return KL(P‖Q), or KL(Q‖P) if ``reverse``: infinite as soon as some mode is missed."""
        return _sum(_kl, *self._masses(reverse))

    def chi2_divergence(self, *, reverse: bool = False) -> float:
        """Return χ²(P‖Q), or χ²(Q‖P) if ``reverse``: infinite as soon as some mode is missed."""
        return max(0.0, _sum(lambda p, q: p**2 / q, *self._masses(reverse)) - 1.0)

    @property
    def total_variation(self) -> float:
        """Total variation distance of the two distributions: 1 − α₁."""
        return 1.0 - float(self.at(1.0).precision)

    def plot(self, ax: "Axes | None" = None, *, iso_f: bool = False, **line: Any) -> PRCurveDisplay:
        """Draw the curve; see :meth:`precall.PRCurveDisplay.plot`."""
        precision, recall = self._drawn_points()
        return PRCurveDisplay(precision, recall).plot(ax, iso_f=iso_f, **line)

    def _drawn_points(self) -> PrecisionRecall:
        return self.sample(_DRAWN_ANGLES)


@dataclass(frozen=True, slots=True, eq=False)
class PRCurve(Curve):
    """The exact curve of finitely many classifiers: the lower convex hull of their error rates.

    Parameters
    ----------
    fpr, fnr
        Hull vertices, fpr ascending from 0 and fnr descending to 0. Vertex i is the best classifier
        for trade-offs between ``trade_offs[i]`` and ``trade_offs[i - 1]``.

    Examples
    --------
    Real puts all its mass on one of two states, generated half on each (Sajjadi et al. 2018):

    >>> curve = PRCurve.from_histograms(real=[1, 0], generated=[0.5, 0.5])
    >>> curve.at(1.0)
    PrecisionRecall(precision=0.5, recall=0.5)
    >>> curve.max_precision, curve.max_recall, curve.area
    (0.5, 1.0, 0.5)
    """

    fpr: Floats  # (n_vertices,)
    fnr: Floats  # (n_vertices,)
    trade_offs: Floats = field(init=False, repr=False)  # (n_vertices - 1,), descending

    def __post_init__(self) -> None:
        fpr, fnr = np.array(self.fpr, np.float64), np.array(self.fnr, np.float64)
        _check_vertices(fpr, fnr)
        # Rounding the vertices may disturb the order of nearly equal slopes by an ulp.
        slopes = np.minimum.accumulate(-np.diff(fnr) / np.diff(fpr))
        for name, values in (("fpr", fpr), ("fnr", fnr), ("trade_offs", slopes)):
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def of(cls, error_rates: ErrorRates) -> Self:
        """Minimise λ·fpr + fnr over a family, for all λ at once (Sykes et al. 2024, Eq. 9)."""
        return cls(*error_rates.hull())

    @classmethod
    def from_histograms(cls, real: ArrayLike, generated: ArrayLike) -> Self:
        """Return the curve of two distributions over the same finitely many states.

        Parameters
        ----------
        real, generated
            Non-negative masses of the states; each is divided by its sum.
        """
        p, q = (np.asarray(masses, dtype=np.float64) for masses in (real, generated))
        if p.shape != q.shape or p.ndim != 1:
            raise InputError(
                "real and generated must be histograms over the same states; got shapes "
                f"{p.shape} and {q.shape}."
            )
        for role, masses in (("real", p), ("generated", q)):
            if not np.isfinite(masses).all() or (masses < 0).any() or not masses.any():
                raise InputError(
                    f"{role} must hold finite, non-negative masses, not all of them 0."
                )
        p, q = p / p.max(), q / q.max()
        p_share, q_share = p / math.fsum(p), q / math.fsum(q)
        joint = p_share + q_share
        real_share = np.divide(p_share, joint, out=np.zeros_like(p), where=joint > 0)
        order = np.argsort(-real_share, kind="stable")  # the most real state first
        # The first i states are called real, for i = 0 … n. Summed from either end and divided by
        # their last value, rates that should be 0 or 1 are.
        fnr = np.concatenate([[0.0], np.cumsum(q[order])])
        fpr = np.concatenate([[0.0], np.cumsum(p[order[::-1]])])[::-1]
        return cls(*map(np.asarray, lower_hull(fpr / fpr[0], fnr / fnr[-1])))

    @classmethod
    def mean(cls, curves: Sequence[Self]) -> Self:
        """Average curves at equal λ, exactly."""
        if not curves:
            raise InputError("curves must hold at least one curve; got none.")
        return cls(*mean_hull([(c.fpr, c.fnr, c.trade_offs) for c in curves]))

    def dominates(self, other: Self) -> bool:
        """Whether precision is at least the other's at every λ, and larger at some.

        α is piecewise linear in λ, so the breakpoints of both, and both ends, decide.
        """
        lam = np.concatenate([[0.0], self.trade_offs, other.trade_offs, [np.inf]])
        ours, theirs = self.at(lam), other.at(lam)
        differences = np.concatenate([ours[0] - theirs[0], ours[1] - theirs[1]])
        return bool((differences >= 0).all() and (differences > 0).any())

    def swapped(self) -> Self:
        """Return the curve with the roles of real and generated exchanged."""
        return type(self)(self.fnr[::-1], self.fpr[::-1])

    def error_rates_at(self, trade_off: Floats) -> tuple[Floats, Floats]:
        """Return fpr and fnr of the best classifier at each trade-off λ."""
        ascending = self.trade_offs[::-1]
        vertex = len(ascending) - np.searchsorted(ascending, trade_off, side="right")
        return self.fpr[vertex], self.fnr[vertex]

    def _pieces(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Vertices and the trade-offs between which each is best, λ ascending."""
        edges = np.concatenate([[0.0], self.trade_offs[::-1], [np.inf]])
        return self.fpr[::-1], self.fnr[::-1], edges[:-1], edges[1:]

    @property
    def area(self) -> float:
        """Area under the curve, in [0, 1]."""
        return math.fsum(swept_area(*self._pieces()))

    def _best_for(self, b: float) -> Floats:
        return self.trade_offs  # on each piece F_b is monotone in λ

    def median(self) -> PrecisionRecall:
        """Return the PR median: bracketed root-finding inside one piece."""
        f, g, low, high = self._pieces()
        areas = swept_area(f, g, low, high)
        target = math.fsum(areas) / 2
        if target == 0:
            return PrecisionRecall(0.0, 0.0)
        swept = np.cumsum(areas)
        i = min(int(np.searchsorted(swept, target)), len(areas) - 1)
        missing = target - (swept[i - 1] if i else 0.0)
        piece = map(float, (f[i], g[i], low[i], high[i]))
        return self.at(ray_sweeping(missing, *piece))

    def iou(self, other: Curve) -> float:
        """Return the intersection over the union of two regions; 1 where both are empty."""
        if not isinstance(other, PRCurve):
            return other.iou(self)
        edges = np.unique(np.concatenate([[0.0], self.trade_offs, other.trade_offs, [np.inf]]))
        low, high = edges[:-1], edges[1:]
        (f1, g1), (f2, g2) = self.error_rates_at(low), other.error_rates_at(low)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (g2 - g1) / (f1 - f2)  # where f1 + g1/λ = f2 + g2/λ
        middle = np.where((low < crossing) & (crossing < high), crossing, low)
        before = [swept_area(f, g, low, middle) for f, g in ((f1, g1), (f2, g2))]
        after = [swept_area(f, g, middle, high) for f, g in ((f1, g1), (f2, g2))]
        shared = math.fsum([*np.minimum(*before), *np.minimum(*after)])
        joint = math.fsum([*np.maximum(*before), *np.maximum(*after)])
        return shared / joint if joint > 0 else 1.0

    def _precision_at(self, recall: Floats) -> Floats:
        if len(self.trade_offs) == 0:
            return np.zeros_like(recall)
        corners = self.at(self.trade_offs).recall  # ascending; piece i lies before corner i
        i = np.searchsorted(corners, recall, side="left")
        f, g = self.fpr[i], self.fnr[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(f == 0, g, g * recall / (recall - f))
        last = self.trade_offs[-1] * self.max_recall  # λ ends at 0 along a vertical line
        alpha = np.where(g > 0, np.maximum(inside, last), last)
        return np.where(recall > self.max_recall, 0.0, np.minimum(alpha, self.max_precision))

    def _frontier(self) -> tuple[Floats, Floats]:
        before, after = self.max_precision < 1, self.max_recall < 1
        fpr = np.concatenate([[0.0] * before, self.fpr, [1.0] * after])
        fnr = np.concatenate([[1.0] * before, self.fnr, [0.0] * after])
        return fpr, fnr

    def _drawn_points(self) -> PrecisionRecall:
        """Every corner, and enough points between for the hyperbolic arcs."""
        angles = np.linspace(0, np.pi / 2, _DRAWN_ANGLES)[1:-1]
        edges = np.concatenate([[0.0], np.tan(angles), self.trade_offs, [np.inf]])
        return self.at(np.unique(edges))


def _check_vertices(fpr: Floats, fnr: Floats) -> None:
    def refuse(reason: str) -> None:
        raise InputError(f"fpr and fnr are not the vertices of a curve: {reason}.")

    if fpr.ndim != 1 or fpr.shape != fnr.shape or len(fpr) == 0:
        refuse(f"they must be equally long and not empty; got shapes {fpr.shape} and {fnr.shape}")
    if not all(((side >= 0) & (side <= 1)).all() for side in (fpr, fnr)):
        refuse("all rates must lie in [0, 1]")
    if fpr[0] != 0 or fnr[-1] != 0:
        refuse(f"fpr must begin and fnr end with 0; got {fpr[0]} and {fnr[-1]}")
    if (np.diff(fpr) < _LEAST_DIFFERENCE).any() or (np.diff(fnr) > -_LEAST_DIFFERENCE).any():
        refuse("fpr must increase and fnr decrease from each vertex to the next")
    turns = np.diff(fpr)[:-1] * np.diff(fnr)[1:] - np.diff(fnr)[:-1] * np.diff(fpr)[1:]
    if (turns < -_CONVEXITY_SLACK).any():
        refuse("they are not convex")


def _kl(p: Floats, q: Floats) -> Floats:
    return p * np.log(p / q)


def _sum(term: Callable[[Floats, Floats], Floats], p: Floats, q: Floats) -> float:
    """Sum where p has mass; infinite where it has some and q has none."""
    carried = p > 0
    if (q[carried] == 0).any():
        return math.inf
    return max(0.0, math.fsum(term(p[carried], q[carried])))


def _within(values: ArrayLike, name: str, most: float) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    outside = ~((array >= 0) & (array <= most))
    if outside.any():
        raise InputError(f"{name} must lie in [0, {most:g}]; got {array[outside].flat[0]:g}.")
    return array


def _unwrap(values: NDArray[Any]) -> Any:
    """Return a plain float for a single value."""
    return float(values) if values.ndim == 0 else values
