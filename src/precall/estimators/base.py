"""What an estimator is: a family of classifiers that weigh evidence for real against generated."""

from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.splits import Fold
from precall.neighbors.statistics import NeighborPlan, NeighborStatistics


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
