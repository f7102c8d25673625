"""Coverage (Naeem et al. 2020) and its mirror, extended to a curve."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from precall.curves.evidence import Evidence
from precall.estimators.base import NeighborEstimator
from precall.neighbors.plan import Ball

__all__ = ["Coverage"]


@dataclass(frozen=True, slots=True)
class Coverage(NeighborEstimator):
    """Count each class within z's k-neighbour ball among the *other* class (000 §3.1, f_γ^cov).

    At γ = ∞ and γ = 0 it agrees with :class:`KNN` on every sample (000, footnote 4). Without a
    split a sample is its own nearest neighbour and takes one of the k places, so the error of the
    classifier γ = ∞ at k is the scalar of Eq. 5 at k − 1. The curve's extreme precision is the
    least error of *any* γ that never errs on real, so it may be smaller.

    Examples
    --------
    >>> Coverage()
    Coverage(k='sqrt')
    """

    name: ClassVar[str] = "coverage"
    ball: ClassVar[Ball] = Ball.OPPOSITE

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as (m/n)·√(a/b): both counts move, in opposite directions."""
        return np.sqrt(evidence.ratio()) * (m / n)
