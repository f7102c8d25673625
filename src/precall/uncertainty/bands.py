"""How uncertain a curve is: intervals at each trade-off, a band around all of it, its summaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.hull import lower_hull
from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import SUMMARIES
from precall.errors import InputError
from precall.runtime.read_only import make_read_only

Floats = NDArray[np.float64]

_N_GROUPS = 8
_N_ANGLES = 61
_N_DRAWS = 2000
_LEAST_SIMULTANEOUS = 2.6 / 1.96  # times the pointwise z


@dataclass(frozen=True, slots=True, eq=False)
class CurveBand:
    """Where the expected curve lies, from several independent splits into halves.

    At the classifier that is best at λ, the variance of λ·fpr + fnr given the fit samples is V̄ =
    λ²fpr(1 − fpr)/n + fnr(1 − fnr)/m, averaged over the splits. Two random halves share half of
    their samples on average, so the mean over F splits has a variance of V̄·½(1 + 1/F), or less
    where different splits choose different classifiers. One error and one correct call more in each
    class (Agresti & Coull 1998) allow for errors that no sample happened to show. Intervals are
    around the mean over the splits at equal λ, and are about its expectation at this number of
    samples.
    """

    curves: tuple[PRCurve, ...]  # one a split
    n_evaluated: int  # real samples in each split
    m_evaluated: int  # generated samples in each split
    confidence: float
    simultaneous_z: float
    summaries: Mapping[str, tuple[float, float]]  # interval of each summary of the mean curve
    left_out: Mapping[str, Floats] = field(default_factory=dict, repr=False)
    # each (n_splits, n_groups): a summary without one group of evaluated samples; not in JSON

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def of(cls, evidence: Sequence[Evidence], confidence: float, seed: int) -> Self:
        """Compute the band of an estimator from its evidence in each split."""
        curves = tuple(PRCurve.of(ErrorRates.of(part)) for part in evidence)
        n = min(int(np.count_nonzero(part.is_real)) for part in evidence)
        m = min(int(np.count_nonzero(~part.is_real)) for part in evidence)
        mean = PRCurve.mean(curves)
        found = [_leave_groups_out(part, seed) for part in evidence]
        left_out = {name: np.array([split[name] for split in found]) for name in SUMMARIES}
        summaries = {}
        for name, summary in SUMMARIES.items():
            of_splits = [summary(curve) for curve in curves]
            half = _half_width(left_out[name], of_splits, n, m, confidence)
            value = summary(mean)
            summaries[name] = (max(0.0, value - half), min(1.0, value + half))
        z = _simultaneous_z(curves, n, m, confidence, seed)
        return cls(curves, n, m, confidence, z, summaries, left_out)

    def half_width_of_difference(self, other: Self, name: str) -> float:
        """Half the width of an interval around the difference of a summary of two curves.

        Both against the same real samples, split and grouped alike.
        """
        of_splits = [
            SUMMARIES[name](ours) - SUMMARIES[name](theirs)
            for ours, theirs in zip(self.curves, other.curves, strict=True)
        ]
        left_out = self.left_out[name] - other.left_out[name]
        n, m = self.n_evaluated, self.m_evaluated
        return _half_width(left_out, of_splits, n, m, self.confidence)

    def document(self) -> dict[str, Any]:
        """Everything, under the names of the JSON format."""
        return {
            "confidence": self.confidence,
            "simultaneous_z": self.simultaneous_z,
            "n_evaluated": self.n_evaluated,
            "m_evaluated": self.m_evaluated,
            "summaries": {name: list(interval) for name, interval in self.summaries.items()},
            "splits": [{"fpr": c.fpr.tolist(), "fnr": c.fnr.tolist()} for c in self.curves],
        }

    def deviation(self, trade_off: ArrayLike) -> Floats:
        """Deviation of precision over the splits at each λ (Sykes et al. 2024 §4.5)."""
        lam = np.asarray(trade_off, np.float64)
        return np.asarray(np.std([curve.at(lam).precision for curve in self.curves], axis=0))

    def standard_error(self, trade_off: ArrayLike) -> Floats:
        """Standard error of precision at each λ."""
        lam = np.asarray(trade_off, np.float64)
        n, m = self.n_evaluated, self.m_evaluated
        variances = []
        for curve in self.curves:  # of λ·fpr + fnr, with one error and one correct call more
            fpr, fnr = curve.error_rates_at(lam)
            fpr, fnr = (n * fpr + 1) / (n + 2), (m * fnr + 1) / (m + 2)
            variances.append(lam**2 * fpr * (1 - fpr) / n + fnr * (1 - fnr) / m)
        return np.asarray(np.sqrt(np.mean(variances, axis=0) * _shared(len(self.curves))))

    def at(self, trade_off: ArrayLike, *, simultaneous: bool = False) -> tuple[Any, Any]:
        """Lower and upper end of precision at each λ; divided by λ they are those of recall.

        Parameters
        ----------
        trade_off
            λ, finite.
        simultaneous
            Whether the whole curve is to be inside at once, at the given confidence.
        """
        lam = np.asarray(trade_off, np.float64)
        if not (np.isfinite(lam) & (lam >= 0)).all():
            raise InputError("trade_off must be finite and not negative.")
        z = self.simultaneous_z if simultaneous else _z(self.confidence)
        middle = np.mean([curve.at(lam).precision for curve in self.curves], axis=0)
        half = z * self.standard_error(lam)
        return np.maximum(middle - half, 0.0), np.minimum(middle + half, np.minimum(1.0, lam))


def _z(confidence: float) -> float:
    return float(scipy.special.ndtri((1 + confidence) / 2))


def _shared(n_splits: int) -> float:
    """Variance of a mean over splits into halves, in units of that of one."""
    return 0.5 * (1 + 1 / n_splits)


def _simultaneous_z(
    curves: Sequence[PRCurve], n: int, m: int, confidence: float, seed: int
) -> float:
    """Quantile of the largest deviation over all λ, in standard errors.

    The errors of nested classifiers are correlated as min(fpr, fpr′) − fpr·fpr′.
    """
    lam = np.tan(np.linspace(0, np.pi / 2, _N_ANGLES + 2)[1:-1])
    covariance = np.zeros((_N_ANGLES, _N_ANGLES))
    for curve in curves:
        fpr, fnr = curve.error_rates_at(lam)
        covariance += np.outer(lam, lam) * _bridge(fpr) / n + _bridge(fnr) / m
    deviation = np.sqrt(np.diagonal(covariance))
    known = deviation > 1e-12 * deviation.max(initial=1e-300)
    z = _z(confidence)
    if not known.any():
        return _LEAST_SIMULTANEOUS * z
    correlation = covariance[np.ix_(known, known)] / np.outer(deviation[known], deviation[known])
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = np.random.default_rng((seed, 2)).normal(size=(_N_DRAWS, root.shape[1])) @ root.T
    largest = float(np.quantile(np.abs(draws).max(axis=1), confidence))
    return max(_LEAST_SIMULTANEOUS * z, largest)


def _bridge(rates: Floats) -> Floats:
    return np.minimum.outer(rates, rates) - np.outer(rates, rates)


def _half_width(
    left_out: Floats, of_splits: Sequence[float], n: int, m: int, confidence: float
) -> float:
    """Half the width of an interval around a summary of the mean curve.

    The variance in one split is the larger of two estimates: a jackknife over groups of evaluated
    samples (n_splits, n_groups), which does not see that the fit samples vary, and twice the
    variance between the splits, half of whose samples are the same.
    """
    n_splits, n_groups = left_out.shape
    within = (n_groups - 1) ** 2 / n_groups * np.mean(np.var(left_out, axis=1, ddof=1))
    between = np.var(of_splits, ddof=1) if n_splits > 1 else 0.0
    variance = max(within, 2 * between) * _shared(n_splits)
    return float(_z(confidence) * np.sqrt(variance + 1 / n**2 + 1 / m**2))


def _leave_groups_out(evidence: Evidence, seed: int) -> dict[str, list[float]]:
    """Each summary without one group of the evaluated samples after the other."""
    classes = evidence.is_real, ~evidence.is_real
    n_groups = max(2, min(_N_GROUPS, *(int(np.count_nonzero(c)) for c in classes)))
    group = np.empty(len(evidence), np.int64)
    for of_class, rng in zip(classes, np.random.default_rng((seed, 3)).spawn(2), strict=True):
        size = int(np.count_nonzero(of_class))
        group[of_class] = rng.permutation(size) % n_groups
    gammas = ErrorRates.of(evidence).best()
    called_real = np.array([evidence.called_real(g) for g in gammas], bool)
    called_real = called_real.reshape(len(gammas), len(evidence))
    rates = []
    for of_class, errs in ((classes[0], ~called_real), (classes[1], called_real)):
        errors = np.stack([(errs & of_class)[:, group == g].sum(axis=1) for g in range(n_groups)])
        sizes = np.array([np.count_nonzero(of_class & (group == g)) for g in range(n_groups)])
        left = (errors.sum(axis=0) - errors) / np.maximum(sizes.sum() - sizes, 1)[:, None]
        rates.append(left)  # (n_groups, n_classifiers)
    found = [_summaries(fpr, fnr) for fpr, fnr in zip(*rates, strict=True)]
    return {name: [summaries[name] for summaries in found] for name in SUMMARIES}


def _summaries(fpr: Floats, fnr: Floats) -> dict[str, float]:
    """Summaries of the hull of some classifiers and the trivial ones."""
    hull = lower_hull(np.append(fpr, [0.0, 1.0]), np.append(fnr, [1.0, 0.0]))
    curve = PRCurve(*map(np.asarray, hull))
    median = curve.median()  # by root-finding: once for both of its numbers
    known = {"median_precision": median.precision, "median_recall": median.recall}
    return {name: known[name] if name in known else SUMMARIES[name](curve) for name in SUMMARIES}
