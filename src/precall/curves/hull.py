"""The lower convex hull of error rates, and areas under the precision–recall curve it defines.

On the piece of the curve where the hull vertex (f, g) = (fpr, fnr) is optimal, precision is
α = λf + g and recall β = α/λ. The region under the curve, swept by the ray α = λβ, grows by
½β² dλ, so every area is a sum of ½ ∫ (f + g/λ)² dλ.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LARGEST_EXACT = 2**30  # products of differences fit 64 bits


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
    x, y = _thinned(x[improves], y[improves])
    hull: list[tuple[Any, Any]] = []
    # Python numbers: integers that never overflow.
    for c in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]):  # turns left
                break
            hull.pop()
        hull.append(c)
    return [x for x, _ in hull], [y for _, y in hull]


def _thinned(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Drop integer points, x ascending, on or above the chord of the two beside them.

    None of these is a vertex, whoever else is dropped. Products of larger integers would overflow,
    those of other numbers are rounded.
    """
    is_exact = x.dtype.kind == y.dtype.kind == "i" and len(x) > 0
    if not is_exact or max(np.abs(x).max(), np.abs(y).max()) >= _LARGEST_EXACT:
        return x, y
    while len(x) > 2:
        (dx, dy), (wide, high) = (np.diff(x), np.diff(y)), (x[2:] - x[:-2], y[2:] - y[:-2])
        turns_left = np.concatenate([[True], dx[:-1] * high > dy[:-1] * wide, [True]])
        if turns_left.all():
            break
        x, y = x[turns_left], y[turns_left]
    return x, y


def mean_hull(hulls: Sequence[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the vertices of the hull whose least λx + y is the mean of those of all ``hulls``.

    It has the edges of all of them, shortened, in the order of their slopes. Each is given as x
    ascending from 0, y descending to 0, and the slopes between them, descending.
    """
    slopes = np.concatenate([between for _, _, between in hulls])
    order = np.argsort(-slopes, kind="stable")
    starts = np.flatnonzero(np.diff(slopes[order], prepend=np.nan) != 0)
    edges = [np.concatenate([np.abs(np.diff(hull[i])) for hull in hulls])[order] for i in range(2)]
    steps = [np.add.reduceat(lengths, starts) for lengths in edges]
    width = math.fsum(x[-1] for x, _, _ in hulls) / len(hulls)
    height = math.fsum(y[0] for _, y, _ in hulls) / len(hulls)
    return _climb(steps[0], width), _climb(steps[1][::-1], height)[::-1]


def _climb(steps: Floats, height: float) -> Floats:
    """Rise from 0 to exactly ``height`` by steps in this proportion."""
    climbed = np.concatenate([[0.0], np.cumsum(steps)])
    return climbed / climbed[-1] * height if climbed[-1] > 0 else climbed


def swept_area(f: Floats, g: Floats, low: Floats, high: Floats) -> Floats:
    """Area under each piece of the curve: between the rays λ = low and λ = high (f, g) is optimal.

    ½[f²λ + 2fg ln λ − g²/λ] between the two, written as three terms that are never negative. The
    end λ = 0 is only reached with g = 0 and λ = ∞ only with f = 0, where these terms vanish.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rectangle = np.where(f > 0, f**2 * (high - low), 0.0)
        middle = np.where((f > 0) & (g > 0), 2 * f * g * np.log(high / low), 0.0)
        inverse = np.where(g > 0, g**2 * (1 / low - 1 / high), 0.0)
    return 0.5 * (rectangle + middle + inverse)


def ray_sweeping(area: float, f: float, g: float, low: float, high: float) -> float:
    """Return the λ up to which the piece (f, g) sweeps ``area`` from the ray ``low`` on."""
    if g == 0:
        return min(low + 2 * area / f**2, high)
    if f == 0:
        rest = 1 / low - 2 * area / g**2
        return min(1 / rest, high) if rest > 0 else high

    def excess(lam: float) -> float:  # swept_area of one piece
        middle = 2 * f * g * math.log(lam / low)
        return (f**2 * (lam - low) + middle + g**2 * (1 / low - 1 / lam)) / 2 - area

    if excess(high) <= 0:  # by rounding alone
        return high
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-300))
