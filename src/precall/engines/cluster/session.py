"""A session over rows that workers hold: questions become orders, and their answers one answer."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from operator import itemgetter
from typing import Any

import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.value_checks import ValueCheck
from precall.engines.answers import Counts, Floats, Met, Nearest, Relation
from precall.engines.cluster.carrying_out import Terms, add_up
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
from precall.engines.cluster.planes import lines, order_of_plane
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
        self.client, self.cut, self.checkpoint, self._end = client, cut, checkpoint, end
        self._name = uuid.uuid4().hex[:12]
        terms = Terms(self._name, False, ())
        self.gathering = Gathering(client, terms.topic)
        self.sets = PlacedSets(self.gathering, names_by_content=checkpoint is not None)

    # Sets

    def begin(self, about: Mapping[str, Any]) -> None:
        """Refuse a checkpoint of other inputs or choices; go on with pieces as they were cut."""
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
        found = self._carry_out(
            [(order, [name]) for order in orders], terms=self._terms(kept=False)
        )
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
        own = (self._own_kth(question) for question in questions)
        return [
            self._kth(question) if found is None else found
            for question, found in zip(questions, own, strict=True)
        ]

    def _kth(self, question: Neighbors) -> Floats:
        depth, ks = max(question.ks), tuple(int(k) for k in question.ks)
        classes = [self._parts(rows, depth=depth) for rows in question.references]
        orders = [
            KthOrder(queries, tuple(map(tuple, classes)), ks)
            for queries in self._queries(question.queries, depth=depth)
        ]
        needed = question.queries, *question.references
        pairs = sum(map(len, question.references))
        found = self._ask(orders, needed, [len(order.queries) * pairs for order in orders])
        return np.concatenate([squared for (squared,) in found])

    def _own_kth(self, question: Neighbors) -> Floats | None:
        """Let rows meet once that are compared among themselves; None where that is no use."""
        rows, depth, ks = question.queries, max(question.ks), tuple(map(int, question.ks))
        if len(question.references) > 1 or not rows.is_same_as(question.references[0]):
            return None
        size = rows.n_features, rows.array.dtype.itemsize
        most = len(rows) if self.sets.are_whole(self.cut) else self.cut.rows_of_line(*size, depth)
        q = order_of_plane(len(rows), rows.n_features, depth, most)
        if q is None:
            return None
        groups = [self.sets.part(rows, run) for run in runs(len(rows), q * q)]
        found = self._on_plane(rows, groups, q, ks)
        return np.concatenate([squared for (squared,) in found])

    def _on_plane(
        self, rows: Rows, groups: Sequence[Part], q: int, ks: tuple[int, ...]
    ) -> list[tuple[Floats]]:
        on_lines = [LineOrder(tuple(groups[g] for g in line), max(ks)) for line in lines(q)]
        terms, names = self._terms(), {part: self.sets.names([part]) for part in groups}
        lists: list[dict[str, Future]] = [{} for _ in groups]

        def start_lines() -> None:
            for order, line in zip(on_lines, lines(q), strict=True):
                needed = list(dict.fromkeys(name for g in line for name in names[groups[g]]))
                future, digest = self.gathering.submit(order, needed, terms), digest_of_order(order)
                for place, g in enumerate(line):
                    of_group = self.client.submit(itemgetter(place), future, pure=False)
                    lists[g][f"{digest}/{place}"] = of_group

        def submit(i: int) -> Future:
            if any(future.status in ("cancelled", "lost") for future in lists[i].values()):
                start_lines()
            order = OwnKthOrder(groups[i], tuple(lists[i]), ks)
            return self.gathering.submit(order, names[groups[i]], terms, lists[i])

        start_lines()
        shares = [len(rows) * (stop - start) for start, stop in runs(len(rows), q * q)]
        return self._take(len(groups), submit, shares)

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""
        return [self._count(question) for question in questions]

    def _count(self, balls: Balls) -> Counts:
        around = self.sets.send(np.ascontiguousarray(balls.around_references))
        references = tuple(self._parts(balls.references))
        n_balls = len(balls.around_references)
        orders = [
            CountOrder(part, references, _columns(part, balls.around_queries), around, n_balls)
            for part in self._queries(balls.queries)
        ]
        pairs = [len(order.queries) * len(balls.references) for order in orders]
        found = self._ask(orders, (balls.queries, balls.references), pairs)
        self.gathering.forget([around])
        return np.concatenate([counts for (counts,) in found])

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        return [self._relate(question) for question in questions]

    def _relate(self, meeting: Meeting) -> Relation:
        balls, offset = meeting.balls, float(meeting.offset)
        around = self.sets.send(np.ascontiguousarray(balls.around_references))
        parts = {part.runs[0]: part for part in self._parts(balls.references)}
        n_balls, n_ratios = len(balls.around_references), meeting.n_ratios
        orders = [
            RelateOrder(
                part,
                tuple(parts[run] for run in span),
                _columns(part, balls.around_queries),
                around,
                n_balls,
                meeting.nearest,
                None if meeting.weights is None else _columns(part, meeting.weights),
                offset,
            )
            for part in self._queries(balls.queries)
            for span in spans(list(parts))
        ]
        own, others = len(balls.around_queries), len(balls.around_references)
        of_queries = _Growing(Met.nobody(len(balls.queries), own, others, 0))
        of_references = _Growing(Met.nobody(len(balls.references), others, own, n_ratios))

        def done(i: int, answer: tuple[NDArray[Any], ...]) -> None:
            of_queries.add(orders[i].queries, Met(*answer[:_MET]))
            of_references.add(_together(orders[i].references), Met(*answer[_MET:]))

        pairs = [len(o.queries) * sum(map(len, o.references)) for o in orders]
        self._ask(orders, (balls.queries, balls.references), pairs, done)
        self.gathering.forget([around])
        return Relation(of_queries.met, of_references.met)

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""
        return [self._log_sums(question, floor) for question in questions]

    def _log_sums(self, question: Limits, floor: float) -> Floats:
        limits, references = np.asarray(question.limits, float), self._parts(question.references)
        orders = [
            LogSumsOrder(part, tuple(references), limits, float(floor))
            for part in self._queries(question.queries)
        ]
        pairs = [len(order.queries) * len(question.references) for order in orders]
        found = self._ask(orders, (question.queries, question.references), pairs)
        return np.concatenate([sums for (sums,) in found], axis=1)

    def total(self, rows: Rows) -> Floats:
        """See :meth:`Session.total`."""
        orders = [TotalOrder(part) for part in self._queries(rows)]
        return self._added(orders, rows, [])

    def scatter(self, rows: Rows, center: Floats) -> Floats:
        """See :meth:`Session.scatter`."""
        name = self.sets.send(np.asarray(center))
        orders = [ScatterOrder(part, name) for part in self._queries(rows)]
        found = self._added(orders, rows, [name])
        self.gathering.forget([name])
        return found

    def _added(self, orders: Sequence[Any], rows: Rows, names: list[str]) -> Floats:
        """Add answers up on the workers, in a fixed order, so that one comes here."""
        terms, needed = self._terms(kept=False), [*self.sets.names_of_rows(rows), *names]

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

    def _queries(self, rows: Rows, depth: int = 0) -> list[Part]:
        is_whole = self.sets.are_whole(self.cut)
        pieces = self.cut.queries(*self._size(rows), depth=depth, is_whole=is_whole)
        return [self.sets.part(rows, run) for run in pieces]

    def _parts(self, rows: Rows, depth: int = 0) -> list[Part]:
        is_whole = self.sets.are_whole(self.cut)
        pieces = self.cut.references(*self._size(rows), depth=depth, is_whole=is_whole)
        return [self.sets.part(rows, run) for run in pieces]

    def _terms(self, *, kept: bool = True) -> Terms:
        checkpoint = self.checkpoint if kept else None
        return Terms(self._name, self.sets.are_whole(self.cut), self.sets.placed, checkpoint)

    def _ask(
        self,
        orders: Sequence[Any],
        needed: Sequence[Rows],
        pairs: Sequence[int],
        done: Callable[[int, Any], None] | None = None,
    ) -> list[Any]:
        """Have orders about placed rows carried out."""
        for rows in needed:
            self.place(rows)
        named = [(order, [*self.sets.names(order.parts()), *order.needs()]) for order in orders]
        return self._carry_out(named, pairs, done)

    def _carry_out(
        self,
        orders: Sequence[tuple[Any, list[str]]],
        pairs: Sequence[int] | None = None,
        done: Callable[[int, Any], None] | None = None,
        terms: Terms | None = None,
    ) -> list[Any]:
        settled = terms or self._terms()
        return self._take(
            len(orders), lambda i: self.gathering.submit(*orders[i], settled), pairs, done
        )

    def _take(
        self,
        n: int,
        submit: Callable[[int], Future],
        pairs: Sequence[int] | None = None,
        done: Callable[[int, Any], None] | None = None,
    ) -> list[Any]:
        """Return answers in order, unless somebody takes them as they come."""
        found: dict[int, Any] = {}
        take = done or found.__setitem__

        def finish(i: int, answer: Any) -> None:
            take(i, answer)
            self.advance(pairs[i] if pairs else 0)

        self.gathering.take(n, submit, finish)
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
