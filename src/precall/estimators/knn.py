"""The k-nearest-neighbour classifier, whose curve is consistent (000, Theorem 3.1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from precall.curves.evidence import Evidence
from precall.estimators.base import NeighborEstimator
from precall.neighbors.plan import Ball

__all__ = ["KNN"]


@dataclass(frozen=True, slots=True)
class KNN(NeighborEstimator):
    """Count each class among the k nearest references of both (000 §3.1, f_γ^knn).

    References that tie with the k-th are all counted, so the two counts add up to k or more.

    Examples
    --------
    >>> KNN(k="sqrt").resolved(n_real=10_000, n_generated=50_000)
    KNN(k=100)
    """

    name: ClassVar[str] = "knn"
    ball: ClassVar[Ball] = Ball.UNION

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as (a/b)(m/n)."""
        return evidence.ratio() * (m / n)
