"""What a page shows of results: tables of text, and numbers for its charts."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.curves.pr_curve import PRCurve
from precall.evaluation.comparison import Difference
from precall.findings.diagnosis import corner
from precall.findings.modes import Mode
from precall.results.evaluation import Evaluation
from precall.results.tables import CURVE_HEADINGS
from precall.scores import Score
from precall.uncertainty.bands import SUMMARIES, CurveBand

__all__ = [
    "Table",
    "chart_data",
    "class_table",
    "curve_table",
    "difference_table",
    "headline",
    "mode_table",
    "protocol_table",
    "score_table",
    "summary_table",
]

BEST = "best"
_N_ANGLES = 121
_FIRST_ANGLE = 0.06  # bands are not drawn at the very ends, which a few samples decide
_DISTANCES = ("frechet_distance", "kernel_distance")
_LARGEST_DRAWN = 2.0
_LISTED_TRADE_OFFS = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, math.inf)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; the first cell of each row is its heading."""

    caption: str
    headings: list[str]
    rows: list[list[str]] = field(default_factory=list)


def headline(result: Evaluation) -> list[dict[str, str]]:
    """Return the two numbers to look at first, each with what it means."""
    curve = result.best_curve
    if curve is None:
        return []
    precision, recall = corner(curve)
    meanings = {
        "f_1_8": ("precision", precision, "of what is generated looks real"),
        "f_8": ("recall", recall, "of what is real is generated"),
    }
    tightest = min(result.bands, key=lambda name: result.curves[name].area, default=None)
    tiles = []
    for key, (name, value, meaning) in meanings.items():
        half = ""
        if tightest is not None:
            low, high = result.bands[tightest].summaries[key]
            half = f"± {50 * (high - low):.1f}"
        shown = f"{100 * value:.1f} %"
        tiles.append({"name": name, "value": shown, "half": half, "meaning": meaning})
    return tiles


def score_table(results: Mapping[str, Evaluation]) -> Table:
    """One row a score: all that is known of it, or the values of several models."""
    if len(results) == 1:
        (result,) = results.values()
        return _all_of_each_score(result)
    names = dict.fromkeys(name for result in results.values() for name in result.scores)
    rows = []
    for name in names:
        scores = [result.scores.get(name) for result in results.values()]
        k, expected = _first(scores, "k"), _first(scores, "expected_if_equal")
        rows.append(
            [
                name,
                _integer(k),
                *map(_with_half_width, scores),
                "" if expected is None else _short(expected),
            ]
        )
    return Table("Scores of every model", ["score", "k", *results, "if P = Q"], rows)


def _all_of_each_score(result: Evaluation) -> Table:
    percent = "" if result.confidence is None else f"{100 * result.confidence:.4g} % "
    optional: dict[str, Callable[[Score], str]] = {
        f"{percent}interval": lambda s: "" if s.interval is None else _interval(s.interval),
        "if P = Q": lambda s: "" if s.expected_if_equal is None else _short(s.expected_if_equal),
        "real against real": lambda s: "" if s.ceiling is None else _short(s.ceiling.perfect),
        "generated, as many": lambda s: "" if s.ceiling is None else _short(s.ceiling.generated),
    }
    shown = {
        heading: cell
        for heading, cell in optional.items()
        if any(cell(score) for score in result.scores.values())
    }
    rows = [
        [name, _integer(score.k), _value(score), *(cell(score) for cell in shown.values())]
        for name, score in result.scores.items()
    ]
    return Table("Scores", ["score", "k", "value", *shown], rows)


def summary_table(results: Mapping[str, Evaluation]) -> Table:
    """One row a curve: its summaries, with intervals where they are known."""
    headings = [CURVE_HEADINGS[key].replace("\n", " ") for key in CURVE_HEADINGS]
    rows = []
    for model, result in results.items():
        for name, curve in _curves(result).items():
            title = name if len(results) == 1 else f"{model}: {name}"
            rows.append(
                [title, *(_summary(key, curve, result.bands.get(name)) for key in CURVE_HEADINGS)]
            )
    return Table("Summaries of the curves", ["curve", *headings], rows)


