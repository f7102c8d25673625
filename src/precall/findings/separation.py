"""Which clusters are modes: those with a valley to their neighbours that survives a test.

Half of the rows are clustered; the other half, which nobody has looked at, tests whether
neighbouring clusters are apart. For two neighbours take all rows in a convex region around both,
and place them along one line through the two. Where the law is unimodal along that line, an
interval between two others of the same width holds at least as much as one of these, so that one
binomial test each, both of which must reject, has its level exactly (an intersection–union test,
Berger 1982; unimodality along lines between clusters: Vardakas et al. 2023). Every line through a
convex region of a log-concave law (Gaussians, uniform ones on convex bodies) is unimodal, so that
one such law is found to have several modes with a chance of at most the level, over all that is
tried.

Direction and intervals are chosen by the first half, which costs nothing but power.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WIDTHS = (0.15, 0.25, 0.35, 0.45)  # of intervals, in units of the distance of two centres
_PLACES = 9  # of the interval between, that are tried
_MOST_DIMENSIONS = 64
_RUNS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """Centres of clusters, and which of them are one mode."""

    centers: Floats  # (k, d)
    mode_of: NDArray[np.intp]  # (k,)

    @property
    def n_modes(self) -> int:
        """Number of modes that are apart from each other."""
        return int(self.mode_of.max()) + 1


def separated(
    rows: NDArray[Any], numbers: Sequence[int], level: float, rng: np.random.Generator
) -> Clustering | None:
    """Cluster rows into each of some numbers; return the clustering with most separate modes.

    ``None`` if there are too few different rows. Centres are in the space of the rows.

    Parameters
    ----------
    level
        Chance to find several modes where there is one.
    """
    halves = [np.asarray(rows[chosen], np.float64) for chosen in _halves(len(rows), rng)]
    n_distinct = len(np.unique(halves[0], axis=0))
    tested = [k for k in numbers if k <= n_distinct]
    if not tested:
        return None
    views = _dithered(halves, rng) if n_distinct > max(numbers) else halves
    views = _main_directions(views, rng)
    seed = int(rng.integers(2**31))
    found = [_clustered(views, halves[0], k, level / len(tested), seed) for k in tested]
    return max(found, key=lambda clustering: clustering.n_modes)


def _halves(n: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = rng.permutation(n)
    return order[::2], order[1::2]


def _dithered(halves: list[Floats], rng: np.random.Generator) -> list[Floats]:
    """Blur what was rounded: the steps of a grid are no valleys."""
    both = np.concatenate(halves)
    gaps = [np.diff(np.unique(column)).min(initial=np.inf) for column in both.T]
    steps = np.minimum(gaps, 2 * both.std(axis=0))  # a rare value makes no grid
    return [half + steps * (rng.random(half.shape) - 0.5) for half in halves]


def _main_directions(halves: list[Floats], rng: np.random.Generator) -> list[Floats]:
    """Keep the main directions of the first half, which the others are blind to."""
    if halves[0].shape[1] <= _MOST_DIMENSIONS:
        return halves
    from sklearn.utils.extmath import randomized_svd

    first = halves[0] - halves[0].mean(axis=0)
    seed = int(rng.integers(2**31))
    *_, directions = randomized_svd(first, min(_MOST_DIMENSIONS, len(first)), random_state=seed)
    return [half @ directions.T for half in halves]


def _clustered(
    halves: Sequence[Floats], first_rows: Floats, k: int, level: float, seed: int
) -> Clustering:
    """Cluster one half into k, and join the clusters that the other half cannot tell apart."""
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
    from scipy.spatial.distance import cdist
    from sklearn.cluster import KMeans

    labels = KMeans(k, n_init=_RUNS, random_state=seed).fit_predict(halves[0])
    places = np.array([halves[0][labels == c].mean(axis=0) for c in range(k)])
    tree = minimum_spanning_tree(cdist(places, places)).tocoo()
    joined = np.zeros((k, k), bool)
    for i, j in zip(tree.row.tolist(), tree.col.tolist(), strict=True):
        joined[i, j] = _p_value_of_one_mode(halves, labels, places, i, j) > level / (k - 1)
    _, mode_of = connected_components(joined, directed=False)
    centers = np.array([first_rows[labels == c].mean(axis=0) for c in range(k)])
    return Clustering(centers, np.asarray(mode_of, np.intp))


def _p_value_of_one_mode(
    halves: Sequence[Floats], labels: NDArray[Any], places: Floats, i: int, j: int
) -> float:
    """Test whether two clusters are one mode."""
    within = [halves[0][labels == c] - places[c] for c in (i, j)]
    direction = _discriminant(np.concatenate(within), places[j] - places[i])
    distance = float((places[j] - places[i]) @ direction)
    first, second = (
        (half[_between(half, places, i, j)] - places[i]) @ direction / distance for half in halves
    )
    widths, middles = _windows()
    chosen = [int(np.argmin(_p_values(first, widths, middles)))]
    return float(_p_values(second, widths[chosen], middles[chosen])[0])


def _discriminant(within: Floats, difference: Floats) -> Floats:
    """Return Fisher's direction between two clusters, of a shrunk covariance (Ledoit & Wolf)."""
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(within, assume_centered=True)
    scale = float(np.trace(covariance)) / len(covariance)
    if not scale > 0:
        return difference
    covariance[np.diag_indices_from(covariance)] += 1e-9 * scale
    return np.asarray(np.linalg.solve(covariance / scale, difference))


def _between(rows: Floats, places: Floats, i: int, j: int) -> NDArray[np.bool_]:
    """Whether rows are nearer to the segment between two centres than to any other centre.

    That is, to its point that is nearest to that centre: an intersection of half-spaces.
    """
    step = places[j] - places[i]
    others = np.delete(places, (i, j), axis=0)
    along = np.clip((others - places[i]) @ step / (step @ step), 0, 1)
    nearest = places[i] + along[:, None] * step
    sides = 2 * rows @ (others - nearest).T <= (others**2).sum(axis=1) - (nearest**2).sum(axis=1)
    return np.asarray(sides.all(axis=1))


def _windows() -> tuple[Floats, Floats]:
    """Widths of intervals, and places of the middle one between the centres 0 and 1."""
    pairs = [(w, place) for w in _WIDTHS for place in np.linspace(w, 1 - w, _PLACES)]
    widths, places = np.array(pairs).T
    return widths, places


def _p_values(along: Floats, widths: Floats, places: Floats) -> Floats:
    """Test whether intervals hold as much as the one around 0 or the one around 1."""
    from scipy.special import bdtr

    ordered = np.sort(along)
    left, between, right = (
        np.searchsorted(ordered, middle + widths / 2)
        - np.searchsorted(ordered, middle - widths / 2)
        for middle in (0.0, places, 1.0)
    )
    sides = [bdtr(between.astype(float), between + side, 0.5) for side in (left, right)]
    return np.asarray(np.maximum(*sides))
