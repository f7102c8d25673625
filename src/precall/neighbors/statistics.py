"""What is asked about neighbours, and what was found.

A *query* is a sample to be judged, a *reference* a sample of the fit set. All that any estimator
wants to know of a query is how many references of each class are near it, where "near" is one of
four balls, all of them closed: distance ≤ radius. Scores ask more, without a split: what each
sample is to the samples of the other class. What was found merges over references and concatenates
over queries.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.neighbors.tie_rules import TieRule

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
K = TypeVar("K")
T = TypeVar("T", bound=np.generic)
Role = Literal["real", "generated"]
ROLES: tuple[Role, Role] = ("real", "generated")


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
OwnBall = tuple[Role, int]  # a class, whose samples each have a ball to their k-th neighbour


@dataclass(frozen=True, slots=True)
class CrossPlan:
    """What to find out between the classes; only without a split."""

    balls: frozenset[OwnBall] = frozenset()  # whether any sample of the other class is inside
    densities: frozenset[OwnBall] = frozenset()  # how many are
    fillings: frozenset[OwnBall] = frozenset()  # how many are, at most k
    covers: frozenset[tuple[Role, int, int]] = frozenset()  # class, k′ of its balls, how many count
    nearest: bool = False  # the nearest of the other class, and whether its balls hold the sample
    soft: frozenset[OwnBall] = frozenset()  # soft cover of the other class by this one's mean ball
    soft_floor: float = math.log(2.0**-54)  # sums of logarithms below it need no digits
    clipped: frozenset[int] = frozenset()  # balls of real no larger than the median
    realism: frozenset[int] = frozenset()
    realism_offset: float = 0.0  # added to squared distances
    tie_rule: TieRule = TieRule.CLOSED  # of own balls

    def union(self, plans: Iterable[Self]) -> Self:
        """Return one plan that answers all, by this one's rule and offset."""
        plans = [self, *plans]
        return replace(
            self,
            balls=self.balls.union(*(plan.balls for plan in plans)),
            densities=self.densities.union(*(plan.densities for plan in plans)),
            fillings=self.fillings.union(*(plan.fillings for plan in plans)),
            covers=self.covers.union(*(plan.covers for plan in plans)),
            nearest=any(plan.nearest for plan in plans),
            soft=self.soft.union(*(plan.soft for plan in plans)),
            clipped=self.clipped.union(*(plan.clipped for plan in plans)),
            realism=self.realism.union(*(plan.realism for plan in plans)),
        )

    def counted_ks(self, role: Role) -> tuple[int, ...]:
        """Each k of the own balls of a class that samples are counted in, smallest first."""
        covers = {(of, k_prime) for of, k_prime, _ in self.covers}
        every = self.balls | self.densities | self.fillings | covers
        return tuple(sorted(k for of, k in every if of == role))

    def radius_ks(self, role: Role) -> tuple[int, ...]:
        """Each k for which the own radii of a class are needed."""
        ks = {*self.counted_ks(role), *(k for of, k in self.soft if of == role)}
        return tuple(sorted(ks | self.clipped | self.realism if role == "real" else ks))

    @property
    def every_k(self) -> frozenset[int]:
        """Each k of own balls, of either class."""
        return frozenset({*self.counted_ks("real"), *self.counted_ks("generated")})


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
            self.requests.union(*(plan.requests for plan in plans)),
            crosses[0].union(crosses[1:]) if crosses else None,
        )

    def ks(self, *balls: Ball) -> tuple[int, ...]:
        """Return every k asked for with one of ``balls``, smallest first."""
        return tuple(sorted({k for ball, k in self.requests if ball in balls}))

    def radius_ks(self, role: Role) -> tuple[int, ...]:
        """Each k for which the references' own radii are needed before anything is counted."""
        of_cross = self.cross.radius_ks(role) if self.cross else ()
        return tuple(sorted({*self.ks(Ball.REFERENCE, Ball.MEAN), *of_cross}))

    @property
    def reach_ks(self) -> tuple[int, ...]:
        """Each k for which the queries' own neighbours are needed before anything is counted."""
        return self.ks(Ball.OPPOSITE, Ball.UNION)


