"""A session over rows that workers hold: questions become orders, and their answers one answer."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.value_checks import ValueCheck
from precall.engines.answers import Counts, Floats, Met, Nearest, Relation
from precall.engines.cluster.checkpoint import Checkpoint
from precall.engines.cluster.cut import Cut, runs, spans
from precall.engines.cluster.gathering import Gathering
from precall.engines.cluster.making import Making
from precall.engines.cluster.meetings import MeetingOrders, orders_of
from precall.engines.cluster.on_workers.carrying_out import Terms, add_up
from precall.engines.cluster.on_workers.workbench import clear_benches
from precall.engines.cluster.orders import (
    CheckOrder,
    CountOrder,
    KthOrder,
    LogSumsOrder,
    ScatterOrder,
    TotalOrder,
)
from precall.engines.cluster.own.groups import number_of_groups
from precall.engines.cluster.own.radii import OwnRadii
from precall.engines.cluster.parts import Part
from precall.engines.cluster.placed_sets import PlacedSets
from precall.engines.cpu.engine import CpuEngine
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Session

_CHECKED_AT_A_TIME = 256 * 2**20  # bytes
_REMEMBERED = 16  # of the memory of a worker, for what it remembers of earlier orders
_MET = len(fields(Met))
Pieces = list[tuple[int, int]]


class ClusterSession(Session):
    """Answers questions about sets that are in files, or were sent to workers.

    Parameters
    ----------
    cut
        How questions are cut into pieces.
    checkpoint
        Where finished pieces are kept.
    end
        Called when the session is closed.
    """

    def __init__(
        self,
        client: Client,
        cut: Cut,
        checkpoint: Checkpoint | None,
        threads: int,
        advance: Advance,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(threads, advance)
        self.client, self.cut, self._end = client, cut, end
        self.checkpoint, self._has_begun = checkpoint, False
        self._name = uuid.uuid4().hex[:12]
        self._held: set[str] = set()  # sets that workers have at hand, if these are whole
        terms = Terms(self._name, False, ())
        self.gathering = Gathering(client, terms.topic)
        self.sets = PlacedSets(self.gathering, names_by_content=checkpoint is not None)

    # Sets

    def begin(self, about: Mapping[str, Any]) -> None:
        """Refuse a checkpoint of other inputs or choices; go on with pieces as they were cut."""
        self._has_begun = True
        if self.checkpoint is not None:
            cut = {"memory": self.cut.memory, "n_workers": self.cut.n_workers}
            self.cut = Cut(**self.checkpoint.settle(about, cut))

    def place(self, *sets: Rows) -> None:
        """Remember the arrays that these rows are stored in."""
        self.sets.place(*sets)

    def drop(self, *sets: Rows) -> None:
        """Forget the arrays that these rows are stored in."""
        self.sets.drop(*sets)

    def close(self) -> None:
        """Let workers forget this session."""
        with suppress(Exception):  # the cluster may be gone
            self.client.run(clear_benches, self._name, on_error="ignore")
        self.gathering.close()
        self._end()

    def keep(self, rows: Rows) -> Rows:
        """Leave rows in their files; take others off their device."""
        return rows if self.sets.is_in_files(rows) else super().keep(rows)

    def alone(self) -> Any:
        """Return a session of this machine: small questions of many threads are not worth a way."""
        session = CpuEngine().open(1, self.advance)
        session.place(*(Rows(array) for array in self.sets.arrays_here()))
        return session

    def check_values(self, rows: Rows, check: ValueCheck) -> None:
        """Have workers look at rows in files; look at others here."""
        if not self.sets.is_in_files(rows):
            super().check_values(rows, check)
            self.sets.place(rows, hashes=check.row_hashes)
            return
        name = self.sets.unchecked(rows)
        size = max(1, _CHECKED_AT_A_TIME // (rows.n_features * rows.array.dtype.itemsize))
        pieces = runs(len(rows), max(-(-len(rows) // size), 2 * self.cut.n_workers))
        orders = [CheckOrder(Part(name, None, (run,)), check.role) for run in pieces]
        terms = self._terms(kept=False)
        found = self._take(len(orders), lambda i: self.gathering.submit(orders[i], [name], terms))
        for of_part, _ in found:
            check.merge(of_part)
        sums = np.concatenate([sums for _, sums in found])
        self.sets.place(rows, hashes=check.row_hashes, sums=sums, instead=name)

    # Questions

    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """See :meth:`Session.nearest`."""
        every = [Neighbors(q.queries, q.references, range(1, max(q.ks) + 1)) for q in questions]
        return [
            [Nearest(np.ascontiguousarray(of[:, c])) for c in range(len(question.references))]
            for question, of in zip(questions, self.kth(every), strict=True)
        ]

    def kth(self, questions: Sequence[Neighbors]) -> list[Floats]:
        """See :meth:`Session.kth`."""
        self.place(*[rows for q in questions for rows in (q.queries, *q.references)])
        if self.sets.are_whole(self.cut):
            own = self._own_kth(questions)
        else:  # one after the other: what is found takes room
            own = [found for question in questions for found in self._own_kth([question])]
        others = [q for q, found in zip(questions, own, strict=True) if found is None]
        asked = [self._kth_orders(question, len(others)) for question in others]
        pairs = [sum(map(len, question.references)) for question in others]
        answers = iter(self._ask(asked, pairs))
        return [
            np.concatenate([squared for (squared,) in next(answers)]) if found is None else found
            for found in own
        ]

    def _kth_orders(self, question: Neighbors, share: int) -> list[KthOrder]:
        depth, ks = max(question.ks), tuple(int(k) for k in question.ks)
        classes = tuple(tuple(self._parts(rows)) for rows in question.references)
        parts = self._queries(question.queries, depth, share)
        return [KthOrder(queries, classes, ks) for queries in parts]

    def _own_kth(self, questions: Sequence[Neighbors]) -> list[Floats | None]:
        """Let rows meet once that are compared among themselves; None where that is no use."""
        planned = [self._own_radii(question) for question in questions]
        plans = [plan for plan in planned if plan is not None]
        # All groups first: whoever waits for one has nothing else to do.
        orders: dict[str, Any] = {n: order for plan in plans for n, order in plan.groups.items()}
        orders |= {name: order for plan in plans for name, order in plan.pairs.items()}
        merges = [merge for plan in plans for merge in plan.merges]
        pairs = [order.n_pairs for order in orders.values()] + [0] * len(merges)
        answers = self._carried_out(orders, merges, pairs, n_left_there=len(orders))
        found = iter(answers[len(orders) :])
        return [
            None if plan is None else np.concatenate([next(found)[0] for _ in plan.merges])
            for plan in planned
        ]

    def _own_radii(self, question: Neighbors) -> OwnRadii | None:
        rows, depth = question.queries, max(question.ks)
        if len(question.references) > 1 or not rows.is_same_as(question.references[0]):
            return None
        size = rows.n_features, rows.array.dtype.itemsize
        is_whole = self.sets.are_whole(self.cut)
        most = len(rows) if is_whole else self.cut.rows_of_part(*size, depth)
        cut = self.cut
        n = number_of_groups(len(rows), size[0], depth, most, cut.memory, cut.n_workers)
        if n is None:
            return None
        groups = [self.sets.part(rows, run) for run in runs(len(rows), n)]
        return OwnRadii.of(groups, tuple(map(int, question.ks)))

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""
        self.place(*[rows for balls in questions for rows in (balls.queries, balls.references)])
        around = [self.sets.send(np.ascontiguousarray(q.around_references)) for q in questions]
        asked = [
            [
                CountOrder(
                    part,
                    tuple(self._parts(balls.references)),
                    _columns(part, balls.around_queries),
                    name,
                    len(balls.around_references),
                )
                for part in self._queries(balls.queries, share=len(questions))
            ]
            for balls, name in zip(questions, around, strict=True)
        ]
        answers = self._ask(asked, [len(balls.references) for balls in questions])
        self.gathering.forget(around)
        return [np.concatenate([counts for (counts,) in of]) for of in answers]

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        return [self._relate(question) for question in questions]

    def _relate(self, meeting: Meeting) -> Relation:
        balls = meeting.balls
        self.place(*[balls.queries, balls.references])
        around = self.sets.send(np.ascontiguousarray(balls.around_references))
        cut = self._meeting_orders(meeting, around)
        orders = [*cut.scouts.values(), *cut.others]
        own, others = len(balls.around_queries), len(balls.around_references)
        of_queries = _Growing(Met.nobody(len(balls.queries), own, others, 0))
        of_references = _Growing(Met.nobody(len(balls.references), others, own, meeting.n_ratios))

        def done(i: int, answer: tuple[NDArray[Any], ...]) -> None:
            of_queries.add(orders[i].queries, Met(*answer[:_MET]))
            of_references.add(_together(orders[i].references), Met(*answer[_MET:]))

        pairs = [len(o.queries) * sum(map(len, o.references)) for o in orders]
        self._carried_out(cut.scouts, cut.others, pairs, done)
        self.gathering.forget([around])
        return Relation(of_queries.met, of_references.met)

    def _meeting_orders(self, meeting: Meeting, around: str) -> MeetingOrders:
        if self.sets.are_whole(self.cut):
            return MeetingOrders.of_whole_sets(meeting, around, self.cut, self.sets.part)
        queries = self._queries(meeting.balls.queries)
        references = spans(self._parts(meeting.balls.references))
        return MeetingOrders({}, orders_of(meeting, around, queries, references))

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""
        self.place(*[rows for of in questions for rows in (of.queries, of.references)])
        asked = [
            [
                LogSumsOrder(
                    part,
                    tuple(self._parts(of.references)),
                    np.asarray(of.limits, np.float64),
                    float(floor),
                )
                for part in self._queries(of.queries, share=len(questions))
            ]
            for of in questions
        ]
        answers = self._ask(asked, [len(of.references) for of in questions])
        return [np.concatenate([sums for (sums,) in of], axis=1) for of in answers]

    def total(self, rows: Rows) -> Floats:
        """See :meth:`Session.total`."""
        self.place(rows)
        orders = [TotalOrder(part) for part in self._queries(rows)]
        return self._added(orders, rows, [])

    def scatter(self, rows: Rows, center: Floats) -> Floats:
        """See :meth:`Session.scatter`."""
        self.place(rows)
        name = self.sets.send(np.asarray(center))
        orders = [ScatterOrder(part, name) for part in self._queries(rows)]
        found = self._added(orders, rows, [name])
        self.gathering.forget([name])
        return found

    def _added(self, orders: Sequence[Any], rows: Rows, names: list[str]) -> Floats:
        """Add answers up on the workers, in a fixed order, so that one comes here."""
        whole = self.sets.part(rows, (0, len(rows)))
        terms, needed = self._terms(kept=False), [*self.sets.names([whole], self.cut), *names]

        def submit(_: int) -> Future:
            answers = [self.gathering.submit(order, needed, terms) for order in orders]
            while len(answers) > 1:
                answers = [
                    self.client.submit(add_up, *answers[i : i + 2], pure=False)
                    for i in range(0, len(answers), 2)
                ]
            return answers[0]

        ((total,),) = self._take(1, submit, [0])
        return np.asarray(total)

    # Pieces

    def _size(self, rows: Rows) -> tuple[int, int, int]:
        return len(rows), rows.n_features, rows.array.dtype.itemsize

    def _queries(self, rows: Rows, depth: int = 0, share: int = 1) -> list[Part]:
        is_whole = self.sets.are_whole(self.cut)
        pieces = self.cut.queries(*self._size(rows), depth=depth, is_whole=is_whole, share=share)
        return [self.sets.part(rows, run) for run in pieces]

    def _parts(self, rows: Rows) -> list[Part]:
        is_whole = self.sets.are_whole(self.cut)
        pieces = self.cut.references(*self._size(rows), is_whole=is_whole)
        return [self.sets.part(rows, run) for run in pieces]

    def _terms(self, *, kept: bool = True) -> Terms:
        checkpoint = self.checkpoint if kept and self._has_begun else None
        remembered = self.cut.memory // _REMEMBERED
        is_whole = self.sets.are_whole(self.cut)
        return Terms(self._name, is_whole, self.sets.placed, remembered, checkpoint)

    def _carried_out(
        self,
        first: Mapping[str, Any],
        others: Sequence[Any],
        pairs: Sequence[int],
        done: Callable[[int, Any], None] | None = None,
        n_left_there: int = 0,
    ) -> list[Any]:
        """Have orders carried out, of which the others may need what the first, by name, find."""
        terms, orders, names = self._terms(), [*first.values(), *others], list(first)
        held = () if n_left_there else tuple(self._held)  # what others need must come for sure

        def submit(order: Any, made: Mapping[str, Future], is_full: bool) -> Future:
            sent = [name for name in order.needs() if name not in made]
            rows = self.sets.names(order.parts(), self.cut, held=() if is_full else held)
            return self.gathering.submit(order, [*rows, *sent], terms, made)

        making = Making(dict(first), submit)
        found = self._take(
            len(orders),
            lambda i: making.get(names[i]) if i < len(names) else making.start(orders[i]),
            pairs,
            done,
            n_left_there,
            lambda i: making.lacks(orders[i]),
        )
        self._held |= {part.source for order in orders for part in order.parts()}
        return found

    def _ask(self, asked: Sequence[Sequence[Any]], references: Sequence[int]) -> list[list[Any]]:
        """Have the orders of several questions carried out at once; return answers by question.

        Parameters
        ----------
        references
            Number of rows that the queries of each question meet.
        """
        orders = [order for of in asked for order in of]
        pairs = [
            len(order.queries) * n for of, n in zip(asked, references, strict=True) for order in of
        ]
        answers = iter(self._carried_out({}, orders, pairs))
        return [[next(answers) for _ in of] for of in asked]

    def _take(
        self,
        n: int,
        submit: Callable[[int], Future],
        pairs: Sequence[int] | None = None,
        done: Callable[[int, Any], None] | None = None,
        n_left_there: int = 0,
        lacks: Callable[[int], None] = lambda i: None,
    ) -> list[Any]:
        """Return answers in order, unless somebody takes them as they come."""
        found: dict[int, Any] = {}
        take = done or found.__setitem__

        def finish(i: int, answer: Any) -> None:
            take(i, answer)
            self.advance(pairs[i] if pairs else 0)

        self.gathering.take(n, submit, finish, n_left_there=n_left_there, lacks=lacks)
        return [found[i] for i in range(n)] if done is None else []


class _Growing:
    """What rows have found out so far."""

    def __init__(self, met: Met) -> None:
        self.met = met

    def add(self, part: Part, found: Met) -> None:
        """Merge what some of the rows found out, in place."""
        start = 0
        for run in part.runs:
            of_run = slice(start, start + run[1] - run[0])
            rows, start = slice(*run), of_run.stop
            values = (getattr(self.met, f.name)[rows] for f in fields(Met))
            more = (getattr(found, f.name)[of_run] for f in fields(Met))
            merged = Met(*values).merge(Met(*more))
            for f in fields(Met):
                getattr(self.met, f.name)[rows] = getattr(merged, f.name)


def _columns(part: Part, values: Floats) -> Floats:
    return np.ascontiguousarray(part.of(np.asarray(values)))


def _together(parts: Sequence[Part]) -> Part:
    runs = tuple(run for part in parts for run in part.runs)
    return Part(parts[0].source, parts[0].selection, runs)
