"""Metric: all that there is to know about a scalar score, in one record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.engines.protocol import Session
from precall.neighbors.statistics import CrossPlan, CrossStatistics, Role, SideStatistics

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Flags = NDArray[np.bool_]
Members = tuple[NDArray[np.intp], NDArray[np.intp]]  # of real, of generated


class Shares(Protocol):
    """What a score of one sweep is made of: numbers of all samples, or arrays of all blocks."""

    def held(self, role: Role, k: int) -> Any:
        """Share of a class that is in some k-ball of the other."""
        ...

    def holds(self, role: Role, k: int) -> Any:
        """Share of a class whose k-ball holds some sample of the other."""
        ...

    def cover(self, role: Role, k_prime: int, k: int) -> Any:
        """Share of a class whose k′-ball holds k samples of the other."""
        ...

    def balls_around(self, role: Role, k: int) -> Any:
        """Mean over a class of the other's k-balls around each sample."""
        ...

    def filling(self, role: Role, k: int) -> Any:
        """Mean over a class of the other's samples in each k-ball, at most k, over k."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SamplePair:
    """Two sets of samples, and what was found between them: what scores are computed from."""

    statistics: CrossStatistics | None  # None if no score needs neighbours
    sets: Sets
    session: Session
    seed: int

    def side(self, role: Role) -> SideStatistics:
        """What the samples of one class are to the other."""
        if self.statistics is None:
            raise ValueError("nothing was measured between the classes")
        return self.statistics.real if role == "real" else self.statistics.generated

    def held(self, role: Role, k: int) -> float:
        """See :meth:`Shares.held`."""
        return float((self.side(role).held_by[k] > 0).mean())

    def holds(self, role: Role, k: int) -> float:
        """See :meth:`Shares.holds`."""
        return float((self.side(role).holds[k] > 0).mean())

    def cover(self, role: Role, k_prime: int, k: int) -> float:
        """See :meth:`Shares.cover`."""
        return float((self.side(role).holds[k_prime] >= k).mean())

    def balls_around(self, role: Role, k: int) -> float:
        """See :meth:`Shares.balls_around`."""
        return float(self.side(role).held_by[k].mean())

    def filling(self, role: Role, k: int) -> float:
        """See :meth:`Shares.filling`."""
        return float(np.minimum(self.side(role).holds[k], k).mean() / k)

    def in_nearest(self, role: Role, k: int) -> Flags:
        """Whether each sample is in the own k-ball of its nearest sample of the other class."""
        nearest = self.side(role).nearest
        if nearest is None:
            raise ValueError("the nearest were not asked for")
        return nearest.holds[k]


class Estimate(NamedTuple):
    """A value that has a spread of its own."""

    value: float
    standard_deviation: float | None


class Inside(NamedTuple):
    """Of a score that is a share: of which class, and which of its samples are inside."""

    role: Role
    flags: Callable[[SamplePair, int], Flags]


class Folded(NamedTuple):
    """Of a score that is cut off at a bound which it reaches: what it is made of.

    Before it is cut off it varies like any other, and tells how certain the score is.
    """

    before: Callable[[Any, int], Any]  # as ``value`` of a metric
    after: Callable[[int, int, int, NDArray[np.float64]], NDArray[np.float64]]
    # from n, m, k and numbers before to scores, which are nowhere smaller where those are larger


BlockWay = Literal["one sweep", "each block"]
OfBlocks = Callable[[Session, Sets, Sequence[Members]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A scalar score: what it needs, what it is, and what may be said about it.

    Parameters
    ----------
    name
        In results.
    sentence
        What it is, as the report says it: "share of generated …".
    unit
        ``"share"``, ``"ratio"`` (1 where P = Q) or ``"distance"``, in units of the features.
    bounds
        The smallest and the largest value it can have; intervals end there.
    default_k
        Number of neighbours, or ``None`` for a score that has none.
    needs
        From k to what is to be found between the classes; ``None`` if it needs no neighbours.
    value
        From the samples and k (1 where there is none) to the score.
    of_blocks
        How a score of random blocks, which intervals are made from, is found. ``"one sweep"``: by
        ``value`` itself, of all blocks at once, if it uses nothing but the methods of
        :class:`Shares`. ``"each block"``: by ``value``, block by block. Or a function of its own.
    variance
        How the variance of all samples follows from that of blocks: ``"single samples"`` mostly;
        ``"pairs"`` for what is made of single samples and pairs alone; ``"folded"`` for scores that
        turn back at a bound which they reach where P = Q.
    expected
        From n, m and k to the expected value where P = Q; ``None`` where it is not known.
    fewest
        Real and generated samples that it is defined for, whatever k is.
    inside
        Of a score that is a share: who is inside.
    folded
        Of a score that is cut off at a bound: what it is before.
    refuses
        Says what about the samples makes it undefined, or ``None``.

    Examples
    --------
    >>> import numpy as np, precall
    >>> from precall.neighbors.statistics import CrossPlan
    >>> covered = precall.Metric(
    ...     name="covered_by_two",
    ...     sentence="share of real whose ball holds two generated samples",
    ...     unit="share",
    ...     bounds=(0.0, 1.0),
    ...     default_k=5,
    ...     needs=lambda k: CrossPlan(covers=frozenset({("real", k, 2)})),
    ...     value=lambda shares, k: shares.cover("real", k, 2),
    ...     of_blocks="one sweep",
    ...     variance="single samples",
    ...     expected=None,
    ... )
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 500, 4))
    >>> result = precall.evaluate(real, generated, estimators=(), scores=[covered])
    >>> 0.8 < result.scores["covered_by_two"].value < 1
    True
    """

    name: str
    sentence: str
    unit: Literal["share", "ratio", "distance"]
    bounds: tuple[float, float]
    default_k: int | None
    needs: Callable[[int], CrossPlan | None]
    value: Callable[[Any, int], float | Estimate]
    of_blocks: BlockWay | OfBlocks
    variance: Literal["single samples", "pairs", "folded"]
    expected: Callable[[int, int, int], float] | None
    fewest: tuple[int, int] = (1, 1)
    inside: Inside | None = None
    folded: Folded | None = None
    refuses: Callable[[Sets], str | None] | None = None
