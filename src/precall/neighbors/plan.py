"""What is asked about neighbours.

A *query* is a sample to be judged, a *reference* a sample of the fit set. All that any estimator
wants to know of a query is how many references of each class are near it, where "near" is one of
four balls, all of them closed: distance ≤ radius. Scores ask more, without a split: what each
sample is to the samples of the other class.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self

from precall.neighbors.tie_rules import TieRule

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
    covers: frozenset[tuple[Role, int, int]] = frozenset()  # class, k′ of its balls, how many count
    nearest: bool = False  # the nearest of the other class, and whether its balls hold the sample
    soft: frozenset[OwnBall] = frozenset()  # soft cover of the other class by this one's mean ball
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
            covers=self.covers.union(*(plan.covers for plan in plans)),
            nearest=any(plan.nearest for plan in plans),
            soft=self.soft.union(*(plan.soft for plan in plans)),
            clipped=self.clipped.union(*(plan.clipped for plan in plans)),
            realism=self.realism.union(*(plan.realism for plan in plans)),
        )

    def counted_ks(self, role: Role) -> tuple[int, ...]:
        """Each k of the own balls of a class that samples are counted in, smallest first."""
        covers = {(of, k_prime) for of, k_prime, _ in self.covers}
        return tuple(sorted(k for of, k in self.balls | self.densities | covers if of == role))

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
