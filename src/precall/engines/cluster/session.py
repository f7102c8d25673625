"""A session over rows that workers hold: questions become orders, and their answers one answer."""

import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.value_checks import ValueCheck
from precall.engines.answers import Counts, Floats, Met, Nearest, Relation
from precall.engines.cluster.checkpoint import Checkpoint
from precall.engines.cluster.cut import Cut, runs
from precall.engines.cluster.gathering import Gathering
from precall.engines.cluster.making import Making
from precall.engines.cluster.on_workers.carrying_out import Terms, add_up
from precall.engines.cluster.on_workers.workbench import clear_benches
from precall.engines.cluster.orders import (
    CheckOrder,
    Comparison,
    CountOrder,
    HoldOrder,
    LogSumsOrder,
    ScatterOrder,
    TotalOrder,
)
from precall.engines.cluster.own.radii import RadiiOrders
from precall.engines.cluster.parts import Part
from precall.engines.cluster.placed_sets import PlacedSets
from precall.engines.cluster.plan import Plan
from precall.engines.cpu.engine import CpuEngine
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Session

_CHECKED_AT_A_TIME = 256 * 2**20  # bytes
_REMEMBERED = 16  # of the memory of a worker, for what it remembers of earlier orders
_MET = len(fields(Met))
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


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
            self.cut = Cut(**self.checkpoint.settle(about, asdict(self.cut)))

    def place(self, *sets: Rows) -> None:
        """Remember the arrays that these rows are stored in."""
        self.sets.place(*sets)

    def drop(self, *sets: Rows) -> None:
        """Forget the arrays that these rows are stored in."""
        self.sets.drop(*sets)

    def close(self) -> None:
        """Let workers forget this session."""
        with suppress(Exception):  # the cluster may be gone, for which Dask waits half a minute
            if self.client.status == "running":
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

    @property
    def _plan(self) -> Plan:
        return Plan(self.sets, self.cut)

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
        planned = self._plan.radii(questions)
        if self._plan.is_whole:
            batches = [planned]
        else:  # groups one question after the other: what is found takes room
            together = [plan for plan in planned if not plan.groups]
            batches = [*([plan] for plan in planned if plan.groups), together]
        found: dict[int, Floats] = {}
        for batch in batches:
            found |= zip(map(id, batch), self._radii(batch), strict=True)
        return [found[id(plan)] for plan in planned]

    def _radii(self, planned: Sequence[RadiiOrders]) -> list[Floats]:
        """Have the orders of some questions carried out; those that others wait for go first."""
        alone = [order for plan in planned if plan.worker is not None for order in plan.answers]
        workers = {id(o): plan.worker for plan in planned for o in plan.answers}
        # All groups before any pairs: whoever waits for one has nothing else to do.
        made: dict[str, Any] = {n: order for plan in planned for n, order in plan.groups.items()}
        made |= {name: order for plan in planned for name, order in plan.pairs.items()}
        others = [order for plan in planned if plan.worker is None for order in plan.answers]
        # Who answers a question alone has seen few of the rows; those to come need all of them.
        holds = [HoldOrder(self.sets.every_row()) for _ in range(self.cut.n_workers) if alone]
        workers |= {id(order): worker for worker, order in enumerate(holds)}
        orders = [*alone, *made.values(), *others, *holds]
        answers = self._carried_out(
            orders, made=made, left=range(len(alone), len(alone) + len(made)), workers=workers
        )
        found = {id(order): answer for order, answer in zip(orders, answers, strict=True)}
        return [np.concatenate([found[id(o)][0] for o in plan.answers]) for plan in planned]

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""
        self.place(*[rows for balls in questions for rows in (balls.queries, balls.references)])
        around = [self.sets.send(np.ascontiguousarray(q.around_references)) for q in questions]
        asked = [
            [
                CountOrder(
                    part,
                    tuple(self._plan.parts(balls.references)),
                    _columns(part, balls.around_queries),
                    name,
                    len(balls.around_references),
                )
                for part in self._plan.queries(balls.queries, share=len(questions))
            ]
            for balls, name in zip(questions, around, strict=True)
        ]
        answers = self._ask(asked)
        self.gathering.forget(around)
        return [np.concatenate([counts for (counts,) in of]) for of in answers]

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        return [self._relate(question) for question in questions]

    def _relate(self, meeting: Meeting) -> Relation:
        balls = meeting.balls
        self.place(*[balls.queries, balls.references])
        around = self.sets.send(np.ascontiguousarray(balls.around_references))
        cut = self._plan.meeting(meeting, around)
        orders = [*cut.scouts.values(), *cut.others]
        own, others = len(balls.around_queries), len(balls.around_references)
        of_queries = _Growing(Met.nobody(len(balls.queries), own, others, 0))
        of_references = _Growing(Met.nobody(len(balls.references), others, own, meeting.n_ratios))

        def done(i: int, answer: tuple[NDArray[Any], ...]) -> None:
            of_queries.add(orders[i].queries, Met(*answer[:_MET]))
            of_references.add(_together(orders[i].references), Met(*answer[_MET:]))

        self._carried_out(orders, made=cut.scouts, done=done)
        self.gathering.forget([around])
        return Relation(of_queries.met, of_references.met)

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""
        self.place(*[rows for of in questions for rows in (of.queries, of.references)])
        asked = [
            [
                LogSumsOrder(
                    part,
                    tuple(self._plan.parts(of.references)),
                    np.asarray(of.limits, np.float64),
                    float(floor),
                )
                for part in self._plan.queries(of.queries, share=len(questions))
            ]
            for of in questions
        ]
        answers = self._ask(asked)
        return [np.concatenate([sums for (sums,) in of], axis=1) for of in answers]

    def total(self, rows: Rows) -> Floats:
        """See :meth:`Session.total`."""
        self.place(rows)
        orders = [TotalOrder(part) for part in self._plan.queries(rows)]
        return self._added(orders, rows, [])

    def scatter(self, rows: Rows, center: Floats) -> Floats:
        """See :meth:`Session.scatter`."""
        self.place(rows)
        name = self.sets.send(np.asarray(center))
        orders = [ScatterOrder(part, name) for part in self._plan.queries(rows)]
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

    def _terms(self, *, kept: bool = True) -> Terms:
        checkpoint = self.checkpoint if kept and self._has_begun else None
        remembered = self.cut.memory // _REMEMBERED
        is_whole = self.sets.are_whole(self.cut)
        return Terms(self._name, is_whole, self.sets.placed, remembered, checkpoint)

    def _carried_out(
        self,
        orders: Sequence[Comparison],
        *,
        made: Mapping[str, Any] = _NOTHING,
        left: Collection[int] = (),
        done: Callable[[int, Any], None] | None = None,
        workers: Mapping[int, int | None] = _NOTHING,
    ) -> list[Any]:
        """Have orders carried out.

        Parameters
        ----------
        made
            Those of them that others need, by the name of what they find.
        left
            Numbers of those whose answers stay with the workers.
        workers
            By the identity of an order, the number of the worker that had better carry it out.
        """
        terms = {True: self._terms(), False: self._terms(kept=False)}
        held = () if left else tuple(self._held)  # what others need must come for sure

        def submit(order: Any, found: Mapping[str, Future], is_full: bool) -> Future:
            sent = [name for name in order.needs() if name not in found]
            rows = self.sets.names(order.parts(), self.cut, held=() if is_full else held)
            holds = isinstance(order, HoldOrder)  # for this worker; no answer to keep
            worker, names = workers.get(id(order)), [*rows, *sent]
            return self.gathering.submit(
                order, names, terms[not holds], found, worker, by_nobody_else=holds
            )

        making = Making(dict(made), submit)
        answers = self._take(
            len(orders),
            lambda i: making.future(orders[i]),
            [order.n_pairs for order in orders],
            done,
            left,
            lambda i: making.lacks(orders[i]),
        )
        self._held |= self._held_by_all(orders)
        return answers

    def _held_by_all(self, orders: Sequence[Any]) -> set[str]:
        """Sets that so many orders needed that each worker has had one of these, probably."""
        needed = Counter(name for o in orders for name in {part.source for part in o.parts()})
        return {name for name, times in needed.items() if times >= self.cut.n_workers}

    def _ask(self, asked: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Have the orders of several questions carried out at once; return answers by question."""
        answers = iter(self._carried_out([order for of in asked for order in of]))
        return [[next(answers) for _ in of] for of in asked]

    def _take(
        self,
        n: int,
        submit: Callable[[int], Future],
        pairs: Sequence[int] | None = None,
        done: Callable[[int, Any], None] | None = None,
        left: Collection[int] = (),
        lacks: Callable[[int], None] = lambda i: None,
    ) -> list[Any]:
        """Return answers in order, unless somebody takes them as they come."""
        found: dict[int, Any] = {}
        take = done or found.__setitem__
        known = [0] * n  # pairs of each order that were reported

        def finish(i: int, answer: Any) -> None:
            take(i, answer)
            report(i, pairs[i] if pairs else 0)

        def report(i: int, n_pairs: int) -> None:
            most = pairs[i] if pairs else 0
            more = max(0, min(n_pairs, most) - known[i])  # of one that began anew, less than before
            known[i] += more
            self.advance(more)

        self.gathering.take(n, submit, finish, left=left, lacks=lacks, under_way=report)
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
