"""Pieces of questions, as workers answer them: names, numbers and arrays, and arrays in return."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from precall.data.value_checks import ValueCheck
from precall.engines.answers import NOBODY, Floats, Met, Nearest, Relation
from precall.engines.cluster.checkpoint import Arrays, digest_of
from precall.engines.cluster.on_workers.recollections import Recollections
from precall.engines.cluster.parts import Part, Places, Things
from precall.engines.protocol import Balls, Limits, Meeting, Neighbors, Session

Classes = tuple[tuple[Part, ...], ...]  # parts of the references of one class, or of two
Shapes = list[tuple[str, tuple[int, ...]]]
ANY = -1  # in a shape: not known before


class Held(Protocol):
    """Rows that a worker has at hand, in a session of its engine."""

    session: Session
    rows: Sequence[Any]  # Rows of each part
    places: Sequence[Places]  # of each part: where rows of its array stand in the set


class Bench(Protocol):
    """Where a worker answers orders."""

    things: Things
    is_whole: bool  # whether sets are held whole, so that one part is all references
    recollections: Recollections

    def hold(self, *parts: Part) -> Held:
        """Get hold of the rows of some parts."""
        ...


class Order(Protocol):
    """One piece of a question."""

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        ...

    def needs(self) -> list[str]:
        """What it needs beside rows, by name."""
        ...

    def shapes(self) -> Shapes:
        """What the answer looks like."""
        ...

    def answer(self, bench: Bench) -> Arrays:
        """Find the answer."""
        ...


class Comparison(Order, Protocol):
    """One piece of a question that compares rows."""

    @property
    def n_pairs(self) -> int:
        """Pairs that are compared."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class KthOrder:
    """How far the k-th nearest references are from some queries."""

    queries: Part
    classes: Classes
    ks: tuple[int, ...]

    @property
    def n_pairs(self) -> int:
        """Pairs that are compared."""
        return len(self.queries) * sum(len(part) for of in self.classes for part in of)

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.queries, *(part for of in self.classes for part in of)]

    def needs(self) -> list[str]:
        """Nothing else."""
        return []

    def shapes(self) -> Shapes:
        """Return squared distances by query, class and k."""
        n_classes = 3 if len(self.classes) == 2 else 1
        return [("float64", (len(self.queries), n_classes, len(self.ks)))]

    def answer(self, bench: Bench) -> Arrays:
        """Ask at once where all references are at hand; fold lists over their parts elsewhere."""
        if bench.is_whole:
            held = bench.hold(self.queries, *(of[0] for of in self.classes))
            queries, *references = held.rows
            question = Neighbors(queries, tuple(references), self.ks)
            return (held.session.kth([question])[0],)
        lists = [self._nearest(bench, of) for of in self.classes]
        together = [reduce(Nearest.merge, lists)] if len(lists) > 1 else []
        return (np.stack([of.kth(self.ks) for of in (*lists, *together)], axis=1),)

    def _nearest(self, bench: Bench, references: Sequence[Part]) -> Nearest:
        found = Nearest(np.full((len(self.queries), max(self.ks)), np.inf))
        for part in references:
            held = bench.hold(self.queries, part)
            queries, of_part = held.rows
            question = Neighbors(queries, (of_part,), [max(self.ks)])
            ((more,),) = held.session.nearest([question])
            found = found.merge(more)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class HoldOrder:
    """Get hold of whole sets, which are on their way while an earlier order is carried out."""

    sets: tuple[Part, ...]

    @property
    def n_pairs(self) -> int:
        """None."""
        return 0

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return list(self.sets)

    def needs(self) -> list[str]:
        """Nothing else."""
        return []

    def shapes(self) -> Shapes:
        """Return nothing."""
        return []

    def answer(self, bench: Bench) -> Arrays:
        """Hold the rows for the orders to come."""
        bench.hold(*self.sets)
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class CountOrder:
    """How many references are in the balls of some queries, and hold these in theirs."""

    queries: Part
    references: tuple[Part, ...]
    around_queries: Floats  # (n_query_balls, n_queries)
    around_references: str  # name of (n_reference_balls, all references of the question)
    n_reference_balls: int

    @property
    def n_pairs(self) -> int:
        """Pairs that are compared."""
        return len(self.queries) * sum(map(len, self.references))

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.queries, *self.references]

    def needs(self) -> list[str]:
        """Thresholds around all references."""
        return [self.around_references]

    def shapes(self) -> Shapes:
        """Return counts by query and ball."""
        n_balls = len(self.around_queries) + self.n_reference_balls
        return [("int64", (len(self.queries), n_balls))]

    def answer(self, bench: Bench) -> Arrays:
        """Add up over the parts of the references."""
        total = np.zeros(self.shapes()[0][1], np.int64)
        for part in self.references:
            held = bench.hold(self.queries, part)
            around = part.of(bench.things[self.around_references])
            total += held.session.count([_balls(held, self.around_queries, around)])[0]
        return (total,)


