"""What an engine is: a session over placed rows, and a handful of questions about them.

Questions know rows, balls and limits; no score, estimator, mean or median. ``reference.py`` defines
the answers. Those of ``nearest``, ``kth``, ``count``, ``relate`` and of what continues these are
exact: every engine returns the same bits. Those of ``log_sums``, ``products`` and ``scatter`` serve
estimates and are equal to rounding. No row is ever left out: a query that is among its references
meets itself at distance 0.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import OnHost, Rows
from precall.data.frames import over_power_of_two
from precall.engines.answers import Counts, Floats, Nearest, Relation, Vicinity
from precall.runtime.mapped_files import release_pages
from precall.runtime.threads import in_threads, single_threaded_libraries

Advance = Callable[[int], None]  # called with the number of pairs compared since the last call

_ROWS_AT_A_TIME = 1024
_COLUMNS_AT_A_TIME = 256
_TILE_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """Asks how far the k-th nearest references are from each query."""

    queries: Rows
    references: tuple[Rows, ...]  # one class, or two, which are also asked about together
    ks: Sequence[int]  # ascending


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """Asks two groups of rows how far their nearest in the other group are, within limits.

    For those who ask piece by piece: limits are what other pieces have told already.
    """

    one: Rows
    other: Rows
    depth: int
    within_one: Floats  # (n_one,) squared distance up to which it is asked; inf for any
    within_other: Floats  # (n_other,)


@dataclass(frozen=True, slots=True, eq=False)
class Balls:
    """Asks who is in whose ball. Thresholds are squared; a negative one lets nobody in."""

    queries: Rows
    references: Rows
    around_queries: Floats  # (n_query_balls, n_queries)
    around_references: Floats  # (n_reference_balls, n_references)


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """Asks what both sides are to each other."""

    balls: Balls
    nearest: bool = False  # whether to find who is nearest
    weights: Floats | None = None
    # (n_ratios, n_queries) that references measure queries by; negative where one is left out
    offset: float = 0.0  # added to squared distances in ratios

    @property
    def n_ratios(self) -> int:
        """Number of ratios to find the largest of."""
        return 0 if self.weights is None else len(self.weights)

    @property
    def wants_best(self) -> bool:
        """Whether counting is not enough."""
        return self.nearest or self.n_ratios > 0


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Asks how near references are to each query, as far as they are within some limits."""

    queries: Rows
    references: Rows
    limits: Floats  # (n_limits,) distances, ascending


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """Rows around a centre, as products are taken of them."""

    rows: Any  # (n, d) float32 or float64
    norms: NDArray[Any]  # (n,) squared

    def __len__(self) -> int:
        return len(self.norms)


