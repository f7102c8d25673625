"""How uncertain a curve is: intervals at each trade-off, a band around all of it, its summaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from precall.curves.judged import Judged
from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import SUMMARIES
from precall.errors import InputError
from precall.runtime.read_only import make_read_only
from precall.runtime.threads import single_threaded_libraries
from precall.uncertainty.curve_draws import TRADE_OFFS, CurveDraws
from precall.uncertainty.resampling import DEGREES_OF_FREEDOM
from precall.uncertainty.simultaneous import BandOfDifference, largest_deviation

Floats = NDArray[np.float64]

_N_ANGLES = 61
_FEW = slice(0, None, 4)  # of the trade-offs that curves are drawn at
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

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 400, 4))
    >>> result = precall.evaluate(real, generated, estimators=["knn"], scores=(), intervals=True)
    >>> band = result.bands["knn"]
    >>> low, high = band.at(1.0)
    >>> bool(low <= result.curves["knn"].at(1.0).precision <= high)
    True
    >>> sorted(band.summaries)[:3]
    ['area', 'f_1', 'f_1_8']
    """

    curves: tuple[PRCurve, ...]  # one a split
    n_evaluated: int  # real samples in each split
    m_evaluated: int  # generated samples in each split
    confidence: float
    simultaneous_z: float
    summaries: Mapping[str, tuple[float, float]]  # interval of each summary of the mean curve
    draws: CurveDraws | None = field(default=None, repr=False)  # not in JSON

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def of_all(
        cls,
        judged: Mapping[str, Sequence[Sequence[Judged]]],
        sizes: tuple[int, int],
        confidence: float,
        seed: int,
        threads: int = 1,
    ) -> dict[str, Self]:
        """Compute the bands of several curves from what is measured in each split.

        Parameters
        ----------
        judged
            By name and split: the mean of its curves is that of the split.
        sizes
            Of real and of generated, all samples.
        """
        drawn = CurveDraws.of(list(judged.values()), sizes, seed, threads)
        with single_threaded_libraries():  # of matrices so small threads only wait for each other
            return {
                name: cls._of(splits, draws, confidence, seed)
                for (name, splits), draws in zip(judged.items(), drawn, strict=True)
            }

    @classmethod
    def _of(
        cls,
        splits: Sequence[Sequence[Judged]],
        draws: CurveDraws,
        confidence: float,
        seed: int,
    ) -> Self:
        curves = tuple(PRCurve.mean([judged.curve() for judged in split]) for split in splits)
        n, m = min(_evaluated(split) for split in splits)
        least = _standard_error(curves, TRADE_OFFS, n, m, more=0)
        draws, mean = draws.at_least(least), PRCurve.mean(curves)
        summaries = {}
        for name, summary in SUMMARIES.items():
            of_splits = [summary(curve) for curve in curves]
            half = _half_width(draws.summaries[name], of_splits, n, m, confidence)
            value = summary(mean)
            summaries[name] = (max(0.0, value - half), min(1.0, value + half))
        z = _simultaneous_z(curves, n, m, confidence, seed)
        return cls(curves, n, m, confidence, z, summaries, draws)

    def interval_of_difference(
        self, other: Self, name: str, confidence: float
    ) -> tuple[float, float] | None:
        """Return an interval around the difference of a summary of two mean curves.

        Both against the same real samples, split and drawn alike; ``None`` if they were read from
        a document, which has no draws.
        """
        if self.draws is None or other.draws is None:
            return None
        summary = SUMMARIES[name]
        pairs = zip(self.curves, other.curves, strict=True)
        of_splits = [summary(ours) - summary(theirs) for ours, theirs in pairs]
        drawn = self.draws.summaries[name] - other.draws.summaries[name]
        half = _half_width(drawn, of_splits, self.n_evaluated, self.m_evaluated, confidence)
        value = summary(PRCurve.mean(self.curves)) - summary(PRCurve.mean(other.curves))
        return value - half, value + half

    def difference(self, other: Self, confidence: float) -> BandOfDifference | None:
        """Return a band around this mean curve less another, for all λ at once.

        As :meth:`interval_of_difference`; one sample more or less in each class is always allowed.
        """
        if self.draws is None or other.draws is None:
            return None
        drawn = (self.draws.precision - other.draws.precision)[:, _FEW]
        lam = TRADE_OFFS[_FEW]
        deviations = drawn - drawn.mean(axis=0)
        least = (lam / self.n_evaluated) ** 2 + (1 / self.m_evaluated) ** 2
        error = np.sqrt(deviations.var(axis=0, ddof=1) + least)
        c = largest_deviation(deviations, 1 - confidence, DEGREES_OF_FREEDOM)
        value = np.mean([of.at(lam).precision for of in self.curves], axis=0)
        value = value - np.mean([of.at(lam).precision for of in other.curves], axis=0)
        low, high = value - c * error, value + c * error
        return BandOfDifference(*(tuple(of.tolist()) for of in (lam, value, low, high)))

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
        return _standard_error(self.curves, lam, self.n_evaluated, self.m_evaluated, more=1)

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


def _standard_error(
    curves: Sequence[PRCurve], trade_off: Floats, n: int, m: int, *, more: int
) -> Floats:
    """Deviation of the mean of λ·fpr + fnr over splits, some errors and correct calls added."""
    variances = []
    for curve in curves:
        fpr, fnr = curve.error_rates_at(trade_off)
        fpr, fnr = (n * fpr + more) / (n + 2 * more), (m * fnr + more) / (m + 2 * more)
        variances.append(trade_off**2 * fpr * (1 - fpr) / n + fnr * (1 - fnr) / m)
    return np.asarray(np.sqrt(np.mean(variances, axis=0) * _shared(len(curves))))


def _t(confidence: float) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + confidence) / 2, DEGREES_OF_FREEDOM))


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


def _evaluated(split: Sequence[Judged]) -> tuple[int, int]:
    """Real and generated samples that some part of a split is measured by."""
    n, m = (
        int(np.count_nonzero(np.bincount(np.concatenate(of_parts))))
        for of_parts in (
            [judged.places[judged.is_real == real] for judged in split] for real in (True, False)
        )
    )
    return n, m


def _half_width(
    drawn: Floats, of_splits: Sequence[float], n: int, m: int, confidence: float
) -> float:
    """Half the width of an interval around a summary of the mean curve.

    The variance is the larger of two estimates: over draws of the evaluated samples (n_draws,),
    which does not see that the fit samples vary, and from what differs between the splits, half of
    whose samples are the same.
    """
    n_splits = len(of_splits)
    between = np.var(of_splits, ddof=1) if n_splits > 1 else 0.0
    variance = max(np.var(drawn, ddof=1), 2 * between * _shared(n_splits))
    least = 1 / n**2 + 1 / m**2  # one sample more or less
    return float(_t(confidence) * np.sqrt(variance + least))
