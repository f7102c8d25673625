"""The clustering curve of Sajjadi et al. 2018."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.data.splits import Fold
from precall.errors import InputError, check_integer
from precall.estimators.base import Estimator, Task, in_tiles
from precall.runtime.threads import single_threaded_libraries

_STARTS = 10  # of k-means in each run, as the original has it
_FARTHEST = 1e6  # in units of the fit samples' reach


@dataclass(frozen=True, slots=True)
class Clusters(Estimator):
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

        rows = np.concatenate([part.tile(0, len(part)) for part in task.fitted])
        seed = np.random.SeedSequence((task.seed, task.repeat)).generate_state(1)[0]
        clustering = MiniBatchKMeans(self.n_clusters, n_init=_STARTS, random_state=int(seed))
        center = _centering(rows)

        def cluster(tile: NDArray[Any]) -> NDArray[np.intp]:
            return np.asarray(clustering.predict(center(tile)))

        with single_threaded_libraries(), warnings.catch_warnings(action="ignore"):
            clustering.fit(center(rows))  # fewer distinct samples than clusters do no harm
            fitted = [in_tiles(cluster, part) for part in task.fitted]
            evaluated = in_tiles(cluster, *task.evaluated)
        real, generated = (np.bincount(part, minlength=self.n_clusters) for part in fitted)
        return Evidence(real[evaluated], generated[evaluated], task.is_real)

    def likelihood_ratio(self, evidence: Evidence, n: int, m: int) -> NDArray[np.float64]:
        """Estimate p/q as the ratio of the shares, (a/n)/(b/m)."""
        return evidence.ratio() * (m / n)


def _centering(rows: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what centers such rows and scales them, all alike, so that no square overflows."""
    largest = float(np.abs(rows).max()) or 1.0
    mean = (rows.astype(np.float64) / largest).mean(axis=0) * largest
    reach = max(float(np.abs(rows - mean).max()), np.finfo(np.float64).tiny)
    exponent, dtype = int(np.frexp(reach)[1]), rows.dtype

    def center(tile: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(tile - mean, -exponent)
        return np.asarray(np.clip(scaled, -_FARTHEST, _FARTHEST), dtype)

    return center
