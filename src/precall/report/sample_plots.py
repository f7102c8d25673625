"""Pictures of single samples: how realistic they are, and where."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, check_same_features
from precall.errors import InputError
from precall.findings.samples import Samples
from precall.report.plots import GENERATED, REAL, check_kind
from precall.results.evaluation import axes_or_new
from precall.results.tables import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_BINS = 40
_FEW = 0.01  # of all values may be beyond either end
_LEADING = (  # digits of numbers to write, the finest first
    (1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 8, 9, 9.5),
    (1, 1.2, 1.5, 2, 3, 4, 6, 8),
    (1, 2, 5),
    (1,),
)
_MOST_NUMBERS = 8
_MOST_ON_MAP = 4000
_SIDES_OF_MAP = (
    ("real", REAL, "covered", "never generated"),
    ("generated", GENERATED, "realistic", "unrealistic"),
)
_AXES_OF_MAP = {
    "pca": ("first principal component of both sets", "second principal component"),
    "umap": ("UMAP of both sets, first coordinate", "second coordinate"),
}


def plot_realism(samples: Samples, ax: "Axes | None" = None) -> "Axes":
    """Draw how realistic the generated samples are; left of 1 no real ball holds them.

    The few that are far from all others, such as copies of real samples, are in the bars at the
    ends of the axis, which tell how many they are.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(real, generated, estimators=(), headline=False)
    >>> precall.report.plot_realism(result.samples).get_ylabel()
    'generated samples'
    """
    from matplotlib.colors import to_rgba

    check_kind(samples, Samples, "the samples of a result, result.samples")
    if "realism" not in samples.generated.columns:
        raise InputError("samples have no realism; evaluate with a score that looks at neighbours.")
    ax = axes_or_new(ax, (5.6, 3.4))
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(samples.generated["realism"], np.float64))  # ∞ of a copy
    edges = bins_around_zero(logs)
    heights, _ = np.histogram(np.clip(logs, edges[0], edges[-1]), edges)
    bounds = np.exp(edges)
    colors = [to_rgba(GENERATED, 1 if edge < 0 else 0.45) for edge in edges[:-1]]
    ax.bar(bounds[:-1], heights, np.diff(bounds), align="edge", color=colors)
    ax.axvline(1, color="black", lw=1, ls="--")
    _count_to_either_side(ax, logs, edges)
    ax.set_xscale("log")
    ticks = round_ratios(bounds[0], bounds[-1])
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    words = "realism: radius of a real ball, over the distance to its centre"
    ax.set(xlabel=words, ylabel="generated samples", xlim=(bounds[0], bounds[-1]))
    return ax


def _count_to_either_side(ax: "Axes", logs: NDArray[np.float64], edges: NDArray[Any]) -> None:
    """Write what share of the samples is unrealistic, and how many are beyond the axis."""
    unrealistic = float(np.mean(logs < 0))
    place: dict[str, Any] = {"xycoords": ax.get_xaxis_transform(), "va": "bottom", "fontsize": 9}
    ax.annotate(f"{percent(unrealistic)} unrealistic  ", (1, 1.01), ha="right", **place)
    ax.annotate(f"  {percent(1 - unrealistic)} realistic", (1, 1.01), ha="left", **place)
    place = {"xycoords": "axes fraction", "va": "top", "fontsize": 8}
    if n := np.count_nonzero(logs < edges[0]):
        ax.annotate(f"◂ {n} farther left", (0.01, 0.98), ha="left", **place)
    if n := np.count_nonzero(logs > edges[-1]):
        ax.annotate(f"{n} farther right ▸", (0.99, 0.98), ha="right", **place)


def bins_around_zero(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return edges of equal bins, 0 among them, that hold all but a few values far from all."""
    finite = logs[np.isfinite(logs)]
    few, most = np.quantile(finite, (_FEW, 1 - _FEW)) if len(finite) else (0.0, 0.0)
    room = (most - few) / 4
    low = few if finite.min(initial=few) < few - room else finite.min(initial=few)
    high = most if finite.max(initial=most) > most + room else finite.max(initial=most)
    low, high = min(low, -0.05), max(high, 0.05)  # so that there are bins to either side
    width = (high - low) / _N_BINS
    return width * np.arange(math.floor(low / width), math.ceil(high / width) + 1)


def round_ratios(low: float, high: float) -> list[float]:
    """Return a handful of round numbers to write on a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = math.ceil(len(decades) / _MOST_NUMBERS)
    for leading in _LEADING:
        powers = [10.0**i for i in decades if i % every == 0]
        found = [x * power for power in powers for x in leading if low <= x * power <= high]
        if len(found) <= _MOST_NUMBERS:
            break
    return found


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

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(real, generated, estimators=(), headline=False)
    >>> precall.report.plot_map(real, generated, result.samples).get_xlabel()
    'first principal component of both sets'
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
