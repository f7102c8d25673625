"""Modes of the data that a model drops, invents, over- or under-produces.

The union of both sets is clustered without a look at who is real. Were P = Q, the labels would be
exchangeable given the union, so an exact test of each cluster needs no split; Holm's correction
keeps the chance of any false alarm below 1 − confidence. Where the data has no modes that are apart
from each other, its parts are called regions.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, check_same_features
from precall.data.frames import Frame
from precall.data.labels import Labels
from precall.errors import InputError, check_integer
from precall.findings.separation import Clustering, separated
from precall.findings.shares import Finding, SharesCompared, compare_shares
from precall.runtime.threads import single_threaded_libraries

_TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30)
_REGIONS = 12
_FEWEST_A_CLUSTER = 10  # samples of each half, on average
_MOST_SAMPLES = 6000  # that clusters are found with
_N_NEAREST = 9
_MOST_LABELS = 4
_SAMPLES_OF_WIDTHS = 1000  # of each side
_TAIL = 0.01  # of the values of a feature, on either side
_FAR = 10  # times the width of the rest
_TILE = 4096

Kind = Literal["mode", "region"]


@dataclass(frozen=True, slots=True)
class LabelShare:
    """How much of something has a label."""

    label: str
    share: float


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode of the union of both sets; a region, where modes are not apart from each other.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> centres = np.array([[0, 0], [10, 0], [0, 10]])
    >>> real = centres[rng.integers(3, size=600)] + rng.normal(size=(600, 2))
    >>> generated = centres[rng.integers(2, size=600)] + rng.normal(size=(600, 2))
    >>> [mode.finding for mode in precall.find_modes(real, generated) if mode.generated_mass == 0]
    ['dropped']
    """

    kind: Kind
    real_mass: float  # share of real
    generated_mass: float  # share of generated
    real_interval: tuple[float, float]
    generated_interval: tuple[float, float]
    finding: Finding
    p_value: float  # of equal shares, corrected for the number of modes or regions; of several
    # regions that are told as one: the smallest
    nearest_real: tuple[int, ...]  # rows of real nearest to the centre
    nearest_generated: tuple[int, ...]  # rows of generated nearest to the centre
    labels: tuple[LabelShare, ...] = ()  # the most frequent of its labelled samples, if any are


def find_modes(
    real: object,
    generated: object,
    *,
    n_modes: int | Literal["auto"] = "auto",
    confidence: float = 0.95,
    seed: int = 0,
    labels_real: object = None,
    labels_generated: object = None,
) -> tuple[Mode, ...]:
    """Cluster the union of both sets and compare the masses of the clusters, largest first.

    Parameters
    ----------
    real, generated
        As in :func:`precall.evaluate`.
    n_modes
        Number of clusters. ``"auto"`` finds the modes, up to 30, that are apart from each other by
        a test on samples held out from the clustering; where there is but one, it compares
        regions instead, and tells neighbouring ones with the same finding as one.
    confidence
        1 − the chance to call any mode of equal distributions different, 1 − the chance to find
        several modes in a Gaussian or another log-concave law; and of the intervals.
    seed
        Of the clustering.
    labels_real, labels_generated
        One class label for each row, of either side or both. They take no part in the clustering;
        every mode says which labels its samples have most often.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> places = np.array([[0, 0], [9, 0], [0, 9]])
    >>> real = places[rng.choice(3, 900, p=[0.5, 0.3, 0.2])] + rng.normal(size=(900, 2))
    >>> generated = places[rng.choice(3, 900, p=[0.7, 0.3, 0.0])] + rng.normal(size=(900, 2))
    >>> [(mode.kind, mode.finding) for mode in precall.find_modes(real, generated)]
    [('mode', 'over-produced'), ('mode', 'as it should be'), ('mode', 'dropped')]
    """
    if n_modes != "auto":
        check_integer("n_modes", n_modes, 2)
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    labels = Labels.of(labels_real, labels_generated, sets)
    sizes = [len(side) for side in sets]
    if n_modes != "auto" and sum(sizes) < n_modes:
        raise InputError(
            f"n_modes={n_modes} needs at least {n_modes} samples; real and generated have "
            f"{sum(sizes)} together."
        )
    rows = _without_outliers(sets, seed)
    with single_threaded_libraries(), warnings.catch_warnings(action="ignore"):
        kind, clustering = _find_clusters(rows, n_modes, 1 - confidence, seed)
        squared = _squared_distances(rows, clustering.centers)
    parts = _Parts.of(clustering, squared, sizes[0], labels)
    found = parts.compared(1 - confidence)
    groups = _neighbours_alike(parts, found) if kind == "region" and n_modes == "auto" else None
    modes = parts.told(kind, found, groups or [[c] for c in range(len(found))], 1 - confidence)
    return tuple(sorted(modes, key=lambda mode: -max(mode.real_mass, mode.generated_mass)))


