"""How questions become orders: which rows meet in one piece, and who had better look at it."""

from collections.abc import Sequence
from dataclasses import dataclass

from precall.data.feature_sets import Rows
from precall.engines.cluster.cut import Cut, runs, spans
from precall.engines.cluster.meetings import MeetingOrders, orders_of
from precall.engines.cluster.orders import KthOrder
from precall.engines.cluster.own.groups import number_of_groups
from precall.engines.cluster.own.radii import RadiiOrders
from precall.engines.cluster.own.undivided import Size, undivided
from precall.engines.cluster.parts import Part
from precall.engines.cluster.placed_sets import PlacedSets
from precall.engines.protocol import Meeting, Neighbors


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Cuts questions about the sets that are placed."""

    sets: PlacedSets
    cut: Cut

    @property
    def is_whole(self) -> bool:
        """Whether a worker holds all sets."""
        return self.sets.are_whole(self.cut)

    def queries(self, rows: Rows, depth: int = 0, share: int = 1) -> list[Part]:
        """Cut queries, of which each keeps ``depth`` neighbours, for one of ``share`` questions."""
        size = len(rows), rows.n_features, rows.array.dtype.itemsize
        pieces = self.cut.queries(*size, depth=depth, is_whole=self.is_whole, share=share)
        return [self.sets.part(rows, run) for run in pieces]

    def parts(self, rows: Rows) -> list[Part]:
        """Cut references, unless workers hold all of them."""
        size = len(rows), rows.n_features, rows.array.dtype.itemsize
        pieces = self.cut.references(*size, is_whole=self.is_whole)
        return [self.sets.part(rows, run) for run in pieces]

    def radii(self, questions: Sequence[Neighbors]) -> list[RadiiOrders]:
        """Plan each question: for one worker, in groups that meet once, or in pieces of queries."""
        workers = undivided([self._size_of(q) for q in questions], self.cut.n_workers)
        workers = workers if self.is_whole and self.cut.n_kinds == 1 else {}
        planned: dict[int, RadiiOrders] = {}
        for i, question in enumerate(questions):
            if i in workers:
                every = self.sets.part(question.queries, (0, len(question.queries)))
                order = KthOrder(every, ((every,),), _ks(question))
                planned[i] = RadiiOrders([order], worker=workers[i])
            elif (groups := self._groups(question)) is not None:
                planned[i] = RadiiOrders.in_groups(groups, _ks(question))
        others = [i for i in range(len(questions)) if i not in planned]
        for i in others:
            planned[i] = RadiiOrders(self._kth_orders(questions[i], len(others)))
        return [planned[i] for i in range(len(questions))]

    def _size_of(self, question: Neighbors) -> Size:
        """Whether a worker may answer a question alone, and how long that takes."""
        n, n_features = len(question.queries), question.queries.n_features
        is_own = _is_own(question)
        fits = n <= self.cut.rows_of_question(n_features, max(question.ks))
        n_pairs = n**2 // 2 if is_own else n * sum(map(len, question.references))
        return Size(n_pairs, n, n_features, is_own and fits)

    def _kth_orders(self, question: Neighbors, share: int) -> list[KthOrder]:
        classes = tuple(tuple(self.parts(rows)) for rows in question.references)
        parts = self.queries(question.queries, max(question.ks), share)
        return [KthOrder(queries, classes, _ks(question)) for queries in parts]

    def _groups(self, question: Neighbors) -> list[Part] | None:
        """Groups of rows that are compared among themselves; None where these are no use."""
        rows, depth = question.queries, max(question.ks)
        if not _is_own(question):
            return None
        n_features, cut = rows.n_features, self.cut
        itemsize = rows.array.dtype.itemsize
        most = len(rows) if self.is_whole else cut.rows_of_part(n_features, itemsize, depth)
        n = number_of_groups(len(rows), n_features, depth, most, cut.memory, cut.n_workers)
        return None if n is None else [self.sets.part(rows, run) for run in runs(len(rows), n)]

    def meeting(self, meeting: Meeting, around: str) -> MeetingOrders:
        """Cut a meeting; what is around references was sent under a name."""
        if self.is_whole:
            return MeetingOrders.of_whole_sets(meeting, around, self.cut, self.sets.part)
        queries = self.queries(meeting.balls.queries)
        references = spans(self.parts(meeting.balls.references))
        return MeetingOrders({}, orders_of(meeting, around, queries, references))


def _is_own(question: Neighbors) -> bool:
    """Whether rows are compared among themselves."""
    references = question.references
    return len(references) == 1 and question.queries.is_same_as(references[0])


def _ks(question: Neighbors) -> tuple[int, ...]:
    return tuple(map(int, question.ks))
