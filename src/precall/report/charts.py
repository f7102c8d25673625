"""The numbers that charts of results are drawn from."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.curves.pr_curve import PRCurve
from precall.findings.modes import Mode
from precall.results.evaluation import Evaluation
from precall.results.tables import best_of_several
from precall.scores import DISTANCES, Score
from precall.uncertainty.bands import CurveBand

_N_ANGLES = 121
_FIRST_ANGLE = 0.06  # bands are not drawn at the very ends, which a few samples decide
_LARGEST_DRAWN = 2.0


def chart_data(results: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return all that the script of a page draws."""
    trade_offs = np.append(np.tan(np.linspace(0, math.pi / 2, _N_ANGLES)[:-1]), math.inf)
    return {
        "tradeOffs": [shown_trade_off(lam) for lam in trade_offs],
        "models": [
            {
                "name": model,
                "curves": [
                    _drawn_curve(name, curve, result.bands.get(name), trade_offs)
                    for name, curve in best_first(result).items()
                ],
                "scores": [_drawn_score(name, s) for name, s in result.scores.items()],
                "modes": [_drawn_mode(mode) for mode in result.modes],
            }
            for model, result in results.items()
        ],
    }


def best_first(result: Evaluation) -> dict[str, PRCurve]:
    """Return all curves of a result, the best of several first."""
    return {**best_of_several(result), **result.curves}


def shown_trade_off(lam: float) -> str:
    """Write a trade-off, as a fraction where real weighs less."""
    if math.isinf(lam):
        return "∞"
    return f"1/{1 / lam:.3g}" if 0 < lam < 0.995 else f"{lam:.3g}"


def is_drawable(name: str, score: Score) -> bool:
    """Whether a score is a share, or density, which is 1 where P = Q, and not a distance."""
    is_finite = score.interval is None or all(map(math.isfinite, score.interval))
    return not name.startswith(DISTANCES) and 0 <= score.value <= _LARGEST_DRAWN and is_finite


def band_outline(
    band: CurveBand, n_angles: int = _N_ANGLES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precision and recall around the pointwise band: each end of it along its rays."""
    lam = np.tan(np.linspace(_FIRST_ANGLE, math.pi / 2 - _FIRST_ANGLE, n_angles))
    low, high = band.at(lam)
    ends = np.concatenate([low, high[::-1]])
    return np.clip(ends, 0, 1), np.clip(ends / np.append(lam, lam[::-1]), 0, 1)


def _drawn_curve(
    name: str, curve: PRCurve, band: CurveBand | None, trade_offs: NDArray[np.float64]
) -> dict[str, Any]:
    drawn: dict[str, Any] = {"name": name, **_rounded(*curve.at(trade_offs))}
    return drawn if band is None else {**drawn, "band": _rounded(*band_outline(band))}


def _rounded(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> dict[str, list[float]]:
    return {
        name: [round(value, 5) for value in np.clip(values, 0, 1).tolist()]
        for name, values in (("precision", precision), ("recall", recall))
    }


def _drawn_score(name: str, score: Score) -> dict[str, Any]:
    return {
        "name": name,
        "value": score.value if math.isfinite(score.value) else None,
        "interval": score.interval,
        "expected": score.expected_if_equal,
        "ceiling": None if score.ceiling is None else score.ceiling.perfect,
        "isShare": is_drawable(name, score),
    }


def _drawn_mode(mode: Mode) -> dict[str, Any]:
    return {
        "finding": mode.finding,
        "real": mode.real_mass,
        "generated": mode.generated_mass,
        "realInterval": mode.real_interval,
        "generatedInterval": mode.generated_interval,
    }
