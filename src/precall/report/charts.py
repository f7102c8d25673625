"""The numbers that charts of results are drawn from."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from precall.curves.pr_curve import PRCurve
from precall.findings.modes import Mode
from precall.report.score_scales import Scale, marks, score_scales
from precall.report.words import in_words
from precall.results.evaluation import Evaluation
from precall.results.tables import best_first, decimals, interval, score_value, shown_trade_off
from precall.scores import Score
from precall.uncertainty.bands import CurveBand

Floats = NDArray[np.float64]

_N_ANGLES = 121
_N_ANGLES_OF_BAND = 181
TRADE_OFFS = np.append(np.tan(np.linspace(0, math.pi / 2, _N_ANGLES)[:-1]), math.inf)
_REACH = 3  # angles to either side over which the width of a band is evened out


def chart_data(results: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return all that the script of a page draws."""
    return {
        "tradeOffs": shown_trade_offs(),
        "models": [
            {
                "name": model,
                "curves": [
                    drawn_curve(name, curve, result.bands.get(name))
                    for name, curve in best_first(result).items()
                ],
                "modes": [_drawn_mode(mode) for mode in result.modes],
            }
            for model, result in results.items()
        ],
        "scales": [
            _drawn_scale(scale, list(results.values()))
            for scale in score_scales([result.scores for result in results.values()])
        ],
    }


def band_outline(band: CurveBand, n_angles: int = _N_ANGLES_OF_BAND) -> tuple[Floats, Floats]:
    """Return precision and recall around the pointwise band, from axis to axis and back.

    Its width along the rays of equal λ is evened out, and nowhere less than that of the interval.
    A curve falls, so that it is nowhere less complete than where λ is larger, and nowhere less
    precise than where λ is smaller: near the axes, which a few samples decide, this is what tells
    the lower end.
    """
    angles = np.linspace(0, math.pi / 2, n_angles + 2)[1:-1]
    rays, lam = np.stack([np.sin(angles), np.cos(angles)]), np.tan(angles)
    ends = PRCurve.mean(band.curves).at(lam).precision, *band.at(lam)
    middle, low, high = (end / rays[0] for end in ends)  # as distances from the origin
    lower = rays * np.maximum(middle - _evened_out(middle - low), 0)
    upper = rays * np.minimum(middle + _evened_out(high - middle), 1 / rays.max(axis=0))
    lower_precision = np.maximum.accumulate(lower[0])
    lower_recall = np.maximum.accumulate(lower[1, ::-1])[::-1]
    upper_precision = np.minimum.accumulate(upper[0, ::-1])[::-1]
    upper_recall = np.minimum.accumulate(upper[1])
    there = _from_axis_to_axis(lower_precision, lower_recall)
    back = _from_axis_to_axis(upper_precision, upper_recall)[:, ::-1]
    precision, recall = np.concatenate([there, back], axis=1)
    return precision, recall


def _evened_out(widths: Floats) -> Floats:
    """Average what is widest around each angle: smooth, and nowhere narrower than it was."""
    window = 2 * _REACH + 1
    widest = sliding_window_view(np.pad(widths, _REACH, "edge"), window).max(axis=1)
    averaged = sliding_window_view(np.pad(widest, _REACH, "edge"), window).mean(axis=1)
    return np.asarray(averaged, np.float64)


def _from_axis_to_axis(precision: Floats, recall: Floats) -> Floats:
    """Carry an edge of a band, the smallest λ first, on to both axes."""
    return np.array([[0.0, *precision, precision[-1]], [recall[0], *recall, 0.0]])


def shown_trade_offs() -> list[str]:
    """Write the trade-offs that curves are drawn at."""
    return [shown_trade_off(lam) for lam in TRADE_OFFS]


def drawn_curve(name: str, curve: PRCurve, band: CurveBand | None) -> dict[str, Any]:
    """Return the points of a curve, and the outline of its band if it has one."""
    drawn: dict[str, Any] = {"name": in_words(name), **_rounded(*curve.at(TRADE_OFFS))}
    return drawn if band is None else {**drawn, "band": _rounded(*band_outline(band))}


def _rounded(precision: Floats, recall: Floats) -> dict[str, list[float]]:
    return {
        name: [round(value, 5) for value in np.clip(values, 0, 1).tolist()]
        for name, values in (("precision", precision), ("recall", recall))
    }


def _drawn_scale(scale: Scale, results: Sequence[Evaluation]) -> dict[str, Any]:
    """Return the scores on a scale: points of each model, and what they are to be seen against."""
    found = [
        [(row, r.scores[name]) for row, name in enumerate(scale.names) if name in r.scores]
        for r in results
    ]
    seen_against: dict[str, dict[int, float]] = {}  # by what, by row; of the first that tells
    for row, score in chain.from_iterable(found):
        for what, value in marks(score).items():
            if scale.side(value) == 0:
                seen_against.setdefault(what, {}).setdefault(row, value)
    return {
        "names": [in_words(name) for name in scale.names],
        "ends": scale.ends,
        "isDistance": scale.is_distance,
        "models": [
            [_drawn_score(row, s, scale) for row, s in of_model if not math.isnan(s.value)]
            for of_model in found
        ],
        "marks": [
            {"name": what, "rows": list(values), "values": list(values.values())}
            for what, values in seen_against.items()
        ],
    }


def _drawn_score(row: int, score: Score, scale: Scale) -> dict[str, Any]:
    """Return where a score is drawn, beside which end if it is off the scale, and its number."""
    return {
        "row": row,
        "value": score.value if math.isfinite(score.value) else None,
        "side": scale.side(score.value),
        "interval": scale.cut(score.interval),
        "text": score_value(score, decimals),
        "intervalText": interval(score.interval),
    }


def _drawn_mode(mode: Mode) -> dict[str, Any]:
    return {
        "finding": mode.finding,
        "real": mode.real_mass,
        "generated": mode.generated_mass,
        "realInterval": mode.real_interval,
        "generatedInterval": mode.generated_interval,
    }