def _summary(key: str, curve: PRCurve, band: CurveBand | None) -> str:
    value = SUMMARIES[key](curve) if key in SUMMARIES else getattr(curve, key)
    interval = None if band is None else band.summaries.get(key)
    return f"{value:.3f}" + ("" if interval is None else f"\n{_interval(interval)}")


def curve_table(results: Mapping[str, Evaluation]) -> Table:
    """Precision and recall of every curve at a few trade-offs."""
    rows = [
        [
            name if len(results) == 1 else f"{model}: {name}",
            *(f"{p:.3f} / {r:.3f}" for p, r in zip(*curve.at(_LISTED_TRADE_OFFS), strict=True)),
        ]
        for model, result in results.items()
        for name, curve in _curves(result).items()
    ]
    headings = [f"λ = {_trade_off(lam)}" for lam in _LISTED_TRADE_OFFS]
    return Table("Precision / recall at some trade-offs λ", ["curve", *headings], rows)


def difference_table(differences: Sequence[Difference]) -> Table:
    """One row a difference that is clear of chance."""
    rows = [
        [d.what, d.first, d.second, f"{d.value:+.3f}", _interval(d.interval)]
        for d in differences
        if d.is_clear and d.interval is not None
    ]
    headings = ["of", "model", "less", "difference", "interval"]
    return Table("Differences that are clear of chance", headings, rows)


def mode_table(modes: tuple[Mode, ...]) -> Table:
    """One row a mode."""
    rows = [
        [
            str(number),
            f"{100 * mode.real_mass:.1f} %\n{_percents(mode.real_interval)}",
            f"{100 * mode.generated_mass:.1f} %\n{_percents(mode.generated_interval)}",
            mode.finding,
            f"{mode.p_value:.2g}",
        ]
        for number, mode in enumerate(modes, start=1)
    ]
    return Table("Modes", ["mode", "of real", "of generated", "finding", "p-value"], rows)


def class_table(result: Evaluation) -> Table:
    """One row a class: its shares, and its scores."""
    names = dict.fromkeys(name for part in result.classes.values() for name in part.scores)
    rows = []
    for label, share in result.class_shares.items():
        scores = result.classes[label].scores if label in result.classes else {}
        cells = ["" if name not in scores else _value(scores[name]) for name in names]
        rows.append([label, *map(_share, (share.real, share.generated)), *cells])
    return Table("Class by class", ["class", "of real", "of generated", *names], rows)


def protocol_table(results: Mapping[str, Evaluation]) -> Table:
    """How every result came about."""
    facts = [_protocol_facts(result) for result in results.values()]
    keys = dict.fromkeys(key for of_result in facts for key in of_result)
    rows = [[key, *(of_result.get(key, "") for of_result in facts)] for key in keys]
    return Table("Protocol", ["what", *results], rows)


def _protocol_facts(result: Evaluation) -> dict[str, str]:
    p = result.protocol
    facts = {
        "real samples": f"{p.n}, from {p.sources.get('real', '')}",
        "generated samples": f"{p.m}, from {p.sources.get('generated', '')}",
        "features": f"{p.d}, {p.dtype}",
        "split": p.split,
        "curves": "; ".join(p.estimators.values()),
        "scores as": f"{p.convention} ({p.tie_rule})",
        "seed": str(p.seed),
        "engine": p.engine,
        "versions": ", ".join(f"{name} {version}" for name, version in p.versions.items()),
        "fingerprint of real": p.fingerprints.get("real", ""),
        "fingerprint of generated": p.fingerprints.get("generated", ""),
    }
    if result.confidence is not None:
        facts["confidence of intervals"] = f"{100 * result.confidence:.4g} %"
    if p.choices:
        facts["chosen"] = "; ".join(f"{name}: {', '.join(c)}" for name, c in p.choices.items())
    return facts


