"""Between the classes, on the CPU: who is nearest, how realistic, how well covered.

Queries are all samples of one class, references all of the other.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines._cpu_pairs import (
    LARGEST_Q,
    canonical_squared,
    clip_limit,
    integer_limits,
)
from precall.engines._simd_tiles import lowest_bit
from precall.engines._tiles import MAX_LIMIT, MIN_LIMIT, tile_hits

__all__ = ["Best", "Places", "Realism", "cover_softly", "find_best"]

_SURELY_COVERED = 2.0**-60  # 1 less this is 1
_SOFT_CAPACITY = 4096


class Places(NamedTuple):
    """Where references stand in their class."""

    near: Any  # (n_near,)
    far: Any  # (n_far,)


class Realism(NamedTuple):
    """Squared radii that realism is measured by; negative where a reference is left out."""

    of_near: Any  # (n_ks, n_near)
    of_far: Any  # (n_ks, n_far)
    largest: Any  # (n_ks,) of both
    offset: float  # added to squared distances


class Best(NamedTuple):
    """The best seen so far for each query."""

    nearest: Any  # (n_queries,) place of the nearest reference, the first if several
    squared: Any  # (n_queries,) squared distance to it
    holds: Any  # (n_queries, n_balls) whether its ball, or that of one as near, holds the query
    realism: Any  # (n_queries, n_ks) squared
    limits: Any  # (n_queries,) largest Q of a pair that may be as good


@njit(cache=True, nogil=True)
def _widest(best, i, realism, error, bound):
    """Largest Q of a pair that may be as near as the nearest, or as realistic as the best."""
    limit = integer_limits(best.squared[i], error, bound.step, bound.relative, bound.absolute)[1]
    for ball in range(best.realism.shape[1]):
        threshold = np.inf
        if best.realism[i, ball] > 0.0:
            threshold = realism.largest[ball] / best.realism[i, ball] * (1.0 + 1e-12)
        widest = integer_limits(threshold, error, bound.step, bound.relative, bound.absolute)[1]
        limit = max(limit, widest)
    return limit


@njit(cache=True, nogil=True)
def _compare(best, i, squared, place, radii, thresholds, j, offset):
    """Compare a reference with the best of query ``i``; whether it was better in any way."""
    is_better = squared < best.squared[i]
    if is_better:
        best.squared[i], best.nearest[i] = squared, place
        best.holds[i] = False
    if squared == best.squared[i]:
        best.nearest[i] = min(best.nearest[i], place)
        for ball in range(best.holds.shape[1]):
            best.holds[i, ball] |= squared <= thresholds[ball, j]
    for ball in range(best.realism.shape[1]):
        radius = radii[ball, j]
        if radius < 0.0:
            continue
        if squared + offset > 0.0:
            ratio = radius / (squared + offset)
        else:
            ratio = np.inf if radius > 0.0 else 1.0
        if ratio > best.realism[i, ball]:
            best.realism[i, ball] = ratio
            is_better = True
    return is_better


@njit(cache=True, nogil=True)
def _compare_near(queries, i, references, j, places, thresholds, realism, bound, best):
    """Measure a pair that may be better than the best of query ``i`` so far."""
    squared = canonical_squared(queries.base[queries.rows[i]], references.base[references.near[j]])
    place, offset = places.near[j], realism.offset
    if _compare(best, i, squared, place, realism.of_near, thresholds.of_near, j, offset):
        error = bound.row_error[i] + bound.largest_col_error
        best.limits[i] = _widest(best, i, realism, error, bound)


@njit(cache=True, nogil=True)
def _compare_far(queries, references, places, thresholds, realism, best):
    for i in range(len(queries.rows)):
        query = queries.base[queries.rows[i]]
        for t in range(len(references.far)):
            squared = canonical_squared(query, references.base[references.far[t]])
            _compare(
                best, i, squared, places.far[t], realism.of_far, thresholds.of_far, t,
                realism.offset,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def find_best(tiles, bound, never, queries, references, places, thresholds, realism, best):
    """Find the nearest and the most flattering reference of each query.

    Parameters
    ----------
    never
        Limits of references that nothing satisfies.
    thresholds
        Of the own balls of the references.
    best
        Output.
    """
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols, n_queries = a.shape[2], b.shape[2], len(queries.rows)
    row_limit = np.full(len(row_norm), MIN_LIMIT, np.int32)
    row_limit[:n_queries] = MAX_LIMIT
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    best.nearest[:], best.squared[:] = len(places.near) + len(places.far), np.inf
    best.holds[:], best.realism[:], best.limits[:] = False, 0.0, LARGEST_Q
    for b_panel in range(b.shape[0]):
        for a_panel in range(a.shape[0]):
            if not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, never, dots, masks
            ):
                continue
            for r in range(n_rows):
                mask = masks[r]
                i = a_panel * n_rows + r
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j = b_panel * n_cols + c
                    if row_norm[i] + col_norm[j] - 2 * dots[r, c] <= best.limits[i]:
                        _compare_near(
                            queries, i, references, j, places, thresholds, realism, bound, best
                        )
                        row_limit[i] = clip_limit(best.limits[i] - row_norm[i])
    _compare_far(queries, references, places, thresholds, realism, best)


@njit(cache=True, nogil=True)
def _distances(query, base, rows):
    """Canonical distances, four at a time: the sums of one row must wait for each other."""
    out = np.empty(len(rows))
    for start in range(0, len(rows) - 3, 4):
        a, b, c, d = rows[start], rows[start + 1], rows[start + 2], rows[start + 3]
        total_a, total_b, total_c, total_d = 0.0, 0.0, 0.0, 0.0
        for j in range(len(query)):
            value = np.float64(query[j])
            total_a += (value - np.float64(base[a, j])) * (value - np.float64(base[a, j]))
            total_b += (value - np.float64(base[b, j])) * (value - np.float64(base[b, j]))
            total_c += (value - np.float64(base[c, j])) * (value - np.float64(base[c, j]))
            total_d += (value - np.float64(base[d, j])) * (value - np.float64(base[d, j]))
        out[start], out[start + 1], out[start + 2], out[start + 3] = (
            total_a, total_b, total_c, total_d,
        )  # fmt: skip
    for t in range(len(rows) // 4 * 4, len(rows)):
        out[t] = canonical_squared(query, base[rows[t]])
    return np.sqrt(out)


@njit(cache=True, nogil=True)
def _missed(distances, radius):
    """∏ min(1, d/R), in the given order."""
    missed = 1.0
    for t in range(len(distances)):
        if distances[t] < radius:
            missed *= distances[t] / radius
        elif distances[t] == 0.0:
            missed = 0.0
    return missed


@njit(cache=True, nogil=True)
def _soft_limits(radii, row_norm, error, bound):
    """Limits of each query's tiles by radius, and with a last column that nothing meets."""
    limits = np.full((len(radii) + 1, len(row_norm)), MIN_LIMIT, dtype=np.int32)
    for a in range(len(radii)):
        for i in range(len(error)):
            outer = integer_limits(
                radii[a] * radii[a], error[i], bound.step, bound.relative, bound.absolute
            )[1]
            limits[a, i] = clip_limit(np.int64(outer) - row_norm[i])
    return limits


