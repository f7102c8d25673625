"""What was found about neighbours; parts merge over references and concatenate over queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.neighbors.plan import Request

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
K = TypeVar("K")
T = TypeVar("T", bound=np.generic)


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
    # Σ log min(1, d/R) over the other class, R = 1.2 times its mean k-NN radius; down to FLOOR
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