@dataclass(frozen=True, slots=True, eq=False)
class RelateOrder:
    """What some queries and some references are to each other.

    Who is best for a row is told by one of the orders that it is in; others may only tell how good.
    """

    question: str  # that this is a piece of
    queries: Part
    references: tuple[Part, ...]
    around_queries: Floats
    around_references: str
    n_reference_balls: int
    nearest: bool
    weights: Floats | None  # (n_ratios, n_queries)
    offset: float
    scouts: tuple[str, ...] = ()  # orders that have met all references, a part each

    @property
    def n_pairs(self) -> int:
        """Pairs that are compared."""
        return len(self.queries) * sum(map(len, self.references))

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.queries, *self.references]

    def needs(self) -> list[str]:
        """Thresholds around all references, and what scouts have found."""
        return [self.around_references, *self.scouts]

    def shapes(self) -> Shapes:
        """Return the fields of what queries found, then those of what references found."""
        n_own, n_others = len(self.around_queries), self.n_reference_balls
        n_ratios = 0 if self.weights is None else len(self.weights)
        m = sum(map(len, self.references))
        return [
            *_shapes_of_met(len(self.queries), n_own, n_others, 0),
            *_shapes_of_met(m, n_others, n_own, n_ratios),
        ]

    def answer(self, bench: Bench) -> Arrays:
        """Let the queries meet one part of the references after the other."""
        of_queries, of_references = [], []
        for part in self.references:
            held = bench.hold(self.queries, part)
            around = part.of(bench.things[self.around_references])
            balls = _balls(held, self.around_queries, around)
            meeting = Meeting(balls, self.nearest, self.weights, self.offset)
            found = self._relation(bench, held.session, meeting, part)
            of_queries.append(_in_set(found.of_queries, held.places[1]))
            of_references.append(_in_set(found.of_references, held.places[0]))
        merged_queries = reduce(Met.merge, of_queries)
        return (*_arrays(merged_queries), *_arrays(Met.concat(of_references)))

    def _relation(
        self, bench: Bench, session: Session, meeting: Meeting, references: Part
    ) -> Relation:
        """Look for nothing that is worse than what rows have met on this worker before."""
        if not meeting.wants_best:
            return session.relate([meeting])[0]
        memory, sides = bench.recollections, (self.queries, references)
        keys = [("met", self.question, *side) for side in enumerate(sides)]
        n_own, n_others = len(self.around_queries), self.n_reference_balls
        known = [
            memory.get(keys[0]) or Met.nobody(len(self.queries), n_own, n_others, 0),
            memory.get(keys[1])
            or self._scouted(bench)
            or Met.nobody(len(references), n_others, n_own, meeting.n_ratios),
        ]
        (found,) = session.relate_further([meeting], [Relation(*known)])
        for key, of in zip(keys, (found.of_queries, found.of_references), strict=True):
            hint = of.as_hint()
            memory.keep(key, hint, sum(array.nbytes for array in _arrays(hint)))
        return found

    def _scouted(self, bench: Bench) -> Met | None:
        """What scouts have told the references, unless one of them has to go again."""
        answers = [bench.things[name] for name in self.scouts]
        if not answers or any(answer is None for answer in answers):
            return None
        return Met.concat([Met(*answer[len(fields(Met)) :]) for answer in answers]).as_hint()


