"""Pictures of results, for print and for the colour-blind.

Every function draws on given axes, or on new ones, and returns them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from precall.curves.display import PRECISION_LABEL, RECALL_LABEL
from precall.curves.pr_curve import Curve, PRCurve
from precall.data.feature_sets import FeatureSet, check_same_features
from precall.errors import InputError
from precall.findings.modes import Mode
from precall.findings.samples import Samples
from precall.report.charts import band_outline
from precall.results.evaluation import Evaluation, axes_or_new
from precall.results.tables import scores_by_name
from precall.uncertainty.bands import CurveBand

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito: told apart by the colour-blind, and by their lightness in print.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
REAL, GENERATED = COLORS[0], COLORS[1]
PRECISION_MEANS, RECALL_MEANS = PRECISION_LABEL, RECALL_LABEL
_BARS: dict[str, Any] = {"ecolor": "0.2", "capsize": 2}
_LEGEND_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2}
_MOST_ON_MAP = 4000
_SIDES_OF_MAP = (
    ("real", REAL, "covered", "never generated"),
    ("generated", GENERATED, "realistic", "unrealistic"),
)
_AXES_OF_MAP = {
    "pca": ("first principal component of both sets", "second principal component"),
    "umap": ("UMAP of both sets, first coordinate", "second coordinate"),
}


def plot_curves(
    result: Evaluation | Mapping[str, Evaluation],
    ax: "Axes | None" = None,
    *,
    curve: str | None = None,
    truth: Curve | None = None,
) -> "Axes":
    """Draw all curves of a result, or one curve of each of several models, with their bands.

    Parameters
    ----------
    result
        One result, or results by the names of models.
    curve
        Of several models: the name of a curve; by default the best one.
    truth
        A known true curve, drawn dashed.
    """
    ax = axes_or_new(ax)
    lines: dict[str, tuple[PRCurve | None, CurveBand | None]]
    if isinstance(result, Evaluation):
        lines = {name: (line, result.bands.get(name)) for name, line in result.curves.items()}
    elif curve is None:
        lines = {name: (one.best_curve, None) for name, one in result.items()}
    else:
        lines = {name: (r.curves.get(curve), r.bands.get(curve)) for name, r in result.items()}
    for (name, (line, band)), color in zip(lines.items(), cycle(COLORS), strict=False):
        if line is None:
            raise InputError(f"model {name!r} has no {curve or 'best'} curve.")
        line.plot(ax, label=name, color=color, lw=1.8)
        if band is not None:
            precision, recall = band_outline(band, n_angles=181)
            ax.fill(recall, precision, color=color, alpha=0.15, lw=0)
    if truth is not None:
        truth.plot(ax, label="truth", color="black", ls="--", lw=1.2)
    ax.legend(loc="lower left", frameon=False)
    return ax


def plot_quadrants(
    results: Mapping[str, Evaluation],
    ax: "Axes | None" = None,
    *,
    precision: str = "precision",
    recall: str = "recall",
) -> "Axes":
    """Place models by precision and recall: good, collapsed, noisy or poor (the tutorial).

    Parameters
    ----------
    precision, recall
        Scores to place them by.
    """
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
    for (name, result), color in zip(results.items(), cycle(COLORS), strict=False):
        for key in (recall, precision):
            if key not in result.scores:
                raise InputError(f"score {key!r} was not computed.")
        place = [result.scores[key] for key in (recall, precision)]
        xerr, yerr = (_error_bars([score.value], [score.interval]) for score in place)
        x, y = (score.value for score in place)
        ax.errorbar(x, y, xerr=xerr, yerr=yerr, fmt="o", color=color, label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=RECALL_MEANS, ylabel=PRECISION_MEANS)
    ax.legend(loc="best", frameon=False)
    return ax


def plot_k_sensitivity(result: Evaluation, ax: "Axes | None" = None) -> "Axes":
    """Draw scores that were computed at several k against k, dashed what P = Q would give."""
    ax = axes_or_new(ax, (5.6, 4.0))
    by_name = scores_by_name(result.scores)
    several = {name: scores for name, scores in by_name.items() if len(scores) > 1}
    if not several:
        raise InputError("no score was computed at several k; evaluate with score_k=[1, 3, 5, 10].")
    for (name, scores), color in zip(several.items(), cycle(COLORS), strict=False):
        ks = sorted(k or 0 for k in scores)
        ordered = [scores[k] for k in ks]
        ax.plot(ks, [score.value for score in ordered], "o-", color=color, label=name, ms=4)
        expected = [s.expected_if_equal for s in ordered if s.expected_if_equal is not None]
        if len(expected) == len(ks):
            ax.plot(ks, expected, ls="--", lw=1, color=color)
    ax.set_xscale("log")
    ax.set_xticks(sorted({k or 0 for scores in several.values() for k in scores}))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
    ax.set(xlabel="k: number of neighbours", ylabel="score (dashed: if P = Q)")
    ax.legend(frameon=False, fontsize=8)
    return ax


def plot_scores(result: Evaluation, ax: "Axes | None" = None) -> "Axes":
    """Draw scores that are shares as bars, with intervals, expected values and ceilings."""
    shares = {name: score for name, score in result.scores.items() if 0 <= score.value <= 1.5}
    if not shares:
        raise InputError("no score of the result is a share that could be drawn.")
    ax = axes_or_new(ax, (5.6, 0.6 + 0.42 * len(shares)))
    places = np.arange(len(shares))[::-1]
    values = [score.value for score in shares.values()]
    errors = _error_bars(values, [score.interval for score in shares.values()])
    ax.barh(places, values, 0.6, xerr=errors, color=COLORS[5], **_BARS)
    for place, score in zip(places, shares.values(), strict=True):
        marks = [("if P = Q", "black", score.expected_if_equal)]
        if score.ceiling is not None:
            marks.append(("real against real", GENERATED, score.ceiling.perfect))
        for label, color, x in marks:
            if x is not None:
                ax.plot([x, x], [place - 0.38, place + 0.38], color=color, lw=2, label=label)
    ax.set_yticks(places, list(shares))
    ax.set(xlim=(0, max(1.0, *ax.get_xlim())), xlabel="score")
    handles, labels = ax.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    if unique:
        ax.legend(unique.values(), unique, fontsize=8, frameon=False, **_LEGEND_ABOVE)
    return ax


def plot_realism(samples: Samples, ax: "Axes | None" = None) -> "Axes":
    """Draw how realistic the generated samples are; left of 1 no real ball holds them."""
    if "realism" not in samples.generated.columns:
        raise InputError("samples have no realism; evaluate with a score that looks at neighbours.")
    ax = axes_or_new(ax, (5.6, 3.4))
    realism = np.asarray(samples.generated["realism"], dtype=np.float64)
    finite = realism[np.isfinite(realism) & (realism > 0)]
    low, high = (finite.min(), finite.max() * 1.001) if len(finite) else (0.5, 2.0)
    ax.hist(finite, np.geomspace(low, high, 50).tolist(), color=GENERATED)
    ax.axvline(1, color="black", lw=1, ls="--")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    words = "realism: radius of the real ball that reaches farthest, over the distance"
    ax.set(xlabel=words, ylabel="generated samples")
    return ax


def plot_modes(modes: Sequence[Mode], ax: "Axes | None" = None) -> "Axes":
    """Draw the mass of each mode under real and generated, with intervals and what is wrong."""
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
    ax.set_xlabel("share of samples in the mode, %")
    ax.legend(frameon=False, **_LEGEND_ABOVE)
    return ax


def plot_map(
    real: object,
    generated: object,
    samples: Samples | None = None,
    ax: "Axes | None" = None,
    *,
    method: Literal["pca", "umap"] = "pca",
) -> "Axes":
    """Draw both sets in a plane.

    Parameters
    ----------
    samples
        Of the evaluation of both: then real samples that no generated one covers, and generated
        ones that no real ball holds, stand out.
    method
        ``"pca"``, the two principal components of both sets, or ``"umap"``, which keeps neighbours
        together but no distances (needs umap-learn).
    """
    if method not in ("pca", "umap"):
        raise InputError(f"method must be 'pca' or 'umap'; got {method!r}.")
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    ax = axes_or_new(ax, (5.6, 5.2))
    rng = np.random.default_rng(0)
    rows = [rng.permutation(len(side))[:_MOST_ON_MAP] for side in sets]
    drawn = [side.select(r).tile(0, len(r)) for side, r in zip(sets, rows, strict=True)]
    plane = _principal_plane if method == "pca" else _neighbor_plane
    places = np.split(plane(np.concatenate(drawn).astype(np.float64)), [len(rows[0])])
    parts = zip(_SIDES_OF_MAP, places, _missing(samples, rows), strict=True)
    for (role, color, *words), points, missing in parts:
        for flag, marker, alpha, word in zip((False, True), ".x", (0.35, 0.9), words, strict=True):
            if (missing == flag).any():
                x, y = points[missing == flag].T
                label = role if samples is None else f"{role}, {word}"
                ax.scatter(x, y, s=14, marker=marker, c=color, alpha=alpha, lw=0.7, label=label)
    xlabel, ylabel = _AXES_OF_MAP[method]
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(frameon=False, fontsize=8, markerscale=1.5)
    return ax


def _principal_plane(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two principal components of each row."""
    centred = rows - rows.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = np.concatenate([axes, np.zeros((2, rows.shape[1]))])[:2]
    return np.asarray(centred @ axes.T)


