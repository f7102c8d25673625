"""The clustering curve of Sajjadi et al. 2018."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError, check_integer
from precall.estimators.base import Task
from precall.evidence import Evidence
from precall.features import Rows
from precall.neighbors import NeighborPlan
from precall.parallel import single_threaded_libraries
from precall.split import Fold

__all__ = ["Clusters"]

_STARTS = 10  # of k-means in each run, as the original has it
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True)
class Clusters:
    """Cluster the fit samples of both classes and compare the two histograms over the clusters.

    Without a split this is the original: the exact curve of the two histograms, averaged at equal
    λ over runs of mini-batch k-means. It then promises no bound, because the centres adapt to the
    very samples that are counted. With a split the centres, and the order of the clusters from real
    to generated, come from the fit samples, and only evaluated samples are counted: by 003 Theorem
    5 an upper bound.

    Parameters
    ----------
    n_clusters
        20 in the original. More modes than clusters are mixed up (003 Fig. 3).
    runs
        Clusterings to average.

    Examples
    --------
    >>> Clusters()
    Clusters(n_clusters=20, runs=10)
    """

    n_clusters: int = 20
    runs: int = 10
    name: ClassVar[str] = "clusters"

    def __post_init__(self) -> None:
        check_integer("n_clusters", self.n_clusters, 2)
        check_integer("runs", self.runs, 1)

    @property
    def n_neighbors(self) -> None:
        """Always ``None``: there is no k."""
        return

    @property
    def n_repeats(self) -> int:
        """One a run."""
        return int(self.runs)

    def resolved(self, n_real: int, n_generated: int) -> Self:
        """Nothing depends on the data."""
        return self

    def needs(self) -> NeighborPlan:
        """No neighbours are needed."""
        return NeighborPlan()

    def check(self, fold: Fold) -> None:
        """Refuse more clusters than samples."""
        n_fit = len(fold.real.fit) + len(fold.generated.fit)
        if n_fit < self.n_clusters:
            raise InputError(
                f"n_clusters={self.n_clusters} needs as many samples to fit on; real and generated "
                f"have {n_fit} together."
            )

    def evidence(self, task: Task) -> Evidence:
        """Count both classes in each evaluated sample's cluster, among the fit samples."""
        sides = task.fold.real, task.fold.generated
        rows = np.concatenate([side.fit.tile(0, len(side.fit)) for side in sides])
        _, exponent = np.frexp(np.abs(rows).max())  # a power of two: no digit is lost
        with single_threaded_libraries(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer distinct samples than clusters do no harm
            centers = self._clustering((task.seed, task.repeat)).fit(np.ldexp(rows, -exponent))
            counts = np.stack(
                [np.bincount(_assign(centers, side.fit, -exponent), minlength=self.n_clusters)
                 for side in sides]
            )  # fmt: skip
            clusters = np.concatenate(
                [_assign(centers, side.evaluated, -exponent) for side in sides]
            )
        is_real = np.repeat([True, False], [len(side.evaluated) for side in sides])
        return Evidence(counts[0, clusters], counts[1, clusters], is_real)

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as the ratio of the shares, (a/n)/(b/m)."""
        return evidence.ratio() * (m / n)

    def _clustering(self, seed: tuple[int, int]) -> Any:
        from sklearn.cluster import MiniBatchKMeans

        random_state = int(np.random.SeedSequence(seed).generate_state(1)[0])
        return MiniBatchKMeans(self.n_clusters, n_init=_STARTS, random_state=random_state)


def _assign(clustering: Any, side: Rows, exponent: int) -> NDArray[np.intp]:
    """Return the cluster of each row."""
    dtype = clustering.cluster_centers_.dtype
    tiles = (np.ldexp(tile.astype(dtype), exponent) for tile in side.tiles(_ROWS_AT_A_TIME))
    return np.concatenate([clustering.predict(tile) for tile in tiles])