def chart_data(results: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return the numbers that the charts of a page are drawn from."""
    angles = np.linspace(0, math.pi / 2, _N_ANGLES)
    trade_offs = np.append(np.tan(angles[:-1]), math.inf)
    return {
        "tradeOffs": [_trade_off(lam) for lam in trade_offs],
        "models": [
            {
                "name": model,
                "curves": [
                    _drawn(name, curve, result.bands.get(name), trade_offs)
                    for name, curve in _curves(result).items()
                ],
                "scores": [_drawn_score(name, s) for name, s in result.scores.items()],
                "modes": [_drawn_mode(mode) for mode in result.modes],
            }
            for model, result in results.items()
        ],
    }


def _drawn(
    name: str, curve: PRCurve, band: CurveBand | None, trade_offs: NDArray[np.float64]
) -> dict[str, Any]:
    precision, recall = curve.at(trade_offs)
    drawn = {"name": name, "precision": _rounded(precision), "recall": _rounded(recall)}
    if band is None:
        return drawn
    lam = np.tan(np.linspace(_FIRST_ANGLE, math.pi / 2 - _FIRST_ANGLE, _N_ANGLES))
    low, high = band.at(lam)
    ends = np.concatenate([low, high[::-1]])
    edge = {"precision": _rounded(ends), "recall": _rounded(ends / np.append(lam, lam[::-1]))}
    return {**drawn, "band": edge}


def _drawn_score(name: str, score: Score) -> dict[str, Any]:
    return {
        "name": name,
        "value": score.value if math.isfinite(score.value) else None,
        "interval": score.interval,
        "expected": score.expected_if_equal,
        "ceiling": None if score.ceiling is None else score.ceiling.perfect,
        "isShare": _is_drawable(name, score),
    }


def _is_drawable(name: str, score: Score) -> bool:
    """Whether a score is a share, or density, which is 1 where P = Q, and not a distance."""
    is_finite = score.interval is None or all(map(math.isfinite, score.interval))
    return not name.startswith(_DISTANCES) and 0 <= score.value <= _LARGEST_DRAWN and is_finite


def _drawn_mode(mode: Mode) -> dict[str, Any]:
    return {
        "finding": mode.finding,
        "real": mode.real_mass,
        "generated": mode.generated_mass,
        "realInterval": mode.real_interval,
        "generatedInterval": mode.generated_interval,
    }


def _curves(result: Evaluation) -> dict[str, PRCurve]:
    """All curves of a result, the best of several first."""
    if result.best_curve is None or len(result.curves) < 2:
        return dict(result.curves)
    return {BEST: result.best_curve, **result.curves}


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [round(value, 5) for value in np.clip(values, 0, 1).tolist()]


def _trade_off(lam: float) -> str:
    if math.isinf(lam):
        return "∞"
    return f"1/{1 / lam:.3g}" if 0 < lam < 0.995 else f"{lam:.3g}"


def _first(scores: list[Score | None], name: str) -> Any:
    """An attribute of the first score that has it."""
    values = (getattr(score, name) for score in scores if score is not None)
    return next((value for value in values if value is not None), None)


def _with_half_width(score: Score | None) -> str:
    if score is None:
        return ""
    if score.interval is None:
        return _value(score)
    low, high = score.interval
    return f"{score.value:.3f} ± {max(score.value - low, high - score.value):.3f}"


def _value(score: Score) -> str:
    spread = "" if score.standard_deviation is None else f" ± {score.standard_deviation:.2g}"
    return _short(score.value) + spread


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def _integer(k: int | None) -> str:
    return "" if k is None else str(k)


def _interval(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3f} – {interval[1]:.3f}"


def _percents(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f} – {100 * interval[1]:.1f}"


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
