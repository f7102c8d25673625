"""What an estimator is: a family of classifiers that weigh evidence for real against generated."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.evidence import Evidence
from precall.data.splits import Fold
from precall.errors import InputError
from precall.neighbors.plan import Ball, NeighborPlan
from precall.neighbors.statistics import NeighborStatistics

_FEWEST_TO_HALVE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What evidence is drawn from, and by what means."""

    fold: Fold
    statistics: NeighborStatistics  # of the estimator's needs, on this fold
    seed: int = 0  # of all chance in this fold
    repeat: int = 0  # which of the estimator's repeats
    threads: int = 1


class Estimator(Protocol):
    """A hypothesis class. A dataclass of parameters; its ``repr`` is its label in legends."""

    @property
    def name(self) -> str:
        """Name of its curve."""

    @property
    def n_repeats(self) -> int:
        """How often it is to be repeated by chance; its curve is the mean at equal λ."""

    @property
    def n_neighbors(self) -> int | None:
        """The resolved k; ``None`` for an estimator that has none."""

    def resolved(self, n_real: int, n_generated: int) -> Self:
        """Return the same estimator with every data-dependent parameter settled."""

    def needs(self) -> NeighborPlan:
        """Say what an engine has to count."""

    def check(self, fold: Fold) -> None:
        """Refuse a fold that this estimator cannot be fitted on."""

    def evidence(self, task: Task) -> Evidence:
        """Weigh every evaluated sample of the fold, real ones first."""

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Read p/q at each sample off its evidence; n real and m generated samples were fitted."""


class FeatureEstimator:
    """An estimator that looks at features themselves, and asks an engine for nothing."""

    __slots__ = ()

    n_neighbors: ClassVar[int | None] = None  # there is no k

    def resolved(self, n_real: int, n_generated: int) -> Self:
        """Nothing depends on the number of samples alone."""
        return self

    def needs(self) -> NeighborPlan:
        """No neighbours are needed."""
        return NeighborPlan()


@dataclass(frozen=True, slots=True)
class NeighborEstimator:
    """An estimator whose evidence is the number of references of each class near a sample.

    Parameters
    ----------
    k
        Number of neighbours: an integer, or ``"sqrt"`` for the rounded square root of the smaller
        class size before any split (Sykes et al. 2024 §3.2); ``"cv"`` for the one that serves best
        when halves of the fit samples judge each other (§5.2), which may differ from fold to fold.
    """

    k: int | Literal["sqrt", "cv"] = "sqrt"
    name: ClassVar[str]
    n_repeats: ClassVar[int] = 1
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

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q: each class's own balls hold the same share of it, whatever its size."""
        return evidence.ratio()