class Session(OnHost, ABC):
    """Rows that were placed once, and the questions about them.

    Parameters
    ----------
    threads
        How many to use; never changes an answer.
    advance
        Called now and then with the number of pairs compared since the last call.
    """

    def __init__(self, threads: int, advance: Advance) -> None:
        self.threads, self.advance = threads, advance

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of whatever is held."""

    def alone(self) -> Self:
        """Return the same session for one of many threads: it will not start others."""
        session = copy.copy(self)
        session.threads = 1
        return session

    def begin(self, about: Mapping[str, Any]) -> None:
        """Hear what the work is about, before it begins: fingerprints of the sets, and choices.

        For engines that keep what is finished: they refuse what is of other work.
        """

    def sharing(self) -> AbstractContextManager[None]:
        """Hold what was found for one question inside of it: it may serve those that follow."""
        return nullcontext()

    @abstractmethod
    def place(self, *sets: Rows) -> None:
        """Take over the arrays that these rows are stored in."""

    @abstractmethod
    def drop(self, *sets: Rows) -> None:
        """Forget the arrays that these rows are stored in."""

    @abstractmethod
    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """Return, by class of references, the max(ks) smallest squared distances of each query."""

    def kth(self, questions: Sequence[Neighbors]) -> list[Floats]:
        """Return squared distances to the k-th nearest, each (n_queries, n_classes, n_ks).

        Of two classes: of the one, of the other and of both together, (n_queries, 3, n_ks); inf
        where there are fewer references.
        """
        found = []
        for question, classes in zip(questions, self.nearest(questions), strict=True):
            together = [reduce(Nearest.merge, classes)] if len(classes) > 1 else []
            kths = [nearest.kth(question.ks) for nearest in (*classes, *together)]
            found.append(np.stack(kths, axis=1))
        return found

    def nearest_between(self, questions: Sequence[Between]) -> list[tuple[Nearest, Nearest]]:
        """Return the smallest squared distances of the one and of the other group.

        inf beyond the limits, and where rows ran out. Here both directions are asked; engines may
        look at each pair once.
        """
        found = []
        for question in questions:
            sides = question.one, question.other
            asked = [
                Neighbors(own, (rest,), [question.depth]) for own, rest in (sides, sides[::-1])
            ]
            (one,), (other,) = self.nearest(asked)
            found.append((one.within(question.within_one), other.within(question.within_other)))
        return found

    @abstractmethod
    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """Count, for each query: each (n_queries, n_query_balls + n_reference_balls).

        References in each of its balls, then references whose balls hold it.
        """

    @abstractmethod
    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """Tell both sides what they are to each other, in one pass over all pairs."""

    def relate_further(
        self, questions: Sequence[Meeting], known: Sequence[Relation]
    ) -> list[Relation]:
        """Return what is known merged with what :meth:`relate` tells.

        Engines may look for nothing that is worse than what is known.
        """
        return [
            before.merge(found) for before, found in zip(known, self.relate(questions), strict=True)
        ]

    @abstractmethod
    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """Sum log(distance / limit) over references within each limit: each (n_limits, n_queries).

        -inf where a reference is at distance 0. What is below ``floor`` may be any such number.
        """

    def operand(
        self, rows: Rows, center: Floats, dtype: type[np.floating], exponent: int = 0
    ) -> Operand:
        """Return rows, placed or not, less ``center`` and over 2**exponent, to take products of."""
        dense = np.empty((len(rows), rows.n_features), dtype)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            tile = rows.tile(start, start + _ROWS_AT_A_TIME) - center
            dense[start : start + len(tile)] = over_power_of_two(tile, exponent)
        release_pages(rows.array)
        return Operand(dense, np.einsum("ij,ij->i", dense, dense))

    def products(
        self,
        left: Operand,
        part: slice,
        right: Operand,
        right_part: slice = slice(None),
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return inner products of a part of ``left`` with one of ``right``; from any thread."""
        return np.asarray(np.matmul(left.rows[part], right.rows[right_part].T, out=out))

    def height(self, n_columns: int, itemsize: int) -> int:
        """Return how many rows to take products of at a time."""
        return max(1, _TILE_BYTES // (n_columns * itemsize))

    def vicinity(self, own: Operand, part: slice, other: Operand, depth: int) -> Vicinity | None:
        """Find who is around a part of some rows; from any thread.

        None where products are better read by whoever asks.
        """
        return None

    def listed(self, own: Rows, part: slice, other: Rows, depth: int) -> Vicinity | None:
        """Tell the same as far as earlier questions, if they are shared, have told it.

        None where products are needed.
        """
        return None

    def total(self, rows: Rows) -> Floats:
        """Sum all rows in float64, (d,)."""
        total = np.zeros(rows.n_features)
        for tile in rows.tiles(_ROWS_AT_A_TIME):
            total += tile.sum(axis=0, dtype=np.float64)
        return total

    def scatter(self, rows: Rows, center: Floats) -> Floats:
        """Sum the outer products of all rows less ``center``: (d, d)."""
        d = rows.n_features
        total = np.zeros((d, d))
        starts = range(0, d, _COLUMNS_AT_A_TIME)
        blocks = [(i, j) for i in starts for j in starts if i <= j]
        for tile in rows.tiles(_ROWS_AT_A_TIME):
            centered = tile - center

            def add(block: tuple[int, int], centered: Floats = centered) -> None:
                i, j = (slice(start, start + _COLUMNS_AT_A_TIME) for start in block)
                total[i, j] += centered[:, i].T @ centered[:, j]

            with single_threaded_libraries():
                in_threads(add, blocks, self.threads)
        return np.asarray(np.triu(total) + np.triu(total, 1).T)


class Engine(Protocol):
    """Opens sessions. All engines give the same answers; some are only faster."""

    @property
    def name(self) -> str:
        """Name in results."""
        ...

    def open(self, threads: int, advance: Advance) -> Session:
        """Return a session that holds no rows yet."""
        ...
