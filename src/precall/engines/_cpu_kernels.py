"""The loops of the CPU engine: collect the nearest, count the near, settle the doubtful.

Everything here is compiled by Numba without the interpreter lock, one call a chunk of queries, so
that chunks run in parallel threads. Kernels know rows, integers and radii; nothing else.

Names: *queries* are rows of packed ``a``, *references* rows of packed ``b``; ``Q`` is the integer
squared distance of two rows on the grid (see ``_grid``), exact; thresholds are squared radii.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines._simd_tiles import lowest_bit, popcount
from precall.engines._tiles import MAX_LIMIT, MIN_LIMIT, tile_hits

__all__ = [
    "Candidates",
    "References",
    "Thresholds",
    "collect_nearest",
    "count_cross",
    "count_near",
    "integer_limits",
    "kth_distances",
]

_LARGEST_Q = 2**31 - 8  # no two rows on the grid are farther apart
_UNKNOWN = -1
_FIRST_GUESS, _GUESS_AGAIN = 1, 4  # panels seen
_CROWDED = 8  # of 32 pairs


class References(NamedTuple):
    """The references of one class, as stored rows of a base array."""

    base: Any  # (n_stored, d) float32 or float64
    near: Any  # (n_near,) those on the grid, in the order in which they are packed
    far: Any  # (n_far,) those too far out for the grid


class Candidates(NamedTuple):
    """What :func:`collect_nearest` found for each query."""

    distances: Any  # (n_queries, capacity) int32: Q
    indices: Any  # (n_queries, capacity) int32: which of the near references
    sizes: Any  # (n_queries,) how many; _UNKNOWN where they were too many to keep


class Thresholds(NamedTuple):
    """Squared radii of several balls at once."""

    of_query: Any  # (n_balls, n_queries)
    of_near: Any  # (n_balls, n_near)
    of_far: Any  # (n_balls, n_far)


# ---------------------------------------------------------------------------------------------
# Distances


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _fast_squared(x, y):
    """Squared distance, added in whatever order is fastest: within ``Slack`` of the canonical."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = np.float64(x[j]) - np.float64(y[j])
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def _canonical_squared(x, y):
    """Squared distance as defined: added one by one in index order."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = np.float64(x[j]) - np.float64(y[j])
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def _is_within(x, y, threshold, relative, absolute):
    """Whether the canonical squared distance is at most ``threshold``."""
    fast = _fast_squared(x, y)
    doubt = relative * fast + absolute
    if fast + doubt < threshold:
        return True
    if fast - doubt > threshold:
        return False
    return _canonical_squared(x, y) <= threshold


# ---------------------------------------------------------------------------------------------
# Integer limits


@njit(cache=True, nogil=True)
def integer_limits(threshold, error, step, relative, absolute):
    """Return (inner, outer): Q ≤ inner proves a pair to be within, Q > outer to be outside.

    ``error`` bounds ρ + ρ′ of the pair, in steps. From (1), widened by the rounding of the
    canonical distance: D ≤ R holds if s·√Q + ρ + ρ′ ≤ R and fails if s·√Q − ρ − ρ′ > R.
    """
    if threshold < 0.0:
        return -1, -1
    if error == 0.0:  # everything on the grid: the canonical distance is s²·Q itself
        limit = min(threshold / step / step, float(_LARGEST_Q))
        return math.floor(limit), math.floor(limit)
    widest = (math.sqrt(threshold + absolute) * (1 + relative)) / step + error
    inmost = (math.sqrt(max(threshold - absolute, 0.0)) * (1 - relative)) / step - error
    outer = widest * widest * (1 + relative) + 1.0
    outer = _LARGEST_Q if not outer < _LARGEST_Q else int(outer)
    if not inmost > 0.0:
        return -1, outer
    inner = min(inmost * inmost * (1 - relative) - 1.0, float(_LARGEST_Q))
    return math.floor(inner), outer


@njit(cache=True, nogil=True)
def _clip_limit(limit):
    return np.int32(min(max(limit, MIN_LIMIT), MAX_LIMIT))


# ---------------------------------------------------------------------------------------------
# Sweep 1: the nearest references of each query


@njit(cache=True, nogil=True)
def _count_at_most(distances, inner, outer):
    """How many of some Q are within each of two limits."""
    n_inner, n_outer = 0, 0
    for c in range(len(distances)):
        n_inner += distances[c] <= inner
        n_outer += distances[c] <= outer
    return n_inner, n_outer


@njit(cache=True, nogil=True)
def _bisect(distances, k, high, precision):
    """A Q that at least ``k`` of ``distances`` are within, at most ``precision`` too large.

    ``high`` must be such a Q. Bisection: counting is done by vectors, partitioning would not be.
    """
    low = np.int32(0)
    while high - low > precision:
        middle = np.int32(low + ((high - low) >> 1))
        n_within = 0
        for t in range(len(distances)):
            n_within += distances[t] <= middle
        if n_within >= k:
            high = middle
        else:
            low = np.int32(middle + 1)
    return np.int64(high)


@njit(cache=True, nogil=True)
def _kth_smallest(distances, k):
    """The k-th smallest Q."""
    return _bisect(distances, k, np.int32(distances.max()), 0)


@njit(cache=True, nogil=True)
def _widened(kth, error, relative):
    """Largest Q of a pair that may be as near as one with Q = ``kth``: both may err, either way."""
    if error == 0.0:
        return kth
    root = (math.sqrt(float(kth)) + 2.0 * error) * (1.0 + 4.0 * relative)
    return math.floor(root * root) + 1 if root * root < _LARGEST_Q else _LARGEST_Q


@njit(cache=True, nogil=True)
def _narrowed(kth, error, relative):
    """Largest Q of a pair that is surely nearer than one with Q = ``kth``."""
    if error == 0.0:
        return kth - 1
    root = (math.sqrt(float(kth)) - 2.0 * error) * (1.0 - 4.0 * relative)
    return math.floor(root * root) - 1 if root > 0.0 else -1


@njit(cache=True, nogil=True)
def _shrink(distances, indices, size, depth, error, relative):
    """Drop candidates that ``depth`` others are surely nearer than.

    Without any error Q orders pairs as the canonical distance does, and ties are worth the same:
    then only as many as make up ``depth`` are kept. Returns how many are left, and the largest Q
    that can still matter.
    """
    kth = _kth_smallest(distances[:size], depth)
    limit, n_ties = _widened(kth, error, relative), size
    if error == 0.0:
        n_ties = depth - _count_at_most(distances[:size], kth - 1, kth - 1)[0]
    kept = 0
    for t in range(size):
        if distances[t] == limit:
            n_ties -= 1
        if distances[t] < limit or (distances[t] == limit and n_ties >= 0):
            distances[kept], indices[kept] = distances[t], indices[t]
            kept += 1
    return kept, limit


@njit(cache=True, nogil=True)
def _guess_limit(distances, depth, share, limit, error, relative):
    """Guess from a random ``share`` of the references how far all that matter will reach."""
    expected = depth * share
    rank = min(math.ceil(expected + 3.0 * math.sqrt(expected) + 3.0), depth)
    if rank > len(distances):
        return limit
    roughly = _bisect(distances, rank, np.int32(limit), limit >> 8)
    return min(limit, _widened(roughly, error, relative))


@njit(cache=True, nogil=True)
def collect_nearest(
    kernel, a, b, row_norm, col_norm, never, n_references, error, depth, relative, found
):
    """Collect for each query all references that may be among its ``depth`` nearest.

    References must be in random order: now and then the limit of each query is guessed from those
    seen so far, which spares it most of the candidates. A guess that turns out too small is noticed
    at the end.

    Parameters
    ----------
    row_norm, col_norm, never
        ‖q‖² of queries and references, and limits that nothing satisfies, padded to panels.
    error
        (n_queries,) largest ρ + ρ′ of any pair of the query, in steps.
    found
        Output.
    """
    distances, indices, sizes = found
    n_rows, n_cols, n_panels = a.shape[2], b.shape[2], b.shape[0]
    n_queries, capacity = distances.shape
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    row_limit = np.full(row_norm.shape[0], MIN_LIMIT, dtype=np.int32)
    row_limit[:n_queries] = MAX_LIMIT
    limits = np.full(n_queries, _LARGEST_Q, dtype=np.int64)
    sizes[:] = 0
    next_guess = _FIRST_GUESS
    for b_panel in range(n_panels):
        first_col = b_panel * n_cols
        if b_panel == next_guess:
            next_guess *= _GUESS_AGAIN
            for i in range(n_queries):
                if sizes[i] >= 0:
                    seen, share = distances[i, : sizes[i]], b_panel / n_panels
                    limits[i] = _guess_limit(seen, depth, share, limits[i], error[i], relative)
                    row_limit[i] = _clip_limit(limits[i] - row_norm[i])
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
                    j = first_col + c
                    distances[i, sizes[i]] = np.int32(row_norm[i] + col_norm[j] - 2 * dots[r, c])
                    indices[i, sizes[i]] = j
                    sizes[i] += 1
                    if sizes[i] == capacity:
                        kept, limit = _shrink(
                            distances[i], indices[i], capacity, depth, error[i], relative
                        )
                        sizes[i] = kept if kept <= capacity // 2 else _UNKNOWN
                        limits[i] = min(limits[i], limit)
                        row_limit[i] = _clip_limit(limits[i] - row_norm[i])
                        if sizes[i] == _UNKNOWN:
                            row_limit[i] = MIN_LIMIT
                            break
    for i in range(n_queries):
        if sizes[i] == _UNKNOWN or sizes[i] == n_references:
            continue
        if sizes[i] < depth:
            sizes[i] = _UNKNOWN
            continue
        kth = _kth_smallest(distances[i, : sizes[i]], depth)
        if _widened(kth, error[i], relative) > limits[i]:
            sizes[i] = _UNKNOWN


@njit(cache=True, nogil=True)
def _exact_kth(query, classes, fast, codes, k, relative, absolute):
    """Canonical k-th smallest squared distance of candidates with the given fast distances.

    Only candidates whose fast distance cannot be told from the k-th are measured canonically. A
    code is twice a stored row, plus its class.
    """
    if len(fast) == 1:
        return _canonical_squared(query, classes[codes[0] & 1].base[codes[0] >> 1])
    order = np.argsort(fast)
    middle = fast[order[k - 1]]
    lowest = middle - (relative * middle + absolute)
    highest = middle + (relative * middle + absolute)
    low, high = k - 1, k
    while low > 0 and fast[order[low - 1]] * (1 + relative) + absolute >= lowest:
        low -= 1
    while high < len(fast) and fast[order[high]] * (1 - relative) - absolute <= highest:
        high += 1
    exact = np.empty(high - low)
    for t in range(low, high):
        code = codes[order[t]]
        exact[t - low] = _canonical_squared(query, classes[code & 1].base[code >> 1])
    exact.sort()
    return exact[k - 1 - low]


@njit(cache=True, nogil=True)
def _kth_by_grid(query, classes, distances, codes, k, error, relative, absolute, fast, doubtful):
    """Canonical k-th smallest squared distance of candidates with the given Q.

    Only candidates that Q cannot tell from the k-th are measured at all. A code is twice an index
    among the near references, plus the class.
    """
    kth = _kth_smallest(distances, k)
    below, highest = _narrowed(kth, error, relative), _widened(kth, error, relative)
    n_below, n = 0, 0
    for t in range(len(distances)):
        if distances[t] <= below:
            n_below += 1
        elif distances[t] <= highest:
            label = codes[t] & 1
            stored = classes[label].near[codes[t] >> 1]
            row = classes[label].base[stored]
            if error == 0.0:  # all of them tie: any will do
                return _canonical_squared(query, row)
            fast[n], doubtful[n] = _fast_squared(query, row), 2 * stored + label
            n += 1
    return _exact_kth(query, classes, fast[:n], doubtful[:n], k - n_below, relative, absolute)


@njit(cache=True, nogil=True)
def _measure(query, references, found, i, label, fast, codes, n):
    """Append the fast distances to all references of a class that may matter to query ``i``.

    These are its candidates, or all references on the grid where the candidates are unknown, and
    all that are off the grid. Returns how many distances there are then.
    """
    size = found.sizes[i]
    n_near = len(references.near) if size == _UNKNOWN else size
    for t in range(n_near + len(references.far)):
        if t >= n_near:
            row = references.far[t - n_near]
        elif size == _UNKNOWN:
            row = references.near[t]
        else:
            row = references.near[found.indices[i, t]]
        fast[n], codes[n] = _fast_squared(query, references.base[row]), 2 * row + label
        n += 1
    return n


@njit(cache=True, nogil=True)
def kth_distances(queries, rows, classes, found, ks, error, relative, absolute, out):
    """Canonical squared distances to the k-th nearest of class 0, of class 1 and of both.

    Parameters
    ----------
    queries, rows
        Base array, and the stored row of each query.
    classes, found
        Two of :class:`References`, and what was found among each.
    ks
        Which neighbours to tell.
    error
        (n_queries,) largest ρ + ρ′ of any pair of the query, in steps.
    out
        Output, (n_queries, 3, n_ks); inf where there are fewer. With a second axis of length 1 only
        class 0 is looked at.
    """
    n_members = np.array([len(r.near) + len(r.far) for r in classes])
    fast, doubtful = np.empty(n_members.sum()), np.empty(n_members.sum(), dtype=np.int64)
    capacity = found[0].distances.shape[1] + found[1].distances.shape[1]
    distances, codes = np.empty(capacity, np.int32), np.empty(capacity, np.int64)
    out[:] = np.inf
    for i in range(len(rows)):
        query = queries[rows[i]]
        for which in range(out.shape[1]):
            start, stop = (0, 2) if which == 2 else (which, which + 1)
            is_on_grid, n = True, 0
            for label in range(start, stop):
                is_on_grid &= found[label].sizes[i] != _UNKNOWN and len(classes[label].far) == 0
                for t in range(found[label].sizes[i]):
                    distances[n] = found[label].distances[i, t]
                    codes[n] = 2 * found[label].indices[i, t] + label
                    n += 1
            if not is_on_grid:
                n = 0
                for label in range(start, stop):
                    n = _measure(query, classes[label], found[label], i, label, fast, doubtful, n)
            for t in range(len(ks)):
                if ks[t] > n_members[start:stop].sum():
                    continue
                if is_on_grid:
                    out[i, which, t] = _kth_by_grid(
                        query, classes, distances[:n], codes[:n], ks[t], error[i],
                        relative, absolute, fast, doubtful,
                    )  # fmt: skip
                else:
                    out[i, which, t] = _exact_kth(
                        query, classes, fast[:n], doubtful[:n], ks[t], relative, absolute
                    )


# ---------------------------------------------------------------------------------------------
# Sweep 2: the references near each query


@njit(cache=True, nogil=True)
def _all_limits(thresholds, errors, other_error, step, relative, absolute):
    """Inner and outer limits of Q for each centre and ball: two int32 arrays (n, n_balls)."""
    inner = np.empty((thresholds.shape[1], thresholds.shape[0]), dtype=np.int32)
    outer = np.empty_like(inner)
    for i in range(inner.shape[0]):
        for ball in range(inner.shape[1]):
            inner[i, ball], outer[i, ball] = integer_limits(
                thresholds[ball, i], errors[i] + other_error, step, relative, absolute
            )
    return inner, outer


@njit(cache=True, nogil=True)
def _tile_limits(outer, norms):
    """The loosest limit of each row, less its ‖q‖² and padded, as ``tile_hits`` wants it."""
    limits = np.full(len(norms), MIN_LIMIT, dtype=np.int32)
    for i in range(outer.shape[0]):
        for ball in range(outer.shape[1]):
            limits[i] = max(limits[i], _clip_limit(np.int64(outer[i, ball]) - norms[i]))
    return limits


@njit(cache=True, nogil=True)
def count_near(
    kernel, a, b, row_norm, col_norm, row_error, col_error, step, relative, absolute,
    queries, rows, references, thresholds, counts,
):  # fmt: skip
    """Count the references near each query, for several balls at once.

    Parameters
    ----------
    row_norm, col_norm
        ‖q‖² of queries and near references, padded to panels.
    row_error, col_error
        ρ of each, in steps, without padding.
    queries, rows, references
        The rows themselves, for pairs that the integers leave open.
    thresholds
        Balls around the queries in ``of_query``, balls around the references in the others.
    counts
        Output, (n_queries, n_query_balls + n_reference_balls).
    """
    n_rows, n_cols = a.shape[2], b.shape[2]
    n_query_balls, n_queries = thresholds.of_query.shape
    n_reference_balls, n_near = thresholds.of_near.shape
    largest_col_error = col_error.max() if n_near else 0.0
    row_inner, row_outer = _all_limits(
        thresholds.of_query, row_error, largest_col_error, step, relative, absolute
    )
    col_inner, col_outer = _all_limits(
        thresholds.of_near, col_error, row_error.max(), step, relative, absolute
    )
    row_limit, col_limit = _tile_limits(row_outer, row_norm), _tile_limits(col_outer, col_norm)
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    scratch = np.empty(n_cols, dtype=np.int32)
    counts[:] = 0
    for b_panel in range(b.shape[0]):
        first_col = b_panel * n_cols
        n_valid = min(n_cols, n_near - first_col)
        for a_panel in range(a.shape[0]):
            if not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit,
                dots, masks,
            ):  # fmt: skip
                continue
            for r in range(n_rows):
                mask = masks[r]
                if mask == 0:
                    continue
                i = a_panel * n_rows + r
                distances = scratch[:n_valid]
                for c in range(n_valid):
                    distances[c] = np.int32(row_norm[i] + col_norm[first_col + c] - 2 * dots[r, c])
                # Where most references are inside, counting whole vectors is faster.
                is_crowded = popcount(mask) > _CROWDED
                if is_crowded:
                    for ball in range(n_query_balls):
                        n_inner, n_outer = _count_at_most(
                            distances, row_inner[i, ball], row_outer[i, ball]
                        )
                        counts[i, ball] += n_inner
                        if n_outer == n_inner:
                            continue
                        for c in range(n_valid):
                            if row_inner[i, ball] < distances[c] <= row_outer[i, ball]:
                                counts[i, ball] += _is_within(
                                    queries[rows[i]],
                                    references.base[references.near[first_col + c]],
                                    thresholds.of_query[ball, i], relative, absolute,
                                )  # fmt: skip
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j = first_col + c
                    distance = distances[c]
                    if not is_crowded:
                        for ball in range(n_query_balls):
                            if distance <= row_inner[i, ball]:
                                counts[i, ball] += 1
                            elif distance <= row_outer[i, ball]:
                                counts[i, ball] += _is_within(
                                    queries[rows[i]], references.base[references.near[j]],
                                    thresholds.of_query[ball, i], relative, absolute,
                                )  # fmt: skip
                    for ball in range(n_reference_balls):
                        if distance <= col_inner[j, ball]:
                            counts[i, n_query_balls + ball] += 1
                        elif distance <= col_outer[j, ball]:
                            counts[i, n_query_balls + ball] += _is_within(
                                queries[rows[i]], references.base[references.near[j]],
                                thresholds.of_near[ball, j], relative, absolute,
                            )  # fmt: skip
    for i in range(n_queries):
        query = queries[rows[i]]
        for t in range(len(references.far)):
            reference = references.base[references.far[t]]
            for ball in range(n_query_balls):
                counts[i, ball] += _is_within(
                    query, reference, thresholds.of_query[ball, i], relative, absolute
                )
            for ball in range(n_reference_balls):
                counts[i, n_query_balls + ball] += _is_within(
                    query, reference, thresholds.of_far[ball, t], relative, absolute
                )


# ---------------------------------------------------------------------------------------------
# Both sides at once: who is in whose ball


@njit(cache=True, nogil=True)
def _record(in_row_ball, in_col_ball, by_row, by_col):
    """Count one pair: entry 0 is "balls of others that hold me", entry 1 "others in my ball"."""
    by_row[0] += in_col_ball
    by_row[1] += in_row_ball
    by_col[0] += in_row_ball
    by_col[1] += in_col_ball


@njit(cache=True, nogil=True)
def count_cross(
    kernel, a, b, row_norm, col_norm, row_error, col_error, step, relative, absolute,
    queries, rows, references, thresholds, by_query, by_near, by_far,
):  # fmt: skip
    """Count, for pairs of a query and a reference, both who is in the other's ball.

    Parameters
    ----------
    thresholds
        The own ball of every query and of every reference, for several k.
    by_query, by_near, by_far
        Output, added to: (n, n_balls, 2), see :func:`_record`.

    The others are those of :func:`count_near`.
    """
    n_rows, n_cols = a.shape[2], b.shape[2]
    n_balls, n_queries = thresholds.of_query.shape
    largest_col_error = col_error.max() if len(col_error) else 0.0
    row_inner, row_outer = _all_limits(
        thresholds.of_query, row_error, largest_col_error, step, relative, absolute
    )
    col_inner, col_outer = _all_limits(
        thresholds.of_near, col_error, row_error.max(), step, relative, absolute
    )
    row_limit, col_limit = _tile_limits(row_outer, row_norm), _tile_limits(col_outer, col_norm)
    dots = np.empty((n_rows, n_cols), dtype=np.int32)
    masks = np.empty(n_rows, dtype=np.uint32)
    for b_panel in range(b.shape[0]):
        first_col = b_panel * n_cols
        for a_panel in range(a.shape[0]):
            if not tile_hits(
                kernel, a, a_panel, b, b_panel, row_limit, row_norm, col_norm, col_limit,
                dots, masks,
            ):  # fmt: skip
                continue
            for r in range(n_rows):
                mask = masks[r]
                i = a_panel * n_rows + r
                while mask:
                    c = lowest_bit(mask)
                    mask &= np.uint32(mask - np.uint32(1))
                    j = first_col + c
                    distance = np.int64(row_norm[i]) + col_norm[j] - 2 * np.int64(dots[r, c])
                    for ball in range(n_balls):
                        in_row_ball = distance <= row_inner[i, ball]
                        in_col_ball = distance <= col_inner[j, ball]
                        if not in_row_ball and distance <= row_outer[i, ball]:
                            in_row_ball = _is_within(
                                queries[rows[i]], references.base[references.near[j]],
                                thresholds.of_query[ball, i], relative, absolute,
                            )  # fmt: skip
                        if not in_col_ball and distance <= col_outer[j, ball]:
                            in_col_ball = _is_within(
                                queries[rows[i]], references.base[references.near[j]],
                                thresholds.of_near[ball, j], relative, absolute,
                            )  # fmt: skip
                        _record(in_row_ball, in_col_ball, by_query[i, ball], by_near[j, ball])
    for i in range(n_queries):
        for t in range(len(references.far)):
            query, reference = queries[rows[i]], references.base[references.far[t]]
            for ball in range(n_balls):
                in_row_ball = _is_within(
                    query, reference, thresholds.of_query[ball, i], relative, absolute
                )
                in_col_ball = _is_within(
                    query, reference, thresholds.of_far[ball, t], relative, absolute
                )
                _record(in_row_ball, in_col_ball, by_query[i, ball], by_far[t, ball])
