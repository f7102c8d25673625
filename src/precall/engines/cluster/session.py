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
from precall.engines.cluster.carrying_out import Terms, add_up, one_of
from precall.engines.cluster.checkpoint import Checkpoint
from precall.engines.cluster.cut import Cut, runs, spans
from precall.engines.cluster.gathering import Gathering
from precall.engines.cluster.orders import (
    CheckOrder,
    CountOrder,
    KthOrder,
    LineOrder,
    LogSumsOrder,
    OwnKthOrder,
    RelateOrder,
    ScatterOrder,
    TotalOrder,
    digest_of_order,
)
from precall.engines.cluster.parts import Part
from precall.engines.cluster.placed_sets import PlacedSets
from precall.engines.cluster.planes import columns, lines, order_of_plane
from precall.engines.cluster.workbench import clear_benches
from precall.engines.cpu.engine import CpuEngine
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Session

_CHECKED_AT_A_TIME = 256 * 2**20  # bytes
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
        own = [self._own_kth(question) for question in questions]
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
        classes = tuple(tuple(self._parts(rows, depth)) for rows in question.references)
        parts = self._queries(question.queries, depth, share)
        return [KthOrder(queries, classes, ks) for queries in parts]

    def _own_kth(self, question: Neighbors) -> Floats | None:
        """Let rows meet once that are compared among themselves; None where that is no use."""
        rows, depth, ks = question.queries, max(question.ks), tuple(map(int, question.ks))
        if len(question.references) > 1 or not rows.is_same_as(question.references[0]):
            return None
        size = rows.n_features, rows.array.dtype.itemsize
        most = len(rows) if self.sets.are_whole(self.cut) else self.cut.rows_of_line(*size, depth)
        q = order_of_plane(len(rows), rows.n_features, depth, most, self.cut.n_workers)
        if q is None:
            return None
        groups = [self.sets.part(rows, run) for run in runs(len(rows), q * q)]
        found = self._on_plane(groups, q, ks, len(rows))
        return np.concatenate([squared for (squared,) in found])

    def _on_plane(
        self, groups: Sequence[Part], q: int, ks: tuple[int, ...], n: int
    ) -> list[tuple[Floats]]:
        """Have all lines carried out, and what was found on them merged for a few groups each."""
        terms, numbers = self._terms(), list(lines(q))
        orders = [LineOrder(tuple(groups[g] for g in line), max(ks)) for line in numbers]
        names = [digest_of_order(order) for order in orders]
        needed = [self.sets.names(order.parts(), self.cut) for order in orders]
        lists: list[list[tuple[str, int]]] = [[] for _ in groups]
        # Where lists are much beside the memory, nobody gets more of a line than is needed.
        is_split = 8 * n * (q + 1) * max(ks) > self.cut.memory / 8
        for name, line in zip(names, numbers, strict=True):
            for place, g in enumerate(line):
                lists[g].append((f"{name}/{place}", 0) if is_split else (name, place))
        n_columns = int(self.cut.memory / (8 * 8 * max(ks) * (n / q) * (q + 1)))
        merges = [
            OwnKthOrder(tuple(groups[g] for g in some), tuple(tuple(lists[g]) for g in some), ks)
            for some in columns(q, n_columns)
        ]
        on_lines: dict[str, Future] = {}

        def start_line(i: int) -> Future:
            line = self.gathering.submit(orders[i], needed[i], terms)
            if is_split:
                for place in range(q):
                    of_group = self.client.submit(one_of, line, place, pure=False)
                    on_lines[f"{names[i]}/{place}"] = of_group
            else:
                on_lines[names[i]] = line
            return line

        def submit(i: int) -> Future:
            if i < len(orders):
                return start_line(i)
            order = merges[i - len(orders)]
            for name in order.needs():  # what was found on a line may be lost with what it needed
                if on_lines[name].status in ("cancelled", "lost"):
                    start_line(names.index(name.partition("/")[0]))
            made = {name: on_lines[name] for name in order.needs()}
            return self.gathering.submit(
                order, self.sets.names(order.parts(), self.cut), terms, made
            )

        shares = [n * (stop - start) for start, stop in runs(n, len(orders))]
        pairs = [*shares, *(0 for _ in merges)]
        found = self._take(len(pairs), submit, pairs, n_left_there=len(orders))
        return found[len(orders) :]

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
        orders = self._relate_orders(meeting, around)
        own, others = len(balls.around_queries), len(balls.around_references)
        of_queries = _Growing(Met.nobody(len(balls.queries), own, others, 0))
        of_references = _Growing(Met.nobody(len(balls.references), others, own, meeting.n_ratios))

        def done(i: int, answer: tuple[NDArray[Any], ...]) -> None:
            of_queries.add(orders[i].queries, Met(*answer[:_MET]))
            of_references.add(_together(orders[i].references), Met(*answer[_MET:]))

        named, terms = self._named(orders), self._terms()
        pairs = [len(o.queries) * sum(map(len, o.references)) for o in orders]
        self._take(len(orders), lambda i: self.gathering.submit(*named[i], terms), pairs, done)
        self.gathering.forget([around])
        return Relation(of_queries.met, of_references.met)

    def _relate_orders(self, meeting: Meeting, around: str) -> list[RelateOrder]:
        balls, weights = meeting.balls, meeting.weights
        queries, references = self._queries(balls.queries), self._parts(balls.references)
        if self.sets.are_whole(self.cut):
            pieces = zip((balls.queries, balls.references), self.cut.both_sides(), strict=True)
            queries, references = (
                [self.sets.part(rows, run) for run in runs(len(rows), n)] for rows, n in pieces
            )
        together = [[part] for part in references] if len(queries) < 3 else spans(references)
        return [
            RelateOrder(
                part,
                tuple(span),
                _columns(part, balls.around_queries),
                around,
                len(balls.around_references),
                meeting.nearest,
                None if weights is None else _columns(part, weights),
                float(meeting.offset),
            )
            for part in queries
            for span in together
        ]

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

    def _parts(self, rows: Rows, depth: int = 0) -> list[Part]:
        is_whole = self.sets.are_whole(self.cut)
        pieces = self.cut.references(*self._size(rows), depth=depth, is_whole=is_whole)
        return [self.sets.part(rows, run) for run in pieces]

    def _terms(self, *, kept: bool = True) -> Terms:
        checkpoint = self.checkpoint if kept and self._has_begun else None
        return Terms(self._name, self.sets.are_whole(self.cut), self.sets.placed, checkpoint)

    def _named(self, orders: Sequence[Any]) -> list[tuple[Any, list[str]]]:
        """Say what each order needs."""
        return [
            (order, [*self.sets.names(order.parts(), self.cut), *order.needs()]) for order in orders
        ]

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
        named, terms = self._named(orders), self._terms()
        found = self._take(len(orders), lambda i: self.gathering.submit(*named[i], terms), pairs)
        answers = iter(found)
        return [[next(answers) for _ in of] for of in asked]

    def _take(
        self,
        n: int,
        submit: Callable[[int], Future],
        pairs: Sequence[int] | None = None,
        done: Callable[[int, Any], None] | None = None,
        n_left_there: int = 0,
    ) -> list[Any]:
        """Return answers in order, unless somebody takes them as they come."""
        found: dict[int, Any] = {}
        take = done or found.__setitem__

        def finish(i: int, answer: Any) -> None:
            take(i, answer)
            self.advance(pairs[i] if pairs else 0)

        self.gathering.take(n, submit, finish, n_left_there=n_left_there)
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
