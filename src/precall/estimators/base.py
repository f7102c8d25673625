"""What an estimator is: a family of classifiers that weigh evidence for real against generated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.feature_sets import Rows
from precall.data.splits import Fold
from precall.neighbors.statistics import NeighborPlan, NeighborStatistics

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What evidence is drawn from, and by what means."""

    fold: Fold
    statistics: NeighborStatistics  # of the estimator's needs, on this fold
    seed: int = 0  # of all chance in this fold
    repeat: int = 0  # which of the estimator's repeats
    threads: int = 1

    @property
    def fitted(self) -> tuple[Rows, Rows]:
        """Real and generated samples to fit on."""
        return self.fold.real.fit, self.fold.generated.fit

    @property
    def evaluated(self) -> tuple[Rows, Rows]:
        """Real and generated samples to weigh."""
        return self.fold.real.evaluated, self.fold.generated.evaluated

    @property
    def is_real(self) -> NDArray[np.bool_]:
        """Which of the samples to weigh are real."""
        return np.repeat([True, False], [len(part) for part in self.evaluated])


def in_tiles(weigh: Callable[[NDArray[Any]], NDArray[Any]], *parts: Rows) -> NDArray[Any]:
    """Weigh all samples, a few thousand at a time."""
    return np.concatenate([weigh(tile) for part in parts for tile in part.tiles(_ROWS_AT_A_TIME)])


class Estimator(Protocol):
    """A hypothesis class. A dataclass of parameters; its ``repr`` is its label in legends.

    Those that inherit from it look at features themselves unless they say what else they need.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """Name of its curve."""

    @property
    def n_repeats(self) -> int:
        """How often it is to be repeated by chance; its curve is the mean at equal λ."""
        return 1

    @property
    def n_neighbors(self) -> int | None:
        """The resolved k; ``None`` for an estimator that has none."""
        return None

    def resolved(self, n_real: int, n_generated: int) -> Self:
        """Return the same estimator with every data-dependent parameter settled."""
        return self

    def needs(self) -> NeighborPlan:
        """Say what an engine has to count."""
        return NeighborPlan()

    def check(self, fold: Fold) -> None:
        """Refuse a fold that this estimator cannot be fitted on."""
        return

    def evidence(self, task: Task) -> Evidence:
        """Weigh every evaluated sample of the fold, real ones first."""

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Read p/q at each sample off its evidence; n real and m generated samples were fitted."""
        return evidence.ratio()