def _neighbor_plane(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a place in the plane for each row that keeps neighbours together."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise ImportError(
            "method='umap' needs umap-learn. Install it with: pip install umap-learn"
        ) from error
    return np.asarray(UMAP(random_state=0, n_jobs=1).fit_transform(rows), np.float64)


def _missing(samples: Samples | None, rows: Sequence[NDArray[Any]]) -> list[NDArray[np.bool_]]:
    """Which of some real rows no generated one covers; which generated ones no real ball holds."""
    if samples is None:
        return [np.zeros(len(of_side), dtype=bool) for of_side in rows]
    found = []
    tables = (samples.real, "generated_in_ball_k"), (samples.generated, "real_balls_k")
    for (table, prefix), of_side in zip(tables, rows, strict=True):
        ks = [int(name.removeprefix(prefix)) for name in table.columns if name.startswith(prefix)]
        if not ks:
            raise InputError("samples do not tell who is covered; evaluate with coverage.")
        found.append(table[f"{prefix}{max(ks)}"][of_side] == 0)
    return found


def _error_bars(
    values: Sequence[float] | NDArray[np.float64], intervals: Iterable[tuple[float, float] | None]
) -> NDArray[np.float64]:
    """Lengths to either side (2, n), none where there is no interval."""
    pairs = zip(values, intervals, strict=True)
    low, high = np.transpose([(value, value) if ends is None else ends for value, ends in pairs])
    return np.maximum([values - low, high - values], 0.0)
