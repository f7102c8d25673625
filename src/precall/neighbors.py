"""What is asked of an engine, NeighborPlan, and what it found, NeighborStatistics.

A *query* is a sample to be judged, a *reference* a sample of the fit set. All that any estimator
wants to know of a query is how many references of each class are near it, where "near" is one of
four balls. All balls are closed: distance ≤ radius.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball", "Nearest", "NeighborPlan", "NeighborStatistics", "Request"]


K = TypeVar("K")
T = TypeVar("T", bound=np.generic)


class Ball(StrEnum):
    """When a reference is near a query."""

    REFERENCE = "reference"
    """The query lies in the reference's own ball, which reaches to its k-th neighbour (itself not
    counted) within its class."""

    MEAN = "mean"
    """Within the mean radius of these balls over the reference's class."""

    OPPOSITE = "opposite"
    """Within the distance from the query to its k-th neighbour in the *other* class than the
    reference's."""

    UNION = "union"
    """Within the distance from the query to its k-th neighbour in both classes together."""


Request = tuple[Ball, int]  # the ball and its k


@dataclass(frozen=True, slots=True)
class NeighborPlan:
    """The counts that are needed. Several plans are united into one, so that they share a sweep."""

    requests: frozenset[Request] = frozenset()  # references of both classes, near each query
    cross_ks: frozenset[int] = frozenset()  # k of balls between the classes; only without a split

    def union(self, plans: Iterable[Self]) -> Self:
        """Return one plan that answers this and all of ``plans``."""
        plans = [self, *plans]
        return type(self)(
            frozenset().union(*(plan.requests for plan in plans)),
            frozenset().union(*(plan.cross_ks for plan in plans)),
        )

    def ks(self, *balls: Ball) -> tuple[int, ...]:
        """Return every k asked for with one of ``balls``, smallest first."""
        return tuple(sorted({k for ball, k in self.requests if ball in balls}))

    @property
    def radius_ks(self) -> tuple[int, ...]:
        """Each k for which the references' own radii are needed before anything is counted."""
        return tuple(sorted({*self.ks(Ball.REFERENCE, Ball.MEAN), *self.cross_ks}))

    @property
    def reach_ks(self) -> tuple[int, ...]:
        """Each k for which the queries' own neighbours are needed before anything is counted."""
        return self.ks(Ball.OPPOSITE, Ball.UNION)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Sweep 1: how far each query is from its nearest references.

    Merging what was found among some references with what was found among others gives what would
    have been found among all of them.
    """

    squared: NDArray[np.float64]  # (n_queries, depth), ascending; inf where references ran out

    @classmethod
    def none(cls, n_queries: int, depth: int) -> Self:
        """Return the neutral element of :meth:`merge`: no reference seen yet."""
        return cls(np.full((n_queries, depth), np.inf))

    @classmethod
    def among(cls, squared: NDArray[np.float64], depth: int) -> Self:
        """Keep the ``depth`` smallest of each row of squared distances."""
        if squared.shape[1] < depth:
            padding = ((0, 0), (0, depth - squared.shape[1]))
            squared = np.pad(squared, padding, constant_values=np.inf)
        elif squared.shape[1] > depth:
            squared = np.partition(squared, depth - 1, axis=1)[:, :depth]
        return cls(np.sort(squared, axis=1))

    def merge(self, other: Self) -> Self:
        """Combine with the nearest of other references."""
        depth = self.squared.shape[1]
        return self.among(np.concatenate([self.squared, other.squared], axis=1), depth)

    def kth(self, k: int) -> NDArray[np.float64]:
        """Squared distance of each query to its k-th nearest reference, itself counted if there."""
        return self.squared[:, k - 1]


@dataclass(frozen=True, slots=True, eq=False)
class NeighborStatistics:
    """Sweep 2: how many references of each class are near each query.

    Queries stand in a fixed order: the evaluated real samples, then the evaluated generated ones.
    """

    is_real: NDArray[np.bool_]  # (n_queries,), the class of each query
    counts: Mapping[Request, NDArray[np.int64]]  # each (n_queries, 2): real, generated references
    squared_reach: Mapping[Request, NDArray[np.float64]]
    # each (n_queries, 2): the squared radius around the query within which real and generated
    # references were counted; only for the balls OPPOSITE and UNION
    cross: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)
    # for each k (n_queries, 2): references of the other class whose own k-ball holds the query, and
    # references of the other class in the query's own k-ball

    def merge(self, other: Self) -> Self:
        """Combine with the counts over other references, for the same queries and radii."""
        for request, reach in self.squared_reach.items():
            if not np.array_equal(reach, other.squared_reach[request]):
                raise ValueError("only counts within the same radii can be added up")
        return type(self)(
            self.is_real,
            {request: count + other.counts[request] for request, count in self.counts.items()},
            self.squared_reach,
            {k: count + other.cross[k] for k, count in self.cross.items()},
        )

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Combine with the counts around other queries, for the same references."""
        return cls(
            np.concatenate([part.is_real for part in parts]),
            _concat_each([part.counts for part in parts]),
            _concat_each([part.squared_reach for part in parts]),
            _concat_each([part.cross for part in parts]),
        )


def _concat_each(parts: Sequence[Mapping[K, NDArray[T]]]) -> dict[K, NDArray[T]]:
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
