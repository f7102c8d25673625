"""Estimators that count neighbours, each in balls of its own kind."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from precall.curves.evidence import Evidence
from precall.estimators.base import NeighborEstimator
from precall.neighbors.plan import Ball


@dataclass(frozen=True, slots=True)
class IPR(NeighborEstimator):
    """Count the references whose own k-neighbour balls hold z (Sykes et al. 2024 §3.1, f_γ^iPR).

    Improved precision and recall (Kynkäänniemi et al. 2019), extended to a curve: a kernel density
    estimate whose bandwidth adapts to each reference, large around outliers, which is what makes it
    sensitive to them. Without a split the error of its classifier γ = ∞ is Eq. 4; the curve's
    extreme precision is the least error of *any* γ that never errs on real.

    Examples
    --------
    >>> IPR(k=3)
    IPR(k=3)
    """

    name: ClassVar[str] = "ipr"
    ball: ClassVar[Ball] = Ball.REFERENCE


@dataclass(frozen=True, slots=True)
class Coverage(NeighborEstimator):
    """Count each class within z's k-neighbour ball among the *other* class.

    Coverage (Naeem et al. 2020) and its mirror, extended to a curve: f_γ^cov of Sykes et al. 2024
    §3.1. At γ = ∞ and γ = 0 it agrees with :class:`KNN` on every sample (footnote 4). Without a
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


@dataclass(frozen=True, slots=True)
class KNN(NeighborEstimator):
    """Count each class among the k nearest references of both (Sykes et al. 2024 §3.1, f_γ^knn).

    Its curve is consistent (Theorem 3.1). References that tie with the k-th are all counted, so the
    two counts add up to k or more.

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


@dataclass(frozen=True, slots=True)
class Parzen(NeighborEstimator):
    """Count the references within their class's mean k-neighbour radius (Sykes et al. 2024 §3.2).

    A Parzen window: one bandwidth for a whole class, so a single outlier cannot claim a large ball.

    Examples
    --------
    >>> Parzen(k=4)
    Parzen(k=4)
    """

    name: ClassVar[str] = "parzen"
    ball: ClassVar[Ball] = Ball.MEAN
