"""The lower convex hull of error rates, and areas under the precision–recall curve it defines.

On the piece of the curve where the hull vertex (f, g) = (fpr, fnr) is optimal, precision is
α = λf + g and recall β = α/λ. The region under the curve, swept by the ray α = λβ, grows by
½β² dλ, so every area is a sum of ½ ∫ (f + g/λ)² dλ.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lower_hull(x: NDArray[Any], y: NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Return the vertices of the lower-left convex hull, x ascending and y descending.

    Only points that minimise λx + y for some λ ∈ [0, ∞] are kept, and none inside an edge. Exact
    for integers of any size; O(n log n).

    Examples
    --------
    >>> lower_hull(np.array([0, 1, 2, 4]), np.array([4, 3, 1, 0]))
    ([0, 2, 4], [4, 1, 0])
    """
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    lowest_so_far = np.minimum.accumulate(y)
    improves = np.ones(len(y), dtype=bool)
    improves[1:] = y[1:] < lowest_so_far[:-1]
    hull: list[tuple[Any, Any]] = []
    # Python numbers: integers that never overflow.
    for point in zip(x[improves].tolist(), y[improves].tolist(), strict=True):
        while len(hull) > 1 and not _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return [x for x, _ in hull], [y for _, y in hull]


def _turns_left(a: tuple[Any, Any], b: tuple[Any, Any], c: tuple[Any, Any]) -> bool:
    turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return bool(turn > 0)


def mean_hull(hulls: Sequence[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the vertices of the hull whose least λx + y is the mean of those of all ``hulls``.

    It has the edges of all of them, shortened, in the order of their slopes.

    Parameters
    ----------
    hulls
        x ascending from 0 and y descending to 0, and the slopes between them, descending.
    """
    slopes = np.concatenate([between for _, _, between in hulls])
    order = np.argsort(-slopes, kind="stable")
    starts = np.flatnonzero(np.diff(slopes[order], prepend=np.nan) != 0)
    steps = []
    for i in range(2):
        edges = np.concatenate([np.abs(np.diff(hull[i])) for hull in hulls])[order]
        steps.append(np.add.reduceat(edges, starts) if len(starts) else edges)
    width = math.fsum(x[-1] for x, _, _ in hulls) / len(hulls)
    height = math.fsum(y[0] for _, y, _ in hulls) / len(hulls)
    return _climb(steps[0], width), _climb(steps[1][::-1], height)[::-1]


def _climb(steps: Floats, height: float) -> Floats:
    """Rise from 0 to exactly ``height`` by steps in this proportion."""
    climbed = np.concatenate([[0.0], np.cumsum(steps)])
    return climbed / climbed[-1] * height if climbed[-1] > 0 else climbed


def swept_area(f: Floats, g: Floats, low: Floats, high: Floats) -> Floats:
    """Area under the curve between the rays λ = low and λ = high, where (f, g) is optimal.

    ½[f²λ + 2fg ln λ − g²/λ] between the two, written as three terms that are never negative. The
    end λ = 0 is only reached with g = 0 and λ = ∞ only with f = 0, where these terms vanish.

    Parameters
    ----------
    f, g, low, high
        Arrays of one shape, one entry a piece.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rectangle = np.where(f > 0, f**2 * (high - low), 0.0)
        middle = np.where((f > 0) & (g > 0), 2 * f * g * np.log(high / low), 0.0)
        inverse = np.where(g > 0, g**2 * (1 / low - 1 / high), 0.0)
    return 0.5 * (rectangle + middle + inverse)
