"""What the sweeps of the CPU engine share: the rows, and how a pair of them is decided.

Names: *queries* are rows of packed ``a``, *references* rows of packed ``b``; the *code* of a pair
grows with its distance (``rulers``); thresholds are squared radii. Everything compiled here and in
the modules of the sweeps runs without the interpreter lock, one call a chunk of queries, so that
chunks run in parallel threads.
"""

from typing import Any, NamedTuple

import numpy as np

from precall.engines.cpu.rulers import Ruler
from precall.runtime.compiling import helper

_LENGTH_ERROR = 1e-9  # relative; more than any sum of squares loses
_SHARE_IN_DOUBT = 1 / 12  # of all pairs: from there on direct tiles are faster
_FEW_IN_DOUBT = 4096


class Bound(NamedTuple):
    """What is known of the error of a distance on the grid, and of a fast one."""

    row_error: Any  # (n_queries,) ρ, in steps; 0 in direct tiles
    col_error: Any  # (n_near,) ρ, in steps; 0 in direct tiles
    largest_row_error: float
    largest_col_error: float
    ruler: Ruler


class Queries(NamedTuple):
    """The queries themselves."""

    base: Any  # (n_stored, d) float32 or float64
    rows: Any  # (n_queries,) where each is stored
    lengths: Any  # (n_queries,) distance to the centre of the grid


class References(NamedTuple):
    """The references of one class themselves."""

    base: Any  # (n_stored, d) float32 or float64
    near: Any  # (n_near,) where those in tiles are stored, in the order in which they are packed
    far: Any  # (n_far,) where those are stored that are too far out for the grid, nearest first
    far_lengths: Any  # (n_far,) their distance to its centre


@helper(fastmath={"reassoc", "contract", "nsz"})
def fast_squared(x, y):
    """Squared distance, added in whatever order is fastest: within ``Slack`` of the canonical."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = np.float64(x[j]) - np.float64(y[j])
        total += difference * difference
    return total


@helper()
def canonical_squared(x, y):
    """Squared distance as defined: added one by one in index order."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = np.float64(x[j]) - np.float64(y[j])
        total += difference * difference
    return total


@helper()
def is_within_by(fast, x, y, threshold, ruler):
    """Whether the canonical squared distance, whose fast one is known, is at most ``threshold``."""
    if fast == 0.0:  # no term is above 0, in whatever order they are added
        return threshold >= 0.0
    doubt = ruler.relative * fast + ruler.absolute
    if fast + doubt < threshold:
        return True
    if fast - doubt > threshold:
        return False
    return canonical_squared(x, y) <= threshold


@helper()
def is_within(x, y, threshold, ruler):
    """Whether the canonical squared distance is at most ``threshold``."""
    return is_within_by(fast_squared(x, y), x, y, threshold, ruler)


@helper()
def is_beyond(far_length, length, distance):
    """Whether a far row is surely farther than ``distance`` from one of this length.

    By the triangle inequality.
    """
    return far_length * (1.0 - _LENGTH_ERROR) - length * (1.0 + _LENGTH_ERROR) > distance


@helper()
def are_too_many(n_in_doubt, n_pairs):
    """Whether so many pairs are left open that direct tiles will be faster."""
    return n_in_doubt > _FEW_IN_DOUBT + _SHARE_IN_DOUBT * n_pairs