def _without_outliers(sets: Sequence[FeatureSet], seed: int) -> NDArray[np.float32]:
    """Return all rows around their medians, none of them so far out that the rest is one point."""
    rng = np.random.default_rng((seed, 7))
    chosen = [np.sort(rng.permutation(len(side))[:_SAMPLES_OF_WIDTHS]) for side in sets]
    some = np.concatenate(
        [side.select(rows).tile(0, len(rows)) for side, rows in zip(sets, chosen, strict=True)]
    ).astype(np.float64)
    low, center, high = np.quantile(some, (_TAIL, 0.5, 1 - _TAIL), axis=0)
    width = high - low
    if not width.any():  # what varies is rare: all of it is kept
        width = some.max(axis=0) - some.min(axis=0)
    reach = _FAR * np.where(width > 0, width, width.max())
    low, high = center - reach, center + reach
    frame = Frame(center, math.frexp(float(reach.max()))[1])
    tiles = (tile for side in sets for tile in side.rows.tiles(_TILE))
    return np.concatenate(
        [frame.apply(np.clip(tile, low, high)).astype(np.float32) for tile in tiles]
    )


def _find_clusters(
    rows: NDArray[Any], n_modes: int | Literal["auto"], level: float, seed: int
) -> tuple[Kind, Clustering]:
    """Return modes that are apart, or else clusters of all rows."""
    rng = np.random.default_rng((seed, 6))
    some = rows[np.sort(rng.permutation(len(rows))[:_MOST_SAMPLES])]
    most = len(some) // (2 * _FEWEST_A_CLUSTER)
    tried = [k for k in _TRIED if k <= most] if n_modes == "auto" else [n_modes]
    apart = separated(some, tried, level, rng) if len(some) > 1 and tried else None
    if n_modes == "auto" and apart is not None and apart.n_modes > 1:
        return "mode", apart
    n_clusters = max(1, min(_REGIONS, most)) if n_modes == "auto" else n_modes
    is_apart = apart is not None and apart.n_modes == n_clusters
    centers = _centers(some if n_modes == "auto" else rows, n_clusters, seed)
    return "mode" if is_apart else "region", Clustering(centers, np.arange(len(centers)))