@dataclass(frozen=True, slots=True, eq=False)
class LogSumsOrder:
    """How near references are to some queries, within limits."""

    queries: Part
    references: tuple[Part, ...]
    limits: Floats
    floor: float

    @property
    def n_pairs(self) -> int:
        """Pairs that are compared."""
        return len(self.queries) * sum(map(len, self.references))

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.queries, *self.references]

    def needs(self) -> list[str]:
        """Nothing else."""
        return []

    def shapes(self) -> Shapes:
        """Return sums by limit and query."""
        return [("float64", (len(self.limits), len(self.queries)))]

    def answer(self, bench: Bench) -> Arrays:
        """Add up over the parts of the references, in their order."""
        total = np.zeros(self.shapes()[0][1])
        for part in self.references:
            held = bench.hold(self.queries, part)
            queries, references = held.rows
            limits = Limits(queries, references, self.limits)
            total += held.session.log_sums([limits], self.floor)[0]
        return (total,)


@dataclass(frozen=True, slots=True, eq=False)
class ScatterOrder:
    """Sums of outer products of rows less a centre."""

    rows: Part
    center: str  # its name

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.rows]

    def needs(self) -> list[str]:
        """The centre."""
        return [self.center]

    def shapes(self) -> Shapes:
        """Return a square matrix; its size is that of the centre."""
        return []

    def answer(self, bench: Bench) -> Arrays:
        """Ask the engine for the sum over these rows."""
        held = bench.hold(self.rows)
        return (held.session.scatter(held.rows[0], bench.things[self.center]),)


@dataclass(frozen=True, slots=True, eq=False)
class TotalOrder:
    """The sum of some rows."""

    rows: Part

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.rows]

    def needs(self) -> list[str]:
        """Nothing else."""
        return []

    def shapes(self) -> Shapes:
        """Return a vector; its size is that of the rows."""
        return []

    def answer(self, bench: Bench) -> Arrays:
        """Ask the engine for the sum."""
        held = bench.hold(self.rows)
        return (held.session.total(held.rows[0]),)


@dataclass(frozen=True, slots=True, eq=False)
class CheckOrder:
    """What the values of some rows are like; the answer is a check, and no piece to keep."""

    rows: Part
    role: str

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.rows]

    def needs(self) -> list[str]:
        """Nothing else."""
        return []

    def answer(self, bench: Any) -> tuple[ValueCheck, NDArray[np.uint64]]:
        """Look at every value."""
        check = ValueCheck(self.role)
        sums = [bench.check(tile, check) for tile in bench.tiles(self.rows)]
        return check, np.concatenate(sums)


def digest_of_order(order: Order) -> str:
    """Return what an order is known by: its kind, names, numbers and arrays."""
    arrays: list[NDArray[Any]] = []
    return digest_of([type(order).__name__, *_texts(order, arrays)], arrays)


def _texts(value: Any, arrays: list[NDArray[Any]]) -> Iterator[str]:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        yield f"array {len(arrays)}"
    elif is_dataclass(value) and not isinstance(value, Part):
        for field in fields(value):
            yield field.name
            yield from _texts(getattr(value, field.name), arrays)
    else:
        yield repr(value)


def _balls(held: Held, around_queries: Floats, around_references: Floats) -> Balls:
    queries, references = held.rows
    return Balls(queries, references, around_queries, around_references)


def _arrays(met: Met) -> Arrays:
    return tuple(np.ascontiguousarray(getattr(met, field.name)) for field in fields(Met))


def _shapes_of_met(n: int, n_own_balls: int, n_other_balls: int, n_ratios: int) -> Shapes:
    nobody = Met.nobody(0, n_own_balls, n_other_balls, n_ratios)
    return [(str(array.dtype), (n, *array.shape[1:])) for array in _arrays(nobody)]


def _in_set(met: Met, places: Places) -> Met:
    """Say of the nearest where it stands in its set, rather than in the array at hand."""
    is_known = met.nearest != NOBODY
    nearest = np.where(is_known, places[np.where(is_known, met.nearest, 0)], NOBODY)
    values = {field.name: getattr(met, field.name) for field in fields(Met)}
    return Met(**values | {"nearest": nearest})
