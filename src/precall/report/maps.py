"""Both sets in a plane."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, check_same_features
from precall.errors import InputError
from precall.findings.samples import Samples
from precall.report.plots import GENERATED, REAL
from precall.results.evaluation import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ON_MAP = 4000
_SIDES_OF_MAP = (
    ("real", REAL, "covered", "never generated"),
    ("generated", GENERATED, "realistic", "unrealistic"),
)
_AXES_OF_MAP = {
    "pca": ("first principal component of both sets", "second principal component"),
    "umap": ("UMAP of both sets, first coordinate", "second coordinate"),
}


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
