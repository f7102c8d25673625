"""A drawn precision–recall curve, in the manner of scikit-learn's displays."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

RECALL_LABEL = "recall: how much of real is covered"
PRECISION_LABEL = "precision: how much of generated is realistic"
_ISO_F = (0.2, 0.4, 0.6, 0.8)


@dataclass(slots=True, eq=False)
class PRCurveDisplay:
    """Points of a curve, and the lines they became once :meth:`PRCurveDisplay.plot` was called.

    Examples
    --------
    >>> import precall
    >>> display = precall.PRCurve.from_histograms([0.5, 0.5], [1, 0]).plot(label="half is missing")
    >>> display.ax_.get_xlabel(), display.line_.get_label()
    ('recall: how much of real is covered', 'half is missing')
    """

    precision: NDArray[np.float64]  # (n,)
    recall: NDArray[np.float64]  # (n,)
    label: str | None = None
    ax_: "Axes | None" = field(default=None, init=False)
    line_: "Line2D | None" = field(default=None, init=False)

    def plot(self, ax: "Axes | None" = None, *, iso_f: bool = False, **line: Any) -> Self:
        """Draw on ``ax``, or on a new figure.

        Parameters
        ----------
        ax
            Axes of Matplotlib.
        iso_f
            Whether to draw lines of equal F₁ behind the curve.
        **line
            Passed on to :meth:`matplotlib.axes.Axes.plot`.
        """
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
        for f in _ISO_F if iso_f else ():  # F₁ = 2/(1/precision + 1/recall)
            recall = np.linspace(f / (2 - f), 1, 100)
            ax.plot(recall, f * recall / (2 * recall - f), color="0.85", lw=0.8, zorder=0)
            end = (1, f / (2 - f))
            ax.annotate(f"F₁={f:g}", end, color="0.5", fontsize=7, ha="right", va="bottom")
        line = {"label": self.label, **line}
        (self.line_,) = ax.plot(self.recall, self.precision, **line)
        self.ax_ = ax
        ax.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel=RECALL_LABEL, ylabel=PRECISION_LABEL)
        ax.set_aspect("equal")
        if line["label"] is not None:
            ax.legend(loc="lower left")
        return self
