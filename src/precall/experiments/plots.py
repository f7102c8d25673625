"""What the figures of experiments have in common."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from precall.curves.pr_curve import Curve
from precall.experiments.base import Measurements
from precall.report.plots import COLORS

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    import matplotlib.legend

# By name: matplotlib is imported when a figure is drawn, and not before.
Axes: TypeAlias = "matplotlib.axes.Axes"
Figure: TypeAlias = "matplotlib.figure.Figure"
Shown = TypeVar("Shown")

LINE_OF: dict[str, dict[str, Any]] = {  # how the curve of a method is drawn
    "ipr": {"label": "iPR", "color": COLORS[4]},
    "knn": {"label": "kNN", "color": COLORS[0]},
    "parzen": {"label": "Parzen", "color": COLORS[3]},
    "coverage": {"label": "coverage", "color": COLORS[2]},
    "classifier": {"label": "trained classifier", "color": COLORS[1]},
    "classifier_kernel": {"label": "kernel classifier", "color": COLORS[1]},
    "clusters": {"label": "3 clusters", "color": COLORS[5]},
    "best": {"label": "best of all", "color": COLORS[6], "ls": ":", "lw": 2.2},
}
LABEL_OF = {method: line["label"] for method, line in LINE_OF.items()}
COLOR_OF = {method: line["color"] for method, line in LINE_OF.items()}


def points(curve: Curve) -> list[list[float]]:
    """Return recall and precision on 61 evenly spaced rays, rounded, to be kept in a cell."""
    precision, recall = curve.sample(61)
    return [np.round(recall, 5).tolist(), np.round(precision, 5).tolist()]


def mean_curve(ax: Axes, found: Measurements, key: str, **line: Any) -> None:
    """Draw the mean along each ray of what :func:`points` returned in several cells."""
    ax.plot(*found.values(key).mean(axis=0), **{"lw": 1.6, **line})


def pr_axes(ax: Axes, title: str = "", truth: Curve | None = None) -> None:
    """Name the axes of a precision–recall plot, from 0 to 1; draw the true curve, dashed."""
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal", xlabel="recall", ylabel="precision")
    ax.set_title(title)
    if truth is not None:
        ax.plot(*points(truth), color="black", ls="--", lw=1.2, label="truth")


def panels(
    figure: "matplotlib.figure.FigureBase", rows: int, columns: int, shown: Iterable[Shown]
) -> Iterator[tuple[Shown, Axes]]:
    """Return axes for each thing that is shown; once all are drawn add one legend below."""
    axes = figure.subplots(rows, columns, sharex=True, sharey=True)
    for one, ax in zip(shown, axes.flat, strict=True):
        yield one, ax
        ax.label_outer()
    legend_outside(figure, axes.flat[0])


def legend_outside(
    figure: "matplotlib.figure.FigureBase", *axes: Axes, **settings: Any
) -> "matplotlib.legend.Legend":
    """Put one legend of all that is labelled in some axes outside of them, below by default."""
    labelled = [ax.get_legend_handles_labels() for ax in axes]
    entries = {label: handle for pair in labelled for handle, label in zip(*pair, strict=True)}
    settings = {"ncols": len(entries), "loc": "outside lower center", "frameon": False, **settings}
    return figure.legend(entries.values(), entries.keys(), **settings)
