"""The clustering curve of Sajjadi et al. 2018."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.feature_sets import Rows
from precall.data.splits import Fold
from precall.errors import InputError, check_integer
from precall.estimators.base import FeatureEstimator, Task
from precall.runtime.threads import single_threaded_libraries

_STARTS = 10  # of k-means in each run, as the original has it
_ROWS_AT_A_TIME = 4096
_FARTHEST = 1e6  # in units of the fit samples' reach


@dataclass(frozen=True, slots=True)
class Clusters(FeatureEstimator):
    """Cluster the fit samples of both classes and compare the two histograms over the clusters.

    Without a split this is the original: the exact curve of the two histograms, averaged at equal
    λ over runs of mini-batch k-means. It then promises no bound, because the centres adapt to the
    very samples that are counted. With a split the centres, and the order of the clusters from real
    to generated, come from the fit samples, and only evaluated samples are counted: an upper bound
    (Simon et al. 2019, Theorem 5).

    Parameters
    ----------
    n_clusters
        20 in the original. More modes than clusters are mixed up (Simon et al. 2019, Fig. 3).
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
    def n_repeats(self) -> int:
        """One a run."""
        return int(self.runs)

    def check(self, fold: Fold) -> None:
        """Refuse more clusters than samples."""
        n_fit = len(fold.real.fit) + len(fold.generated.fit)
        if n_fit < self.n_clusters:
            raise InputError(
                f"n_clusters={self.n_clusters} needs at least {self.n_clusters} samples to fit on; "
                f"real and generated have {n_fit} together."
            )

    def evidence(self, task: Task) -> Evidence:
        """Count both classes in each evaluated sample's cluster, among the fit samples."""
        from sklearn.cluster import MiniBatchKMeans

        sides = task.fold.real, task.fold.generated
        rows = np.concatenate([side.fit.tile(0, len(side.fit)) for side in sides])
        seed = np.random.SeedSequence((task.seed, task.repeat)).generate_state(1)[0]
        clustering = MiniBatchKMeans(self.n_clusters, n_init=_STARTS, random_state=int(seed))
        space = _Space.of(rows)

        def clusters_of(part: Rows) -> NDArray[np.intp]:
            tiles = map(space.apply, part.tiles(_ROWS_AT_A_TIME))
            return np.concatenate([clustering.predict(tile) for tile in tiles])

        with single_threaded_libraries(), warnings.catch_warnings(action="ignore"):
            clustering.fit(space.apply(rows))  # fewer distinct samples than clusters do no harm
            fitted = [clusters_of(side.fit) for side in sides]
            evaluated = np.concatenate([clusters_of(side.evaluated) for side in sides])
        real, generated = (np.bincount(part, minlength=self.n_clusters) for part in fitted)
        is_real = np.repeat([True, False], [len(side.evaluated) for side in sides])
        return Evidence(real[evaluated], generated[evaluated], is_real)

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as the ratio of the shares, (a/n)/(b/m)."""
        return evidence.ratio() * (m / n)


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Features around their mean, scaled as a whole so that no square overflows or vanishes."""

    mean: NDArray[np.float64]  # (d,)
    exponent: int  # of two
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self:
        largest = float(np.abs(rows).max()) or 1.0
        mean = (rows.astype(np.float64) / largest).mean(axis=0) * largest
        _, exponent = np.frexp(max(float(np.abs(rows - mean).max()), np.finfo(np.float64).tiny))
        return cls(mean, int(exponent), rows.dtype)

    def apply(self, rows: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(rows - self.mean, -self.exponent)
        return np.clip(scaled, -_FARTHEST, _FARTHEST).astype(self.dtype)
