"""Table 1 of Sykes et al. 2024, and the IoU of curves as it is computed there, on a coarse grid.

The paper (appendix B) samples λ = tan θ and γ "uniformly" without saying how finely. Its numbers
fit 11 evenly spaced angles between the extremes λ = 0 and λ = ∞, the same grid for γ, and an IoU by
trapezoids over 111 recalls. A polygon on so few rays inflates the region under a curve that bends
sharply, first of all the true one at large shifts.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from precall.curves.error_rates import Evidence
from precall.curves.pr_curve import Curve
from precall.experiments.experiment import Floats
from precall.experiments.methods import METHODS

_SECOND, _THIRD = 5 / 3, 7 / 3
SHIFTS = (1.0, _SECOND, _THIRD, 3.0)
TABLE_1 = {  # IoU by split, k and shift; a column a method
    ("split", "4", 1.0): (0.69, 0.71, 0.72, 0.73),
    ("split", "4", _SECOND): (0.42, 0.49, 0.49, 0.55),
    ("split", "4", _THIRD): (0.24, 0.38, 0.34, 0.48),
    ("split", "4", 3.0): (0.13, 0.33, 0.24, 0.48),
    ("split", "√n", 1.0): (0.81, 0.87, 0.84, 0.92),
    ("split", "√n", _SECOND): (0.69, 0.84, 0.78, 0.90),
    ("split", "√n", _THIRD): (0.65, 0.84, 0.75, 0.90),
    ("split", "√n", 3.0): (0.63, 0.84, 0.75, 0.93),
    ("no split", "4", 1.0): (0.43, 0.70, 0.62, 0.76),
    ("no split", "4", _SECOND): (0.55, 0.81, 0.68, 0.84),
    ("no split", "4", _THIRD): (0.62, 0.79, 0.68, 0.77),
    ("no split", "4", 3.0): (0.55, 0.61, 0.62, 0.63),
    ("no split", "√n", 1.0): (0.91, 0.93, 0.94, 0.96),
    ("no split", "√n", _SECOND): (0.88, 0.93, 0.92, 0.97),
    ("no split", "√n", _THIRD): (0.84, 0.92, 0.90, 0.95),
    ("no split", "√n", 3.0): (0.83, 0.91, 0.90, 0.96),
}


class TableCell(NamedTuple):
    """One number of Table 1."""

    split: str
    k: str
    shift: float
    method: str
    iou: float

    @property
    def setting(self) -> str:
        """All but the shift."""
        return f"{self.split} {self.k} {self.method}"


TABLE_CELLS = [
    TableCell(*setting, method, iou)
    for setting, line in TABLE_1.items()
    for method, iou in zip(METHODS, line, strict=True)
]


@dataclass(frozen=True, slots=True, eq=False)
class GriddedCurve:
    """A precision–recall curve known on a few rays, and straight between them."""

    recall: Floats  # (n_rays,) descending from β_0 to 0
    precision: Floats  # (n_rays,) ascending from 0 to α_∞

    def heights(self) -> Floats:
        """Return the precision on evenly spaced recalls from 0 to 1."""
        return np.interp(np.linspace(0, 1, 111), self.recall[::-1], self.precision[::-1])

    @property
    def area(self) -> float:
        """Area under the polygon, by trapezoids."""
        return _trapezoids(self.heights())

    def iou(self, other: Self) -> float:
        """Return the trapezoids of the lower of two curves over those of the upper."""
        ours, theirs = self.heights(), other.heights()
        return _trapezoids(np.minimum(ours, theirs)) / _trapezoids(np.maximum(ours, theirs))


@dataclass(frozen=True, slots=True)
class SykesGrid:
    """Trade-offs λ, and parameters γ of classifiers, on evenly spaced angles.

    Parameters
    ----------
    n_angles
        Number of angles strictly between 0 and π/2; both ends are added to them.
    """

    n_angles: int = 11

    @property
    def trade_offs(self) -> Floats:
        """λ from 0 to ∞ (the paper, appendix B, prints atan for tan)."""
        inner = np.tan(np.linspace(0, np.pi / 2, self.n_angles + 2)[1:-1])
        inner[np.isclose(inner, 1)] = 1.0
        return np.concatenate([[0.0], inner, [np.inf]])

    def sample(self, curve: Curve) -> GriddedCurve:
        """Take an exact curve on the grid of λ alone."""
        precision, recall = curve.at(self.trade_offs)
        return GriddedCurve(recall, precision)

    def minimize(self, evidence: Evidence) -> GriddedCurve:
        """Minimise λ·fpr + fnr over the grid of γ and the two trivial classifiers (Eq. 9)."""
        called = np.stack([evidence.called_real(gamma) for gamma in self.trade_offs])
        fpr = np.append(np.mean(~called[:, evidence.is_real], axis=1), [1.0, 0.0])
        fnr = np.append(np.mean(called[:, ~evidence.is_real], axis=1), [0.0, 1.0])
        inner = self.trade_offs[1:-1]
        precision = np.min(inner[:, None] * fpr + fnr, axis=1)
        max_precision, max_recall = np.min(fnr[fpr == 0]), np.min(fpr[fnr == 0])
        return GriddedCurve(
            np.concatenate([[max_recall], precision / inner, [0.0]]),
            np.concatenate([[0.0], precision, [max_precision]]),
        )


def _trapezoids(heights: Floats) -> float:
    return float((heights.sum() - (heights[0] + heights[-1]) / 2) / (len(heights) - 1))