def _centers(rows: NDArray[Any], n_clusters: int, seed: int) -> NDArray[np.float64]:
    """Return the centres of clusters; fewer, if there are fewer different rows."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    kind = KMeans if len(rows) <= _MOST_SAMPLES else MiniBatchKMeans
    clustering = kind(n_clusters, n_init=4, random_state=seed % 2**32).fit(rows)
    return np.unique(np.asarray(clustering.cluster_centers_, np.float64), axis=0)


def _squared_distances(rows: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of each row to each centre, (n, k)."""
    squared = np.empty((len(rows), len(centers)))
    for start in range(0, len(rows), _TILE):
        tile = np.asarray(rows[start : start + _TILE], np.float64)
        products = -2 * tile @ centers.T
        squared[start : start + _TILE] = (tile**2).sum(axis=1)[:, None] + products
    return np.asarray(squared + (centers**2).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Which part of the union each sample belongs to."""

    part_of: tuple[NDArray[np.intp], NDArray[np.intp]]  # real, generated: each (n,)
    squared: tuple[NDArray[np.float64], NDArray[np.float64]]  # to the centres: each (n, k)
    center_parts: NDArray[np.intp]  # (k,)
    labels: Labels

    @classmethod
    def of(
        cls, clustering: Clustering, squared: NDArray[np.float64], n: int, labels: Labels
    ) -> "_Parts":
        part_of, sides = clustering.mode_of[squared.argmin(axis=1)], (squared[:n], squared[n:])
        return cls((part_of[:n], part_of[n:]), sides, clustering.mode_of, labels)

    def counts(self) -> list[tuple[int, int]]:
        """Samples of both sides in each part."""
        n_parts = int(self.center_parts.max()) + 1
        found = [np.bincount(of, minlength=n_parts).tolist() for of in self.part_of]
        return list(zip(*found, strict=True))

    def compared(self, level: float) -> list[SharesCompared]:
        """Compare the shares of every part."""
        real, generated = self.part_of
        return compare_shares(self.counts(), len(real), len(generated), level)

    def are_neighbours(self) -> NDArray[np.bool_]:
        """Whether some sample has one part's centre nearest and another part's next, (k, k)."""
        n_parts = int(self.center_parts.max()) + 1
        found = np.zeros((n_parts, n_parts), bool)
        for squared in self.squared:
            if squared.shape[1] > 1:
                two = self.center_parts[np.argpartition(squared, 1, axis=1)[:, :2]]
                found[two[:, 0], two[:, 1]] = True
        return found | found.T

    def told(
        self,
        kind: Kind,
        found: Sequence[SharesCompared],
        groups: Sequence[Sequence[int]],
        level: float,
    ) -> Iterator[Mode]:
        """Tell groups of parts with the same finding as one each."""
        counts = np.array(self.counts())
        n, m = map(len, self.part_of)
        for group in groups:
            a, b = counts[list(group)].sum(axis=0).tolist()
            (shares,) = compare_shares([(a, b)], n, m, level)
            of_real, of_generated = (
                _nearest(np.isin(of, group), squared[:, np.isin(self.center_parts, group)])
                for of, squared in zip(self.part_of, self.squared, strict=True)
            )
            yield Mode(
                kind,
                shares.real,
                shares.generated,
                shares.real_interval,
                shares.generated_interval,
                found[group[0]].finding,
                min(found[part].p_value for part in group),
                of_real,
                of_generated,
                self.labelled(group),
            )

    def labelled(self, group: Sequence[int]) -> tuple[LabelShare, ...]:
        """Return the most frequent labels in some parts, the most frequent first."""
        sides = zip((self.labels.real, self.labels.generated), self.part_of, strict=True)
        inside = [known[np.isin(of, group)] for known, of in sides if known is not None]
        names, counts = np.unique(np.concatenate([*inside, np.empty(0, str)]), return_counts=True)
        most = np.argsort(-counts, kind="stable")[:_MOST_LABELS]
        return tuple(LabelShare(str(names[i]), float(counts[i] / counts.sum())) for i in most)


def _neighbours_alike(parts: _Parts, found: Sequence[SharesCompared]) -> list[list[int]]:
    """Put neighbouring regions with the same finding together."""
    from scipy.sparse.csgraph import connected_components

    findings = np.array([shares.finding for shares in found])
    alike = parts.are_neighbours() & (findings[:, None] == findings)
    n_groups, group_of = connected_components(alike, directed=False)
    return [np.flatnonzero(group_of == group).tolist() for group in range(n_groups)]


def _nearest(inside: NDArray[np.bool_], squared: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the rows of a part that are nearest to one of its centres."""
    rows = np.flatnonzero(inside)
    order = rows[np.argsort(squared[rows].min(axis=1), kind="stable")]
    return tuple(order[:_N_NEAREST].tolist())
