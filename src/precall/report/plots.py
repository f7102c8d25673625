"""Pictures of results, for print and for the colour-blind.

Every function draws on given axes, or on new ones, and returns them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from precall.curves.display import PRECISION_LABEL, RECALL_LABEL
from precall.curves.pr_curve import Curve, PRCurve
from precall.errors import InputError
from precall.findings.modes import Mode
from precall.report.charts import band_outline
from precall.report.score_scales import Scale, marks, score_scales
from precall.report.words import in_words
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation, axes_or_new
from precall.results.tables import best_first, decimals, scores_by_name
from precall.scores import Score
from precall.uncertainty.bands import CurveBand

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecBase

# Okabe & Ito: told apart by the colour-blind, and by their lightness in print.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
REAL, GENERATED = COLORS[0], COLORS[1]
PRECISION_MEANS, RECALL_MEANS = PRECISION_LABEL, RECALL_LABEL
_BARS: dict[str, Any] = {"ecolor": "0.2", "capsize": 2}
_LEGEND_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2}
_LEGEND_BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
_MARKERS = "os^Dv"  # once the colours are used up
_COLORS_OF_MARKS = {"if P = Q": "black", "real against real": GENERATED}
_ROW_OF_SCORES = 0.42  # inches
_GAP_OF_SCALES = 1.5  # rows


def plot_curves(
    result: Evaluation | Comparison | Mapping[str, Evaluation],
    ax: "Axes | None" = None,
    *,
    curve: str | None = None,
    truth: Curve | None = None,
) -> "Axes":
    """Draw all curves of a result, or one curve of each of several models, with their bands.

    Parameters
    ----------
    result
        One result, a comparison, or results by the names of models.
    curve
        Of several models: the name of a curve; by default the best one.
    truth
        A known true curve, drawn dashed.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(real, generated, estimators=["knn", "coverage"], scores=())
    >>> ax = precall.report.plot_curves(result)
    >>> [line.get_label() for line in ax.lines]
    ['knn', 'coverage']
    """
    lines: dict[str, tuple[PRCurve | None, CurveBand | None]]
    if isinstance(result, Evaluation):
        named = result.curves.items()
        lines = {in_words(name): (line, result.bands.get(name)) for name, line in named}
    else:
        models = _by_model(result)
        drawn = {name: best_first(one) for name, one in models.items()}
        chosen = {name: curve or next(iter(of), "") for name, of in drawn.items()}
        lines = {
            name: (drawn[name].get(chosen[name]), one.bands.get(chosen[name]))
            for name, one in models.items()
        }
    ax = axes_or_new(ax)
    for (name, (line, band)), color in zip(lines.items(), cycle(COLORS), strict=False):
        if line is None:
            raise InputError(f"model {name!r} has no {curve or 'best'} curve.")
        line.plot(ax, label=name, color=color, lw=1.8)
        if band is not None:
            precision, recall = band_outline(band)
            ax.fill(recall, precision, color=color, alpha=0.15, lw=0)
    if truth is not None:
        truth.plot(ax, label="truth", color="black", ls="--", lw=1.2)
    ax.legend(loc="best", frameon=False)
    return ax


def plot_quadrants(
    results: Comparison | Mapping[str, Evaluation],
    ax: "Axes | None" = None,
    *,
    precision: str = "precision",
    recall: str = "recall",
) -> "Axes":
    """Place models by precision and recall: good, collapsed, noisy or poor (the tutorial).

    Parameters
    ----------
    results
        A comparison, or results by the names of models.
    precision, recall
        Scores to place them by.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> results = {
    ...     name: precall.evaluate(real, model, estimators=(), headline=False)
    ...     for name, model in {"good": generated, "elsewhere": generated + 2}.items()
    ... }
    >>> ax = precall.report.plot_quadrants(results)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['good', 'elsewhere']
    """
    models = _by_model(results)
    ax = axes_or_new(ax)
    words = {
        (0.25, 0.25): "poor",
        (0.25, 0.75): "realistic, part missing",
        (0.75, 0.25): "covering, unrealistic",
        (0.75, 0.75): "good",
    }
    for (x, y), word in words.items():
        ax.text(x, y, word, ha="center", va="center", color="0.6", fontsize=10)
    ax.axhline(0.5, color="0.8", lw=0.8)
    ax.axvline(0.5, color="0.8", lw=0.8)
    ends = [0.0, 1.0]
    for (name, result), color in zip(models.items(), cycle(COLORS), strict=False):
        for key in (recall, precision):
            if key not in result.scores:
                raise InputError(f"score {key!r} was not computed.")
        place = [result.scores[key] for key in (recall, precision)]
        xerr, yerr = (_error_bars([score.value], [score.interval]) for score in place)
        x, y = (score.value for score in place)
        ax.errorbar(x, y, xerr=xerr, yerr=yerr, fmt="o", color=color, label=name)
        ends += [x, y]
    room = 0.03 * (max(ends) - min(ends))  # for the points on the very edge
    limits = min(ends) - room, max(ends) + room
    ax.set(xlim=limits, ylim=limits, aspect="equal", xlabel=RECALL_MEANS, ylabel=PRECISION_MEANS)
    ax.legend(loc="best", framealpha=0.85, edgecolor="none")
    return ax


def plot_k_sensitivity(result: Evaluation, ax: "Axes | None" = None) -> "Axes":
    """Draw scores that were computed at several k against k, dashed what P = Q would give.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=(), scores=["recall", "coverage"], score_k=[1, 3, 5]
    ... )
    >>> precall.report.plot_k_sensitivity(result).get_xlabel()
    'k: number of neighbours'
    """
    check_kind(result, Evaluation, "one result, such as that of evaluate() or comparison.results")
    ax = axes_or_new(ax, (5.6, 4.0))
    by_name = scores_by_name(result.scores)
    several = {name: scores for name, scores in by_name.items() if len(scores) > 1}
    if not several:
        raise InputError("no score was computed at several k; evaluate with score_k=[1, 3, 5, 10].")
    for i, (name, scores) in enumerate(several.items()):
        color, marker = COLORS[i % len(COLORS)], _MARKERS[i // len(COLORS) % len(_MARKERS)]
        ks = sorted(k or 0 for k in scores)
        ordered = [scores[k] for k in ks]
        values = [score.value for score in ordered]
        ax.plot(ks, values, "-", marker=marker, color=color, label=in_words(name), ms=4)
        expected = [s.expected_if_equal for s in ordered if s.expected_if_equal is not None]
        if len(expected) == len(ks):
            ax.plot(ks, expected, ls="--", lw=1, color=color)
    ax.set_xscale("log")
    ax.set_xticks(sorted({k or 0 for scores in several.values() for k in scores}))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
    ax.set(xlabel="k: number of neighbours", ylabel="score (dashed: if P = Q)")
    ax.legend(frameon=False, fontsize=8, **_LEGEND_BESIDE)
    return ax


def plot_scores(result: Evaluation, ax: "Axes | None" = None) -> "Axes":
    """Draw scores as bars, with intervals, expected values and ceilings.

    What lies off the scale of shares is an arrow with its number. Every distance has a scale of its
    own, on axes for which those that are returned make room below.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(real, generated, estimators=(), headline=False, intervals=True)
    >>> precall.report.plot_scores(result).get_xlabel()
    'score'
    """
    check_kind(result, Evaluation, "one result, such as that of evaluate() or comparison.results")
    scales = score_scales([result.scores])
    if not scales:
        raise InputError("the result has no score that could be drawn.")
    n_rows = [len(scale.names) for scale in scales]
    rows = sum(n_rows) + _GAP_OF_SCALES * (len(scales) - 1)
    ax = axes_or_new(ax, (5.6, 0.7 + _ROW_OF_SCORES * rows))
    unique: dict[str, Any] = {}
    for scale, part in zip(scales, _divided(ax, n_rows), strict=True):
        _draw_scale(part, scale, [result.scores[name] for name in scale.names])
        handles, labels = part.get_legend_handles_labels()
        unique |= dict(zip(labels, handles, strict=True))
    if unique:
        ax.legend(unique.values(), unique, fontsize=8, frameon=False, **_LEGEND_ABOVE)
    return ax


def _divided(ax: "Axes", n_rows: Sequence[int]) -> "list[Axes]":
    """Divide the room of axes among scales with some rows each; they keep the first part."""
    if len(n_rows) == 1:
        return [ax]
    has_engine = ax.figure.get_layout_engine() is not None  # that finds room for the numbers
    shape: dict[str, Any] = {
        "nrows": len(n_rows),
        "ncols": 1,
        "height_ratios": n_rows,
        "hspace": None if has_engine else _GAP_OF_SCALES * len(n_rows) / sum(n_rows),
    }
    parts: GridSpecBase
    if (room := ax.get_subplotspec()) is not None:
        parts = room.subgridspec(**shape)
    else:
        left, bottom, right, top = ax.get_position().extents
        parts = ax.figure.add_gridspec(**shape, left=left, bottom=bottom, right=right, top=top)
    ax.set_subplotspec(parts[0])
    return [ax, *(ax.figure.add_subplot(parts[i]) for i in range(1, len(n_rows)))]


def _draw_scale(ax: "Axes", scale: Scale, scores: Sequence[Score]) -> None:
    """Draw a bar a score, from 0 to its value or to the end of the scale."""
    low, high = scale.ends
    places = np.arange(len(scores))[::-1]
    values = np.clip([score.value for score in scores], low, high)
    errors = _error_bars(values, [scale.cut(score.interval) for score in scores])
    ax.barh(places, values, 0.6, xerr=errors, color=COLORS[5], **_BARS)
    for place, score in zip(places, scores, strict=True):
        for label, x in marks(score).items():
            if scale.side(x) == 0:
                color = _COLORS_OF_MARKS[label]
                ends = [place - 0.38, place + 0.38]
                ax.plot([x, x], ends, color=color, lw=2, label=label, clip_on=False)
        if side := scale.side(score.value):
            end, arrow = (high, "{} ▸") if side > 0 else (low, "◂ {}")
            words = arrow.format(decimals(score.value))
            aligned: dict[str, Any] = {"ha": "right" if side > 0 else "left", "va": "center"}
            ax.annotate(words, (end, place), (-4 * side, 0), textcoords="offset points", **aligned)
    ax.set_yticks(places, [in_words(name) for name in scale.names])
    ax.set(xlim=(low, high), ylim=(-0.6, len(scores) - 0.4))
    if scale.is_distance:
        room = 0.03 * (high - low)
        ax.set_xlim(low - room if low < 0 else 0, high + room)
    else:
        ax.set_xlabel("score")


def plot_modes(modes: Sequence[Mode], ax: "Axes | None" = None) -> "Axes":
    """Draw the mass of each mode under real and generated, with intervals and what is wrong.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> modes = precall.find_modes(real, generated)
    >>> precall.report.plot_modes(modes).get_xlabel()
    'share of samples in the region, %'
    """
    if not modes:
        raise InputError("there are no modes; evaluate with modes='auto'.")
    ax = axes_or_new(ax, (6.4, 0.9 + 0.5 * len(modes)))
    places = np.arange(len(modes))[::-1]
    for role, color, shift in (("real", REAL, 0.2), ("generated", GENERATED, -0.2)):
        masses = np.array([getattr(mode, f"{role}_mass") for mode in modes])
        errors = 100 * _error_bars(masses, [getattr(mode, f"{role}_interval") for mode in modes])
        ax.barh(places + shift, 100 * masses, 0.38, xerr=errors, color=color, label=role, **_BARS)
    ax.set_yticks(places, [f"{i + 1}: {mode.finding}" for i, mode in enumerate(modes)])
    for tick, mode in zip(ax.get_yticklabels(), modes, strict=True):
        tick.set_fontweight("normal" if mode.finding == "as it should be" else "bold")
    ax.set_xlabel(f"share of samples in the {modes[0].kind}, %")
    ax.legend(frameon=False, **_LEGEND_ABOVE)
    return ax


def check_kind(given: object, kind: type, expected: str) -> None:
    """Refuse to draw something else."""
    if not isinstance(given, kind):
        raise InputError(f"expected {expected}; got {type(given).__name__}.")


def _by_model(results: Comparison | Mapping[str, Evaluation]) -> Mapping[str, Evaluation]:
    """Return the result of each model."""
    found = results.results if isinstance(results, Comparison) else results
    if not isinstance(found, Mapping):
        raise InputError(
            "expected a comparison, or results by the names of models; got "
            f"{type(results).__name__}."
        )
    return found


def _error_bars(
    values: Sequence[float] | NDArray[np.float64], intervals: Iterable[tuple[float, float] | None]
) -> NDArray[np.float64]:
    """Lengths to either side (2, n), none where there is no interval."""
    pairs = zip(values, intervals, strict=True)
    low, high = np.transpose([(value, value) if ends is None else ends for value, ends in pairs])
    return np.maximum([values - low, high - values], 0.0)
