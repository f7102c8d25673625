"""How far out each sample is by one test, and what all but a share ε of the references keep to."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

EPSILON = 0.005
FEWEST_OUTSIDE = 2  # so that no single outlier decides
ENOUGH = 599  # samples of which that is no more than ε


def n_outside(n: int) -> int:
    """How many of n references may lie outside.

    ⌊ε(n + 1)⌋ − 1, so that another sample of the same law is outside with a chance of at most ε;
    but at least two.
    """
    return min(n - 1, max(FEWEST_OUTSIDE, int(EPSILON * (n + 1)) - 1))


def settled_epsilon(n: int) -> float:
    """The chance that another sample of the same law is outside: more than ε if n is small."""
    return max(EPSILON, (n_outside(n) + 1) / (n + 1))


def threshold_of(of_references: Floats) -> float:
    """What all but a few references keep to."""
    rank = len(of_references) - 1 - n_outside(len(of_references))
    return float(np.partition(of_references, rank)[rank])


@dataclass(frozen=True, slots=True, eq=False)
class Outlyingness:
    """What one test says of every sample; no reference is judged by what it had a part in."""

    test: str
    of_references: Floats  # (n,)
    of_queries: Floats  # (m,)
    reason: Callable[[int], str]
    """Of a query that is outside: why."""
    names_feature: bool = False  # whether the reason says which feature to look at

    @property
    def threshold(self) -> float:
        """What all but a few references keep to."""
        return threshold_of(self.of_references)

    @property
    def outside(self) -> Flags:
        """Which queries do not keep to it, (m,)."""
        return self.of_queries > self.threshold