@njit(cache=True, nogil=True)
def cover_softly(tiles, bound, never, queries, references, places, in_order, radii, covered):
    """1 − ∏ min(1, d/R) over all references, multiplied in their own order, for several R.

    As soon as Q shows a product to be too small to matter it is left alone. In many dimensions that
    is soon: there R reaches across most of the data. The larger R, the sooner.

    Parameters
    ----------
    in_order
        (n_fit,) where each reference is stored, in the order of the class.
    radii
        (n_radii,) R, ascending.
    covered
        Output, (n_radii, n_queries).
    """
    kernel, a, b, row_norm, col_norm = tiles
    n_rows, n_cols, n_queries = a.shape[2], b.shape[2], len(queries.rows)
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    error = bound.row_error + bound.largest_col_error
    limits = _soft_limits(radii, row_norm, error, bound)
    row_limit = limits[len(radii) - 1].copy()
    distances, cols = np.empty((2, n_queries, _SOFT_CAPACITY), dtype=np.int32)
    sizes, at_most = np.zeros(n_queries, dtype=np.int64), np.ones((n_queries, len(radii)))
    n_open = np.full(n_queries, len(radii))  # radii whose product still matters, the smallest ones
    open_rows = np.array([min(n_rows, n_queries - p * n_rows) for p in range(a.shape[0])])
    scales, least = np.zeros(len(radii)), np.ones(len(radii))
    for t in range(len(radii)):
        if radii[t] > 0.0:
            scales[t] = (1.0 + 4.0 * bound.relative) * bound.step / radii[t]
            least[t] = np.sqrt(bound.absolute) / radii[t]
    for b_panel in range(b.shape[0]):
        for a_panel in range(a.shape[0]):
            if open_rows[a_panel] == 0 or not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, never, dots, masks
            ):
                continue
            for r in range(n_rows):
                mask = masks[r]
                i = a_panel * n_rows + r
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j = b_panel * n_cols + c
                    distance = np.int32(row_norm[i] + col_norm[j] - 2 * dots[r, c])
                    if sizes[i] < _SOFT_CAPACITY:
                        distances[i, sizes[i]], cols[i, sizes[i]] = distance, j
                    sizes[i] += 1
                    farthest = np.sqrt(np.float64(distance)) + error[i]
                    for t in range(n_open[i]):
                        at_most[i, t] *= min(1.0, farthest * scales[t] + least[t])
                    while n_open[i] > 0 and at_most[i, n_open[i] - 1] < _SURELY_COVERED:
                        n_open[i] -= 1
                        row_limit[i] = limits[n_open[i] - 1, i]  # the last column if none is left
                    if n_open[i] == 0:
                        open_rows[a_panel] -= 1
                        break
    covered[:] = 1.0
    for i in range(n_queries):
        if n_open[i] == 0:
            continue
        rows = in_order
        if sizes[i] <= _SOFT_CAPACITY:
            is_near = distances[i, : sizes[i]] <= np.int64(row_limit[i]) + row_norm[i]
            near = places.near[cols[i, : sizes[i]][is_near]]
            rows = in_order[np.sort(np.concatenate((near, places.far)))]
        exact = _distances(queries.base[queries.rows[i]], references.base, rows)
        for t in range(n_open[i]):
            covered[t, i] = 1.0 - _missed(exact, radii[t])