@dataclass(frozen=True, slots=True, eq=False)
class NearestOther:
    """The nearest sample of the other class; the first, where several are as near."""

    place: Counts  # (n,) where it stands in its class
    squared: Floats  # (n,) squared distance to it
    holds: Mapping[int, Flags]  # each (n,): whether its k-ball, or that of one as near, holds it

    def merge(self, other: Self) -> Self:
        """Combine with the nearest of other samples."""
        is_nearer, is_farther = other.squared < self.squared, other.squared > self.squared

        def choose(mine: NDArray[T], theirs: NDArray[T], tied: NDArray[T]) -> NDArray[T]:
            return np.where(is_nearer, theirs, np.where(is_farther, mine, tied))

        return type(self)(
            choose(self.place, other.place, np.minimum(self.place, other.place)),
            np.minimum(self.squared, other.squared),
            {k: choose(held, h := other.holds[k], held | h) for k, held in self.holds.items()},
        )

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Put samples behind each other."""
        return cls(
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.squared for part in parts]),
            _concat_each([part.holds for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SideStatistics:
    """What the samples of one class are to the other class, and how far their own balls reach.

    Every array is (n,), by k.
    """

    squared_radii: Mapping[int, Floats]  # to the k-th neighbour in its own class
    holds: Mapping[int, Counts]  # samples of the other class in its own ball
    held_by: Mapping[int, Counts]  # samples of the other class whose own balls hold it
    nearest: NearestOther | None  # if asked for
    squared_realism: Mapping[int, Floats]
    # largest r_k(x)² / (d² + offset) over real x, those with r_k above the median left out; inf
    # where d = 0 < r_k, 1 where both are 0; only of generated
    log_missed: Mapping[int, Floats]
    # Σ log min(1, d/R) over the other class, R = 1.2 times its mean k-NN radius; down to a floor
    clipped: Mapping[int, Counts]
    # other real samples whose own balls, cut down to the median radius of real, hold it

    def soft(self, k: int) -> Floats:
        """Soft cover by the other class: 1 − ∏ min(1, d/R)."""
        return -np.expm1(self.log_missed[k])

    def merge(self, other: Self) -> Self:
        """Combine with what the same samples are to other samples of the other class."""
        _check_same(self.squared_radii, other.squared_radii)
        nearest = self.nearest
        if nearest is not None and other.nearest is not None:
            nearest = nearest.merge(other.nearest)
        return type(self)(
            self.squared_radii,
            _add_each(self.holds, other.holds),
            _add_each(self.held_by, other.held_by),
            nearest,
            {k: np.maximum(of, other.squared_realism[k]) for k, of in self.squared_realism.items()},
            _add_each(self.log_missed, other.log_missed),
            _add_each(self.clipped, other.clipped),
        )

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Put samples behind each other."""
        nearest = [part.nearest for part in parts if part.nearest is not None]
        return cls(
            _concat_each([part.squared_radii for part in parts]),
            _concat_each([part.holds for part in parts]),
            _concat_each([part.held_by for part in parts]),
            NearestOther.concat(nearest) if nearest else None,
            _concat_each([part.squared_realism for part in parts]),
            _concat_each([part.log_missed for part in parts]),
            _concat_each([part.clipped for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CrossStatistics:
    """What the classes are to each other."""

    real: SideStatistics
    generated: SideStatistics


@dataclass(frozen=True, slots=True, eq=False)
class NeighborStatistics:
    """How many references of each class are near each query, and what the classes are.

    Queries stand in a fixed order: the evaluated real samples, then the evaluated generated ones.
    """

    is_real: Flags  # (n_queries,), the class of each query
    counts: Mapping[Request, Counts]  # each (n_queries, 2): real, generated references
    squared_reach: Mapping[Request, Floats]
    # each (n_queries, 2): the squared radius around the query within which real and generated
    # references were counted; only for the balls OPPOSITE and UNION
    cross: CrossStatistics | None = None

    def merge(self, other: Self) -> Self:
        """Combine with what was found among other references, for the same queries and radii."""
        _check_same(self.squared_reach, other.squared_reach)
        cross = self.cross
        if cross is not None and other.cross is not None:
            cross = CrossStatistics(
                cross.real.merge(other.cross.real), cross.generated.merge(other.cross.generated)
            )
        counts = _add_each(self.counts, other.counts)
        return type(self)(self.is_real, counts, self.squared_reach, cross)

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Combine with what was found around other queries, for the same references.

        Queries of a class stand in the order of the parts, and real ones come first.
        """
        is_real = np.concatenate([part.is_real for part in parts])
        order = np.argsort(~is_real, kind="stable")
        crosses = [part.cross for part in parts if part.cross is not None]
        return cls(
            is_real[order],
            {key: of[order] for key, of in _concat_each([p.counts for p in parts]).items()},
            {key: of[order] for key, of in _concat_each([p.squared_reach for p in parts]).items()},
            CrossStatistics(
                SideStatistics.concat([cross.real for cross in crosses]),
                SideStatistics.concat([cross.generated for cross in crosses]),
            )
            if crosses
            else None,
        )


def _check_same(radii: Mapping[K, Floats], others: Mapping[K, Floats]) -> None:
    for key, squared in radii.items():
        if not np.array_equal(squared, others[key]):
            raise ValueError("only what was found within the same radii can be added up")


def _add_each(one: Mapping[K, NDArray[T]], other: Mapping[K, NDArray[T]]) -> dict[K, NDArray[T]]:
    return {key: values + other[key] for key, values in one.items()}  # type: ignore[operator]


def _concat_each(parts: Sequence[Mapping[K, NDArray[T]]]) -> dict[K, NDArray[T]]:
    """Concatenate the arrays of the same key."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
