"""Rows that are compared among themselves: every pair meets once, though no worker holds all.

The rows are cut into groups. Each group is compared within itself first; then every two groups meet
once, and both are told. How far the k-th nearest was so far is all that a row has to be told about:
what is beyond is of no interest, and soon nearly everything is.
"""

import math

_GROUPS = 4  # at least, if that is worth the way
_FEWEST_GROUPS = 3
_PAIRS_PER_WORKER = 3
_FEWEST_PRODUCTS = 10**10  # of two groups: below it the way takes longer than the work
_DEEPEST = 64  # lists that are sent from worker to worker
_PER_NEIGHBOR = 8192  # products that take as long as keeping a neighbour
_TEST = 32  # features that take as long as the test of a pair


def number_of_groups(
    n_rows: int, n_features: int, depth: int, most_rows: int, memory: int, n_workers: int
) -> int | None:
    """Return into how many groups to cut; None where to meet once does not pay.

    Parameters
    ----------
    depth
        Neighbours that are looked for.
    most_rows
        Rows of a group, at most.
    memory
        Bytes of a worker, which the lists of one group from all others must fit into.
    """
    if depth > _DEEPEST or 8 * n_rows * depth > memory:
        return None
    fewest = max(
        _PER_NEIGHBOR * depth / (n_features + _TEST), math.sqrt(_FEWEST_PRODUCTS / n_features)
    )
    wanted = _GROUPS
    while wanted * (wanted - 1) // 2 < _PAIRS_PER_WORKER * n_workers:
        wanted += 1
    fitting = -(-n_rows // most_rows)
    n_groups = max(fitting, min(wanted, int(n_rows / fewest)))
    return n_groups if _FEWEST_GROUPS <= n_groups <= n_rows / fewest else None


def pairs_of_groups(n_groups: int) -> list[tuple[int, int]]:
    """Every two groups, those of one group after each other: a worker may have it at hand still."""
    return [(i, j) for i in range(n_groups) for j in range(i + 1, n_groups)]
