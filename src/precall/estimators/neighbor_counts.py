"""Estimators that count neighbours, each in balls of its own kind."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.splits import Fold
from precall.errors import InputError
from precall.estimators.base import Estimator, Task
from precall.neighbors.statistics import Ball, NeighborPlan

_FEWEST_TO_HALVE = 4


@dataclass(frozen=True, slots=True)
class NeighborEstimator(Estimator):
    """An estimator whose evidence is the number of references of each class near a sample.

    Where each class has balls of its own, these hold the same share of it whatever its size, so
    that a/b estimates p/q.

    Parameters
    ----------
    k
        Number of neighbours: an integer, or ``"sqrt"`` for the rounded square root of the smaller
        class size before any split (Sykes et al. 2024 §3.2); ``"cv"`` for the one that serves best
        when halves of the fit samples judge each other (§5.2), which may differ from fold to fold.
    """

    k: int | Literal["sqrt", "cv"] = "sqrt"
    name: ClassVar[str]
    ball: ClassVar[Ball]

    def __post_init__(self) -> None:
        is_integer = isinstance(self.k, int | np.integer) and not isinstance(self.k, bool)
        is_rule = isinstance(self.k, str) and self.k in ("sqrt", "cv")
        if not is_rule and not (is_integer and int(self.k) >= 1):
            raise InputError(f"k must be a positive integer, 'sqrt' or 'cv'; got {self.k!r}.")

    @property
    def n_neighbors(self) -> int | None:
        """The resolved k; ``None`` as long as it is left to cross-validation."""
        return None if self.k == "cv" else self._settled_k

    @property
    def _settled_k(self) -> int:
        if isinstance(self.k, str):
            raise TypeError("k is not resolved yet; call resolved(n_real, n_generated) first")
        return int(self.k)

    def resolved(self, n_real: int, n_generated: int) -> Self:
        """Settle ``k="sqrt"`` for these class sizes."""
        if self.k != "sqrt":
            return self
        return replace(self, k=round(math.sqrt(min(n_real, n_generated))))

    def needs(self) -> NeighborPlan:
        """Ask for the references near each sample."""
        return NeighborPlan(frozenset({(self.ball, self._settled_k)}))

    def check(self, fold: Fold) -> None:
        """Refuse a k that a class is too small for, and to cross-validate what is too few."""
        k = self.n_neighbors
        least = _FEWEST_TO_HALVE if k is None else k + 1
        for role, side in (("real", fold.real), ("generated", fold.generated)):
            if len(side.fit) >= least:
                continue
            is_split = side.fit is not side.evaluated
            n = len(side.fit) + is_split * len(side.evaluated)
            raise InputError(
                f"k={self.k!r} needs at least {least} samples{' to fit on' * is_split}; {role} has "
                f"{n}{f', of which the split leaves {len(side.fit)}' * is_split}."
            )

    def evidence(self, task: Task) -> Evidence:
        """Read the raw counts, never divided by anything: γ absorbs every scale."""
        counts = task.statistics.counts[self.ball, self._settled_k]
        return Evidence(counts[:, 0], counts[:, 1], task.statistics.is_real)


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
