"""How a curve and its summaries vary: the samples that judge its classifiers are drawn again.

Who is called real by which classifier stays as it is, and only how often each sample counts is
drawn (Efron 1979), alike in all splits that evaluate it and, for real samples, alike for all models
of a comparison: what their curves have in common cancels in a difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.judged import Judged
from precall.curves.summaries import SUMMARIES
from precall.runtime.read_only import make_read_only
from precall.runtime.threads import in_threads, single_threaded_libraries
from precall.uncertainty.resampling import Weights, drawn_weights

Floats = NDArray[np.float64]

_N_ANGLES = 121  # odd: λ = 1 is among them
ANGLES = np.linspace(0, np.pi / 2, _N_ANGLES + 2)[1:-1]
TRADE_OFFS = np.tan(ANGLES)
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class CurveDraws:
    """A curve, mean over splits, once for every draw of the samples."""

    precision: Floats  # (n_draws, n_angles) at TRADE_OFFS
    summaries: Mapping[str, Floats] = field(init=False)  # each (n_draws,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "summaries", summaries_on_grid(self.precision))
        make_read_only(self)

    @classmethod
    def of(
        cls,
        curves: Sequence[Sequence[Sequence[Judged]]],
        sizes: tuple[int, int],
        seed: int,
        threads: int = 1,
    ) -> list[Self]:
        """Draw samples again and again, alike for all curves.

        Parameters
        ----------
        curves
            By curve and split what is measured in it.
        sizes
            Of real and of generated, all samples.
        """
        every = [judged for splits in curves for split in splits for judged in split]
        draws: list[list[Floats]] = [[] for _ in curves]
        for of_real, of_generated in drawn_weights(*sizes, seed):
            weights = of_real.astype(np.float32), of_generated.astype(np.float32)

            def precision(judged: Judged, weights: tuple[Weights, Weights] = weights) -> Floats:
                return _precision(judged, *weights)

            with single_threaded_libraries():
                found = iter(in_threads(precision, every, threads))
            for splits, drawn in zip(curves, draws, strict=True):
                means = [np.mean([next(found) for _ in split], axis=0) for split in splits]
                drawn.append(np.mean(means, axis=0))
        return [cls(np.concatenate(drawn)) for drawn in draws]

    def at_least(self, deviations: Floats) -> Self:
        """Return draws that vary as much at each λ, if they do not.

        They settle on the smallest error anew each time, which varies less than that of any
        classifier, and do not see that the fit samples vary.
        """
        mean, found = self.precision.mean(axis=0), self.precision.std(axis=0, ddof=1)
        more = np.divide(deviations, found, out=np.ones_like(found), where=found > _ROUNDING)
        return type(self)(mean + np.maximum(more, 1.0) * (self.precision - mean))


def _precision(judged: Judged, of_real: Weights, of_generated: Weights) -> Floats:
    """The smallest λ·fpr + fnr of each draw, (n_draws, n_angles)."""
    fpr, fnr = judged.rates(of_real, of_generated)
    least = np.full((len(fpr), _N_ANGLES), np.inf)
    for of_real_ones, of_generated_ones in zip(fpr.T, fnr.T, strict=True):
        risk = of_real_ones[:, None] * TRADE_OFFS + of_generated_ones[:, None]
        np.minimum(least, risk, out=least)
    return least


def summaries_on_grid(precision: Floats) -> dict[str, Floats]:
    """Read the summaries of many curves, (n_curves, n_angles), off the grid of trade-offs."""
    step = ANGLES[1] - ANGLES[0]
    swept = np.cumsum((precision / np.sin(ANGLES)) ** 2, axis=1) * step / 2
    rows = np.arange(len(precision))
    at_median = (swept < swept[:, -1:] / 2).sum(axis=1)
    before = np.where(at_median > 0, swept[rows, at_median - 1], 0.0)
    piece = np.maximum(swept[rows, at_median] - before, np.finfo(np.float64).tiny)
    inside = (swept[:, -1] / 2 - before) / piece  # the sums are of the areas up to half a step on
    angle = np.clip(ANGLES[at_median] + (inside - 0.5) * step, ANGLES[0], ANGLES[-1])
    radius = np.array(
        [np.interp(a, ANGLES, of / np.sin(ANGLES)) for a, of in zip(angle, precision, strict=True)]
    )
    found = {
        "f_8": _f_score(precision, 8.0),
        "f_1_8": _f_score(precision, 1 / 8),
        "f_1": _f_score(precision, 1.0),
        "median_precision": radius * np.sin(angle),
        "median_recall": radius * np.cos(angle),
        "area": swept[:, -1],
        "total_variation": 1 - precision[:, _N_ANGLES // 2],
    }
    return {name: found[name] for name in SUMMARIES}


def _f_score(precision: Floats, b: float) -> Floats:
    means = (1 + b * b) * precision / (1 + b * b * TRADE_OFFS)  # since β = α/λ
    return np.asarray(means.max(axis=1))
