"""The IoU of curves as Sykes et al. 2024 compute it for Table 1, on a coarse grid.

The paper (appendix B) samples λ = tan θ and γ "uniformly" without saying how finely. Its numbers
fit 11 evenly spaced angles between the extremes λ = 0 and λ = ∞, the same grid for γ, and an IoU by
trapezoids over 111 recalls. A polygon on so few rays inflates the region under a curve that bends
sharply, first of all the true one at large shifts.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from precall.curves.error_rates import Evidence
from precall.curves.pr_curve import Curve, Floats


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
    """Trade-offs λ, and parameters γ of classifiers, on evenly spaced angles."""

    n_angles: int = 11  # strictly between 0 and π/2; both ends are added to them

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

    def iou(self, evidence: Evidence, truth: Curve) -> float:
        """Return the IoU of a measured and a true curve, both on the grid."""
        return self.minimize(evidence).iou(self.sample(truth))


def _trapezoids(heights: Floats) -> float:
    return float((heights.sum() - (heights[0] + heights[-1]) / 2) / (len(heights) - 1))
