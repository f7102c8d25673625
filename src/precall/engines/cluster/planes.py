"""Rows that are compared among themselves: every pair meets once, though no worker holds all.

The rows are cut into q² groups, q prime, which are the points of an affine plane: its q² + q lines
hold q points each, and any two points are on exactly one of them (Bose 1938). The groups of a line
are compared among themselves, so that every pair of rows meets once, but for those of one group,
which meet on every line through it: 1 + 1/q of the work that there is, where the engine takes each
pair of a set for both of its rows. These repetitions are taken out again before lists are merged.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from precall.engines.answers import Floats, Nearest

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89)
_USUAL = 5  # every line through a group makes a list for it: few long lines are better
_LINES_PER_WORKER = 4
_FEWEST_PRODUCTS = 10**10  # of a line: below it the way takes longer than the work
_DEEPEST = 64  # lists that are sent from worker to worker
_PER_NEIGHBOR = 8192  # products that take as long as keeping a neighbour
_TEST = 32  # features that take as long as the test of a pair


def order_of_plane(
    n_rows: int, n_features: int, depth: int, most_rows: int, n_workers: int
) -> int | None:
    """Return q such that lines fit into ``most_rows``; None where no plane pays."""
    if depth > _DEEPEST:
        return None
    fewest = max(
        _PER_NEIGHBOR * depth / (n_features + _TEST), math.sqrt(2 * _FEWEST_PRODUCTS / n_features)
    )
    fitting = [q for q in _PRIMES if n_rows / q >= fewest and -(-n_rows // q) < most_rows]
    usual = [q for q in fitting if q >= _USUAL and q * q + q >= _LINES_PER_WORKER * n_workers]
    return usual[0] if usual else fitting[-1] if fitting else None


def lines(q: int) -> Iterator[list[int]]:
    """Iterate over the lines of the affine plane of prime order q: the numbers of their points."""
    for offset in range(q):
        yield [q * offset + y for y in range(q)]
    for slope in range(q):
        for offset in range(q):
            yield [q * x + (slope * x + offset) % q for x in range(q)]


def columns(q: int, n_columns: int) -> list[list[int]]:
    """Cut the points into runs of at most ``n_columns`` that follow each other."""
    size = max(1, min(n_columns, q))
    return [list(range(start, min(start + size, q * q))) for start in range(0, q * q, size)]


def merged(own: Nearest, others: Sequence[Nearest]) -> Nearest:
    """Merge what a group found on all lines through it; on each it met itself, too.

    The smallest distances on a line, less those within the group that are among them, hold all that
    belong to the smallest of all lines: fewer than ``depth`` are smaller anywhere. Where a tie at
    the end of a list takes out too many, the list of the group itself has as many of the same.
    """
    depth = own.squared.shape[1]
    rest = [_without(of.squared, own.squared) for of in others]
    return Nearest.among(np.concatenate([own.squared, *rest], axis=1), depth)


def _without(squared: Floats, own: Floats) -> Floats:
    """Replace values of sorted rows by inf, each once for every time that it is in ``own``."""
    found = squared.copy()
    at = np.zeros(len(squared), np.intp)  # how far each row of ``squared`` was looked at
    rows, depth = np.arange(len(squared)), squared.shape[1]
    for value in own.T:
        while True:
            is_before = (at < depth) & (squared[rows, np.minimum(at, depth - 1)] < value)
            if not is_before.any():
                break
            at += is_before
        is_same = (at < depth) & (squared[rows, np.minimum(at, depth - 1)] == value)
        found[rows[is_same], at[is_same]] = np.inf
        at += is_same
    return found
