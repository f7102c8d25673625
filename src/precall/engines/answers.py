"""What engines answer, and how answers about parts become the answer about the whole.

Each answer merges over references (the same queries met other rows) and concatenates over queries:
any cut into tiles, threads, devices or shards, in any order, gives the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

NOBODY = np.iinfo(np.int64).max  # where no row was met yet


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """How far each query is from its nearest references."""

    squared: Floats  # (n_queries, depth), ascending; inf where references ran out

    @classmethod
    def among(cls, squared: Floats, depth: int) -> Self:
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

    def within(self, limits: Floats) -> Self:
        """Forget what is beyond a squared distance, one for each query."""
        return type(self)(np.where(self.squared <= limits[:, None], self.squared, np.inf))

    def kth(self, ks: Sequence[int]) -> Floats:
        """Squared distance of each query to its k-th nearest reference: (n_queries, n_ks)."""
        return self.squared[:, np.array(ks) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """What the rows of one side found out when they met those of the other."""

    in_own: Counts  # (n, n_own_balls) rows of the other side in each of its own balls
    in_others: Counts  # (n, n_other_balls) balls of the other side that hold it
    nearest: Counts  # (n,) where the nearest is stored, the first if several; or NOBODY
    squared: Floats  # (n,) squared distance to it; inf if there is nobody
    is_held: NDArray[np.bool_]  # (n, n_other_balls) by the ball of the nearest, or of one as near
    ratio: Floats  # (n, n_ratios) the largest weight / (squared distance + offset); 0 at least

    @classmethod
    def nobody(cls, n: int, n_own_balls: int, n_other_balls: int, n_ratios: int) -> Self:
        """Return the neutral element of :meth:`merge`: nobody was met yet."""
        return cls(
            np.zeros((n, n_own_balls), np.int64),
            np.zeros((n, n_other_balls), np.int64),
            np.full(n, NOBODY),
            np.full(n, np.inf),
            np.zeros((n, n_other_balls), np.bool_),
            np.zeros((n, n_ratios)),
        )

    def merge(self, other: Self) -> Self:
        """Combine with what the same rows found out about others."""
        is_nearer, is_farther = other.squared < self.squared, other.squared > self.squared
        first = np.minimum(self.nearest, other.nearest)
        held_by_any = self.is_held | other.is_held
        of_other = np.where(is_nearer[:, None], other.is_held, held_by_any)
        return type(self)(
            self.in_own + other.in_own,
            self.in_others + other.in_others,
            np.where(is_nearer, other.nearest, np.where(is_farther, self.nearest, first)),
            np.minimum(self.squared, other.squared),
            np.where(is_farther[:, None], self.is_held, of_other),
            np.maximum(self.ratio, other.ratio),
        )

    def as_hint(self) -> Self:
        """Return how good the best is, and nothing else: merging it once more changes no answer.

        To the whole, that is: whoever found the best tells who it is.
        """
        n, n_own, n_others = len(self.squared), self.in_own.shape[1], self.in_others.shape[1]
        nobody = self.nobody(n, n_own, n_others, 0)
        return replace(nobody, squared=self.squared, ratio=self.ratio)

    def select(self, rows: NDArray[np.intp]) -> Self:
        """Return what some of the rows found out."""
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def replaced(self, rows: NDArray[np.intp], others: Self) -> Self:
        """Return the same, with what ``others`` say of the nearest and of ratios of some rows."""
        found = replace(
            self,
            **{
                name: getattr(self, name).copy()
                for name in ("nearest", "squared", "is_held", "ratio")
            },
        )
        found.nearest[rows], found.squared[rows] = others.nearest, others.squared
        found.is_held[rows], found.ratio[rows] = others.is_held, others.ratio
        return found

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Put rows behind each other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """What two sides are to each other."""

    of_queries: Met
    of_references: Met

    def merge(self, other: Self) -> Self:
        """Combine with what the same rows found out elsewhere."""
        return type(self)(
            self.of_queries.merge(other.of_queries), self.of_references.merge(other.of_references)
        )

    @classmethod
    def over_queries(cls, parts: Sequence[Self]) -> Self:
        """Combine parts with different queries and the same references."""
        return cls(
            Met.concat([part.of_queries for part in parts]),
            reduce(Met.merge, (part.of_references for part in parts)),
        )

    @classmethod
    def over_references(cls, parts: Sequence[Self]) -> Self:
        """Combine parts with the same queries and different references."""
        return cls(
            reduce(Met.merge, (part.of_queries for part in parts)),
            Met.concat([part.of_references for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Vicinity:
    """Who is around some rows.

    What stands for distances tells of each row who is nearer, and no more: squares less the row's
    own norm where these are of products, about squares elsewhere.
    """

    places: Counts  # (n, depth) the nearest others of the own class, nearest first
    distances: NDArray[Any]  # (n, depth)
    starts: Counts  # (n + 1,) where the list of each row begins
    columns: Counts  # rows of the other class within the farthest of these, one list after another
    far: NDArray[Any]  # how far each is

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Put rows behind each other."""
        ends = np.concatenate([np.diff(part.starts) for part in parts]).cumsum()
        return cls(
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.distances for part in parts]),
            np.concatenate([[0], ends]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.far for part in parts]),
        )
