"""What is asked of an engine, NeighborPlan, and what it found, NeighborStatistics.

A *query* is a sample to be judged, a *reference* a sample of the fit set. All that any estimator
wants to know of a query is how many references of each class are near it, where "near" is one of
four balls, all of them closed: distance ≤ radius. The scores ask more, without a split: what each
sample is to the samples of the other class, CrossStatistics.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.neighbors.tie_rules import TieRule

__all__ = [
    "Ball",
    "CrossPlan",
    "CrossStatistics",
    "Nearest",
    "NearestOther",
    "NeighborPlan",
    "NeighborStatistics",
    "Request",
    "concat_each",
]


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
class CrossPlan:
    """What to find out between the classes; only without a split."""

    ks: frozenset[int] = frozenset()  # of the own balls
    tie_rule: TieRule = TieRule.CLOSED  # of the own balls
    nearest: bool = False
    realism_ks: frozenset[int] = frozenset()
    realism_offset: float = 0.0  # added to squared distances
    soft_ks: frozenset[int] = frozenset()
    clipped_ks: frozenset[int] = frozenset()

    @property
    def radius_ks(self) -> frozenset[int]:
        """Each k for which own radii are needed."""
        return self.ks | self.realism_ks | self.soft_ks | self.clipped_ks

    def union(self, plans: Iterable[Self]) -> Self:
        """Return one plan that answers all, by this one's rule and offset."""
        plans = [self, *plans]
        return replace(
            self,
            ks=frozenset[int]().union(*(plan.ks for plan in plans)),
            nearest=any(plan.nearest for plan in plans),
            realism_ks=frozenset[int]().union(*(plan.realism_ks for plan in plans)),
            soft_ks=frozenset[int]().union(*(plan.soft_ks for plan in plans)),
            clipped_ks=frozenset[int]().union(*(plan.clipped_ks for plan in plans)),
        )


@dataclass(frozen=True, slots=True)
class NeighborPlan:
    """What is needed. Several plans are united into one, so that they share a sweep."""

    requests: frozenset[Request] = frozenset()  # references of both classes, near each query
    cross: CrossPlan | None = None

    def union(self, plans: Iterable[Self]) -> Self:
        """Return one plan that answers this and all of ``plans``."""
        plans = [self, *plans]
        crosses = [plan.cross for plan in plans if plan.cross is not None]
        return type(self)(
            frozenset[Request]().union(*(plan.requests for plan in plans)),
            crosses[0].union(crosses[1:]) if crosses else None,
        )

    def ks(self, *balls: Ball) -> tuple[int, ...]:
        """Return every k asked for with one of ``balls``, smallest first."""
        return tuple(sorted({k for ball, k in self.requests if ball in balls}))

    @property
    def radius_ks(self) -> tuple[int, ...]:
        """Each k for which the references' own radii are needed before anything is counted."""
        of_cross = self.cross.radius_ks if self.cross else frozenset()
        return tuple(sorted({*self.ks(Ball.REFERENCE, Ball.MEAN), *of_cross}))

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
class NearestOther:
    """The nearest sample of the other class; the first, where several are as near."""

    place: NDArray[np.int64]  # (n,) where it stands in its class
    squared: NDArray[np.float64]  # (n,) squared distance to it
    holds: Mapping[int, NDArray[np.bool_]]
    # each (n,): whether its own k-ball, or that of one as near, holds the sample


@dataclass(frozen=True, slots=True, eq=False)
class CrossStatistics:
    """What each sample is to the other class, and how far its own ball reaches in its own.

    Samples stand in the order of :class:`NeighborStatistics`: the real ones, then the generated.
    """

    squared_radii: Mapping[
        int, NDArray[np.float64]
    ]  # each (n,), to the k-th neighbour in its class
    counts: Mapping[int, NDArray[np.int64]]
    # each (n, 2): samples of the other class whose own k-ball holds this one, and samples of the
    # other class in this one's own k-ball
    nearest: NearestOther | None
    squared_realism: Mapping[int, NDArray[np.float64]]
    # each (n,): largest r_k(x)² / (d² + offset) over x of the other class, those with r_k above the
    # median left out; inf where d = 0 < r_k, 1 where both are 0; only of generated, else NaN
    soft: Mapping[int, NDArray[np.float64]]
    # each (n,): 1 − ∏ min(1, d/R) over the other class, R = 1.2 times its mean k-NN radius
    clipped: Mapping[int, NDArray[np.int64]]
    # each (n,): other real samples whose own k-ball, cut down to the median radius of real, holds
    # this one


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
    cross: CrossStatistics | None = None

    def merge(self, other: Self) -> Self:
        """Combine with the counts over other references, for the same queries and radii."""
        for request, reach in self.squared_reach.items():
            if not np.array_equal(reach, other.squared_reach[request]):
                raise ValueError("only counts within the same radii can be added up")
        return type(self)(
            self.is_real,
            {request: count + other.counts[request] for request, count in self.counts.items()},
            self.squared_reach,
        )

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Combine with the counts around other queries, for the same references."""
        return cls(
            np.concatenate([part.is_real for part in parts]),
            concat_each([part.counts for part in parts]),
            concat_each([part.squared_reach for part in parts]),
        )


def concat_each(parts: Sequence[Mapping[K, NDArray[T]]]) -> dict[K, NDArray[T]]:
    """Concatenate the arrays of the same key."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
