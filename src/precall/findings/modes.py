"""Modes of the data that a model drops, invents, over- or under-produces.

The union of both sets is clustered without a look at who is real. Were P = Q, the labels would be
exchangeable given the union, so an exact test of each cluster needs no split; Holm's correction
keeps the chance of any false alarm below 1 − confidence.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, check_same_features
from precall.data.frames import Frame
from precall.errors import InputError, check_integer
from precall.runtime.threads import single_threaded_libraries

Finding = Literal["as it should be", "dropped", "invented", "under-produced", "over-produced"]

_TRIED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30)
_DEFAULT_MODES = 20
_FEWEST_A_MODE = 10  # samples, on average
_CLEAR_SILHOUETTE = 0.35
_SILHOUETTE_SAMPLES = 1500
_GONE = 0.1  # of q/p: below it a mode is dropped, above its inverse invented
_N_NEAREST = 9


@dataclass(frozen=True, slots=True)
class Mode:
    """A cluster of the union of both sets."""

    real_mass: float  # share of real
    generated_mass: float  # share of generated
    real_interval: tuple[float, float]
    generated_interval: tuple[float, float]
    finding: Finding
    p_value: float  # of equal shares, corrected for the number of modes
    nearest_real: tuple[int, ...]  # rows of real nearest to the centre
    nearest_generated: tuple[int, ...]  # rows of generated nearest to the centre


def find_modes(
    real: object,
    generated: object,
    *,
    n_modes: int | Literal["auto"] = "auto",
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Mode, ...]:
    """Cluster the union of both sets and compare the masses of the clusters, largest first.

    Parameters
    ----------
    real, generated
        As in :func:`precall.evaluate`.
    n_modes
        Number of clusters. ``"auto"`` takes the number up to 30 that separates the samples most
        clearly (by silhouette), or 20 where none does.
    confidence
        1 − the chance to call any mode of equal distributions different; and of the intervals.
    seed
        Of the clustering.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> places = np.array([[0, 0], [9, 0], [0, 9]])
    >>> real = places[rng.choice(3, 900, p=[0.5, 0.3, 0.2])] + rng.normal(size=(900, 2))
    >>> generated = places[rng.choice(3, 900, p=[0.7, 0.3, 0.0])] + rng.normal(size=(900, 2))
    >>> [mode.finding for mode in precall.find_modes(real, generated)]
    ['over-produced', 'as it should be', 'dropped']
    """
    if n_modes != "auto":
        check_integer("n_modes", n_modes, 2)
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    sizes = [len(side) for side in sets]
    if n_modes != "auto" and sum(sizes) < n_modes:
        raise InputError(
            f"n_modes={n_modes} needs at least {n_modes} samples; real and generated have "
            f"{sum(sizes)} together."
        )
    labels, squared = _cluster(Frame.around(sets).dense(sets, np.float32), n_modes, seed)
    n = sizes[:1]
    modes = _compared(np.split(labels, n), np.split(squared, n), 1 - confidence)
    return tuple(sorted(modes, key=lambda mode: -max(mode.real_mass, mode.generated_mass)))


def _compared(
    labels: list[NDArray[np.intp]], squared: list[NDArray[np.float64]], level: float
) -> Iterator[Mode]:
    """Compare the shares of every cluster by Fisher's exact test."""
    from scipy.stats import fisher_exact

    n, m = map(len, labels)
    n_modes = squared[0].shape[1]
    counts = np.transpose([np.bincount(of, minlength=n_modes) for of in labels]).tolist()
    p_values = _holm([float(fisher_exact([[a, n - a], [b, m - b]])[1]) for a, b in counts])
    for mode, ((a, b), p) in enumerate(zip(counts, p_values, strict=True)):
        nearest = [_nearest(of == mode, s[:, mode]) for of, s in zip(labels, squared, strict=True)]
        yield Mode(
            real_mass=a / n,
            generated_mass=b / m,
            real_interval=_clopper_pearson(a, n, level),
            generated_interval=_clopper_pearson(b, m, level),
            finding=_finding(a, b, n, m, level / n_modes) if p <= level else "as it should be",
            p_value=p,
            nearest_real=nearest[0],
            nearest_generated=nearest[1],
        )


def _nearest(inside: NDArray[np.bool_], squared: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the rows of a cluster that are nearest to its centre."""
    rows = np.flatnonzero(inside)
    order = rows[np.argsort(squared[rows], kind="stable")]
    return tuple(order[:_N_NEAREST].tolist())


def _finding(a: int, b: int, n: int, m: int, level: float) -> Finding:
    """Name what is wrong with a of n and b of m, by bounds on q/p: of a + b, b is binomial."""
    bounds = _clopper_pearson(b, a + b, level)
    low, high = (np.inf if share == 1 else share / (1 - share) * n / m for share in bounds)
    if high < _GONE:
        return "dropped"
    if low > 1 / _GONE:
        return "invented"
    return "under-produced" if b / m < a / n else "over-produced"


def _clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    from scipy.stats import beta

    if trials == 0:
        return 0.0, 1.0
    low = 0.0 if successes == 0 else float(beta.ppf(level / 2, successes, trials - successes + 1))
    if successes == trials:
        return low, 1.0
    return low, float(beta.ppf(1 - level / 2, successes + 1, trials - successes))


def _holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    out = np.empty(len(order))
    out[order] = np.minimum(np.maximum.accumulate(corrected), 1.0)
    return [float(p) for p in out]


def _cluster(
    rows: NDArray[Any], n_modes: int | Literal["auto"], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return each row's cluster and its squared distances to all centres."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    order = np.random.default_rng(seed).permutation(len(rows))
    with single_threaded_libraries(), warnings.catch_warnings(action="ignore"):
        if n_modes == "auto":
            n_modes = _clearest(rows[order[:_SILHOUETTE_SAMPLES]], len(rows))
        kind = KMeans if len(rows) <= 10 * _SILHOUETTE_SAMPLES else MiniBatchKMeans
        clustering = kind(n_modes, n_init=10, random_state=seed % 2**32).fit(rows[order])
        distances = np.asarray(clustering.transform(rows), np.float64)
    return np.argmin(distances, axis=1), distances**2


def _clearest(some: NDArray[Any], n: int) -> int:
    """Return the number of clusters that separates the samples most clearly."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    found = {}
    for n_modes in _TRIED:
        if n_modes * _FEWEST_A_MODE > len(some):
            break
        labels = KMeans(n_modes, n_init=4, random_state=0).fit_predict(some)
        if len(np.unique(labels)) == n_modes < len(some):
            found[n_modes] = float(silhouette_score(some, labels))
    best = max(found, key=found.__getitem__, default=0)
    if best and found[best] >= _CLEAR_SILHOUETTE:
        return best
    return max(2, min(_DEFAULT_MODES, n // _FEWEST_A_MODE))
