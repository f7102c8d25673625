"""What the figures of experiments have in common."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from precall.curves.pr_curve import Curve
from precall.report.plots import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOR_OF", "draw_mean_curve", "draw_truth", "label_pr_axes", "points"]

# One colour an estimator in every figure.
COLOR_OF = {
    "ipr": COLORS[4],
    "knn": COLORS[0],
    "parzen": COLORS[3],
    "coverage": COLORS[2],
    "classifier": COLORS[1],
    "clusters": COLORS[5],
    "best": COLORS[6],
}
_N_ANGLES = 61


def points(curve: Curve) -> list[list[float]]:
    """Return recall and precision on 61 evenly spaced rays, rounded, to be kept in a cell."""
    sampled = curve.sample(_N_ANGLES)
    return [np.round(sampled.recall, 5).tolist(), np.round(sampled.precision, 5).tolist()]


def draw_mean_curve(ax: "Axes", curves: Sequence[Any], **line: Any) -> None:
    """Draw the mean along each ray of what :func:`points` returned for several samples."""
    recall, precision = np.mean(np.asarray(curves, np.float64), axis=0)
    ax.plot(recall, precision, **{"lw": 1.6, **line})


def draw_truth(ax: "Axes", curve: Curve) -> None:
    """Draw the true curve, dashed."""
    recall, precision = points(curve)
    ax.plot(recall, precision, color="black", ls="--", lw=1.2, label="truth")


def label_pr_axes(ax: "Axes", title: str = "") -> None:
    """Name the axes of a precision–recall plot, from 0 to 1."""
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal", xlabel="recall", ylabel="precision")
    ax.set_title(title)
