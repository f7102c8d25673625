"""What both sweeps of the CPU engine share: the rows, and how a pair of them is decided.

Names: *queries* are rows of packed ``a``, *references* rows of packed ``b``; Q is the integer
squared distance of two rows on the grid (see ``grid``), exact; thresholds are squared radii.
Everything compiled here and in the modules of the sweeps runs without the interpreter
lock, one call a chunk of queries, so that chunks run in parallel threads.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from precall.engines.cpu.tiles import MAX_LIMIT, MIN_LIMIT

LARGEST_Q = 2**31 - 8  # no two rows on the grid are farther apart


class Tiles(NamedTuple):
    """Queries and references on the grid, packed for ``tile_hits``."""

    kernel: int
    a: Any  # panels of queries
    b: Any  # panels of references
    row_norm: Any  # ‖q‖² of queries, padded to panels
    col_norm: Any  # ‖q‖² of references, padded to panels


class Bound(NamedTuple):
    """What is known of the error of a distance on the grid, and of a fast one."""

    row_error: Any  # (n_queries,) ρ, in steps
    col_error: Any  # (n_near,) ρ, in steps
    largest_row_error: float
    largest_col_error: float
    step: float
    relative: float  # see grid.Slack
    absolute: float


class Queries(NamedTuple):
    """The queries themselves."""

    base: Any  # (n_stored, d) float32 or float64
    rows: Any  # (n_queries,) where each is stored


class References(NamedTuple):
    """The references of one class themselves."""

    base: Any  # (n_stored, d) float32 or float64
    near: Any  # (n_near,) where those on the grid are stored, in the order in which they are packed
    far: Any  # (n_far,) where those are stored that are too far out for the grid


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def fast_squared(x, y):
    """Squared distance, added in whatever order is fastest: within ``Bound`` of the canonical."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = np.float64(x[j]) - np.float64(y[j])
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def canonical_squared(x, y):
    """Squared distance as defined: added one by one in index order."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = np.float64(x[j]) - np.float64(y[j])
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def is_within(x, y, threshold, bound):
    """Whether the canonical squared distance is at most ``threshold``."""
    fast = fast_squared(x, y)
    doubt = bound.relative * fast + bound.absolute
    if fast + doubt < threshold:
        return True
    if fast - doubt > threshold:
        return False
    return canonical_squared(x, y) <= threshold


@njit(cache=True, nogil=True)
def integer_limits(threshold, error, step, relative, absolute):
    """Return (inner, outer): Q ≤ inner proves a pair to be within, Q > outer to be outside.

    ``error`` bounds ρ + ρ′ of the pair, in steps. From (1), widened by the rounding of the
    canonical distance: D ≤ R holds if s·√Q + ρ + ρ′ ≤ R and fails if s·√Q − ρ − ρ′ > R.
    """
    if threshold < 0.0:
        return -1, -1
    if error == 0.0:  # everything on the grid: the canonical distance is s²·Q itself
        limit = min(threshold / step / step, float(LARGEST_Q))
        return math.floor(limit), math.floor(limit)
    widest = (math.sqrt(threshold + absolute) * (1 + relative)) / step + error
    inmost = (math.sqrt(max(threshold - absolute, 0.0)) * (1 - relative)) / step - error
    outer = widest * widest * (1 + relative) + 1.0
    outer = LARGEST_Q if not outer < LARGEST_Q else int(outer)
    if not inmost > 0.0:
        return -1, outer
    inner = min(inmost * inmost * (1 - relative) - 1.0, float(LARGEST_Q))
    return math.floor(inner), outer


@njit(cache=True, nogil=True)
def clip_limit(limit):
    """A limit as ``tile_hits`` wants it."""
    return np.int32(min(max(limit, MIN_LIMIT), MAX_LIMIT))
