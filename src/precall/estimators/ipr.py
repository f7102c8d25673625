"""Improved precision and recall (Kynkäänniemi et al. 2019), extended to a curve."""

from dataclasses import dataclass
from typing import ClassVar

from precall.estimators.base import NeighborEstimator
from precall.neighbors.plan import Ball

__all__ = ["IPR"]


@dataclass(frozen=True, slots=True)
class IPR(NeighborEstimator):
    """Count the reference samples whose own k-neighbour balls hold z (000 §3.1, f_γ^iPR).

    A kernel density estimate whose bandwidth adapts to each reference: large around outliers, which
    is what makes it sensitive to them. Without a split the error of its classifier γ = ∞ is Eq. 4;
    the curve's extreme precision is the least error of *any* γ that never errs on real.

    Examples
    --------
    >>> IPR(k=3)
    IPR(k=3)
    """

    name: ClassVar[str] = "ipr"
    ball: ClassVar[Ball] = Ball.REFERENCE
