"""The CPU engine: an exact integer filter first, float64 where it leaves a doubt.

Each answer is that of ``reference.py``, to the bit; only the way there differs. Rows are placed on
an integer grid (``grid``), compared tile by tile in registers (``tiles``), and the few pairs that
the grid's error bound leaves open are measured (``nearest``, ``counts``, ``relations``). Where
these would not be few, because the data has no one scale, tiles of float64 differences take the
place of the grid. Work is cut into chunks of queries, which threads take in any order.

Extra memory: four bytes a value of all sets (their integers, and references packed), what the
answers hold, for each thread one chunk of queries with its candidates, and where questions share a
pass its lists (``sharing``), within a budget; nothing that grows with n · m. Memory-mapped float32
or float64 input in C order is never copied whole.
"""

import math
from collections.abc import Sequence

import numpy as np

from precall.engines.answers import Counts, Floats, Met, Nearest, Relation
from precall.engines.cpu.candidates import (
    UNKNOWN,
    Candidates,
    collect_nearest,
    mark_unproven,
)
from precall.engines.cpu.counts import HITS_AT_A_TIME, Waiting, ball_limits, count_near
from precall.engines.cpu.kernel_choice import best_kernel
from precall.engines.cpu.log_sums import sum_logs
from precall.engines.cpu.meeting.between_kernels import nearest_within
from precall.engines.cpu.meeting.known import KnownReferences
from precall.engines.cpu.meeting.session import BetweenSession
from precall.engines.cpu.mutual import collect_mutually, is_worth_it
from precall.engines.cpu.nearest import kth_distances
from precall.engines.cpu.pairs import Queries
from precall.engines.cpu.placed_session import CHUNKS_PER_THREAD, in_order
from precall.engines.cpu.relations import Ratios, Side, relate
from precall.engines.cpu.rows import PackedReferences, PackedRows, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.tiling.tiles import room_for_hits
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors
from precall.runtime.threads import in_threads

_CAPACITY_PER_NEIGHBOR = 4
_LEAST_CAPACITY = 64
_PACKED_TOGETHER = 2**22  # numbers
_MANY_UNKNOWN = 1 / 8  # of a chunk: then the next one begins with direct tiles


class CpuEngine:
    """Exact answers at about the cost of the matrix products that they need.

    Parameters
    ----------
    kernel
        ``"avx512"``, ``"avx2"`` or ``"portable"``; by default the best of this machine.
    chunk
        Queries in a chunk; by default what fits the cache. Changes no number.
    is_direct
        Whether to compare rows in float64 from the start, even where integers would do. Changes no
        number.
    """

    name = "cpu"

    def __init__(
        self, kernel: str | None = None, chunk: int | None = None, *, is_direct: bool = False
    ) -> None:
        self.kernel = best_kernel(kernel)
        self.chunk, self.is_direct = chunk, is_direct

    def open(self, threads: int, advance: Advance) -> "CpuSession":
        """Return a session that holds no rows yet."""
        return CpuSession(self.kernel, self.chunk, self.is_direct, threads, advance)


class CpuSession(BetweenSession):
    """Answers questions about placed sets."""

    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """See :meth:`Session.nearest`."""
        every = [
            Neighbors(question.queries, (rows,), range(1, max(question.ks) + 1))
            for question in questions
            for rows in question.references
        ]
        found = (Nearest(np.ascontiguousarray(of[:, 0])) for of in self.kth(every))
        return [[next(found) for _ in question.references] for question in questions]

    def kth(self, questions: Sequence[Neighbors]) -> list[Floats]:
        """See :meth:`Session.kth`."""
        if not questions:
            return []
        self._settle()
        self._acquaint(questions)
        if self._known is not None:
            return self._listed_kth(self._known, questions)
        own = self._answered_of_themselves(questions)
        others = [question for i, question in enumerate(questions) if i not in own]

        def work(i: int, queries: PackedRows, places: Places) -> Floats:
            found = self._kth(queries, others[i])
            self.advance(len(places) * sum(map(len, others[i].references)))
            return found

        queries = [question.queries for question in others]
        room = max((len(q.references) * 8 * _capacity(max(q.ks)) for q in others), default=0)
        parts = self._over_chunks("kth", queries, work, bytes_a_query=room)
        found = iter(in_order(of_question) for of_question in parts)
        return [own[i] if i in own else next(found) for i in range(len(questions))]

    def _asks_of_itself(self, question: Neighbors) -> bool:
        """Whether queries are the references, and every pair is worth looking at once."""
        is_own = len(question.references) == 1 and question.queries is question.references[0]
        shape = self.kernel.shape(is_direct=self._is_direct("kth"))
        size = len(question.queries), question.queries.n_features
        return is_own and is_worth_it(*size, max(question.ks), shape)

    def _answered_of_themselves(self, questions: Sequence[Neighbors]) -> dict[int, Floats]:
        """Answer the questions that rows ask of themselves; small ones are packed together."""
        asked = {i: q for i, q in enumerate(questions) if self._asks_of_itself(q)}
        n_values = sum(len(q.queries) * q.queries.n_features for q in asked.values())
        if n_values > _PACKED_TOGETHER:
            return {i: self._own_kth(q, *self._own_rows(q)) for i, q in asked.items()}
        packed = in_threads(self._own_rows, asked.values(), self.threads)
        return {i: self._own_kth(asked[i], *of) for i, of in zip(asked, packed, strict=True)}

    def _own_rows(self, question: Neighbors) -> tuple[PackedRows, PackedReferences]:
        """Pack rows on both sides of tiles, in the same order."""
        is_direct = self._is_direct("kth")
        references = self._references(question.queries, is_direct=is_direct)
        placed, height = self._set(question.queries), self.kernel.shape(is_direct=is_direct).rows
        rows = references.packed.rows
        return PackedRows.of(placed, rows, height, is_direct=is_direct), references

    def _own_kth(
        self, question: Neighbors, queries: PackedRows, references: PackedReferences
    ) -> Floats:
        """How far rows are from their k-th nearest among themselves."""
        is_direct, depth = queries.is_direct, max(question.ks)
        if self._is_direct("kth") and not is_direct:  # as it turned out meanwhile
            return self._own_kth(question, *self._own_rows(question))
        shape, placed = self.kernel.shape(is_direct=is_direct), self._set(question.queries)
        rows, far_rows = references.packed.rows, references.far_rows
        ruler, together = self._ruler(queries), self._chunk_size([question.queries]) // shape.rows
        found = collect_mutually(
            queries, references, shape, ruler, depth, max(1, together), self.threads, self.advance
        )
        if not is_direct and np.mean(found.sizes == UNKNOWN) > _MANY_UNKNOWN:
            self._needs_direct.add("kth")
            return self._own_kth(question, queries, references)
        self.advance(len(question.queries) ** 2 - len(rows) ** 2)
        out = np.empty((len(question.queries), 1, len(question.ks)))

        def finish(part: slice) -> None:
            chosen = queries.queries._replace(
                rows=rows[part], lengths=queries.queries.lengths[part]
            )
            of_part = np.empty((len(chosen.rows), 1, len(question.ks)))
            _tell(chosen, [references], [found.part(part)], question.ks, ruler, of_part)
            self._ask_again(of_part, chosen.rows, question, is_direct=is_direct)
            out[references.places[part]] = of_part

        size = math.ceil(len(rows) / (CHUNKS_PER_THREAD * self.threads))
        parts = [slice(start, start + size) for start in range(0, len(rows), size)]
        in_threads(finish, parts, self.threads)
        if len(far_rows):
            far = PackedRows.of(placed, far_rows, self.kernel.direct.rows, is_direct=True)
            out[references.far_places] = self._kth(far, question)
        return out

    def _kth(self, queries: PackedRows, question: Neighbors, *, guesses: bool = True) -> Floats:
        """Answer for a chunk."""
        is_direct = queries.is_direct
        classes = [self._references(rows, is_direct=is_direct) for rows in question.references]
        out = np.empty((len(queries.rows), 1 if len(classes) == 1 else 3, len(question.ks)))
        depth = max(question.ks)
        found = [self._candidates(queries, of, c, depth, guesses) for c, of in enumerate(classes)]
        _tell(queries.queries, classes, found, question.ks, self._ruler(queries), out)
        self._ask_again(out, queries.rows, question, is_direct=is_direct, guesses=guesses)
        return out

    def _ask_again(
        self,
        out: Floats,
        rows: Places,
        question: Neighbors,
        *,
        is_direct: bool,
        guesses: bool = True,
    ) -> None:
        """Fill in what the candidates did not tell: without a guess, and then directly."""
        unknown = np.flatnonzero(np.isnan(out[:, 0, 0]))
        if len(unknown) == 0:
            return
        if not is_direct and len(unknown) > _MANY_UNKNOWN * len(out):
            self._needs_direct.add("kth")
        is_direct = is_direct or not guesses or self._is_direct("kth")
        height, placed = self.kernel.shape(is_direct=is_direct).rows, self._set(question.queries)
        again = PackedRows.of(placed, rows[unknown], height, is_direct=is_direct)
        out[unknown] = self._kth(again, question, guesses=False)

    def _candidates(
        self,
        queries: PackedRows,
        references: PackedReferences,
        label: int,
        depth: int,
        guesses: bool,
    ) -> Candidates:
        error, n_padded = queries.error + references.largest_error, len(queries.norm)
        found, ruler = Candidates.none(error, _capacity(depth), n_padded), self._ruler(queries)
        tiles = self._tiles(queries, references)
        n_guessed = len(tiles.b) if guesses else 0
        hits = room_for_hits(self.kernel.shape(is_direct=queries.is_direct))
        collect_nearest(
            tiles, (0, 0), False, len(tiles.a), n_guessed, label, references.never, ruler, depth,
            queries.queries, references.references, hits, found,
        )  # fmt: skip
        if guesses:
            mark_unproven(found, depth, len(references.places), ruler, False)
        return found

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""
        known = self._known
        if known is None or not all(known.knows(q.queries, q.references) for q in questions):
            return self._count(questions)
        counts, n_compared = self._listed_counts(known, questions)
        n_pairs = sum(len(q.queries) * len(q.references) for q in questions)
        self.advance(max(0, n_pairs - n_compared))
        return counts

    def _count(self, questions: Sequence[Balls]) -> list[Counts]:
        """Compare every query with every reference."""

        def work(i: int, queries: PackedRows, places: Places) -> Counts | None:
            balls, n = questions[i], len(places)
            references = self._references(balls.references, is_direct=queries.is_direct)
            n_balls = len(balls.around_queries) + len(balls.around_references)
            counts = np.empty((n, n_balls), np.int64)
            around = references.thresholds(balls.around_queries[:, places], balls.around_references)
            codes, cols = np.empty((2, n, HITS_AT_A_TIME), np.int32)
            scratch = np.empty(HITS_AT_A_TIME, np.int32)
            waiting = Waiting(codes, cols, np.empty(n, np.int64), scratch)
            hits = room_for_hits(self.kernel.shape(is_direct=queries.is_direct))
            if not count_near(*self._pair(queries, references), around, waiting, hits, counts):
                return None
            self.advance(n * len(references))
            return counts

        parts = self._over_chunks("count", [balls.queries for balls in questions], work)
        return [in_order(of_question) for of_question in parts]

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        found = [self._listed_relation(meeting) for meeting in questions]
        others = [q for q, relation in zip(questions, found, strict=True) if relation is None]
        compared = iter(self._relate(others))
        return [next(compared) if relation is None else relation for relation in found]

    def relate_further(
        self, questions: Sequence[Meeting], known: Sequence[Relation]
    ) -> list[Relation]:
        """See :meth:`Session.relate_further`."""
        found = self._relate(questions, known)
        return [
            Relation(before.of_queries.merge(relation.of_queries), relation.of_references)
            for before, relation in zip(known, found, strict=True)
        ]

    def _relate(
        self, questions: Sequence[Meeting], before: Sequence[Relation] | None = None
    ) -> list[Relation]:
        """Compare every query with every reference, in one pass; what was known spares work."""
        if not questions:
            return []
        self._settle()
        before = [_nobody(meeting) for meeting in questions] if before is None else before
        known = [
            KnownReferences(
                relation.of_references,
                q.balls.around_references,
                self._set(q.balls.queries).largest_error(q.balls.queries.stored),
                self._ruler,
                wants_best=q.wants_best,
            )
            for q, relation in zip(questions, before, strict=True)
        ]

        def work(i: int, queries: PackedRows, places: Places) -> Met | None:
            of_chunk = before[i].of_queries.select(places)
            of_queries = self._meet(questions[i], queries, places, of_chunk, known[i])
            if of_queries is None:
                return None
            self.advance(len(places) * len(questions[i].balls.references))
            return of_queries

        queries = [meeting.balls.queries for meeting in questions]
        is_weighed = any(meeting.n_ratios for meeting in questions)
        orders = [_heaviest_first(meeting) for meeting in questions] if is_weighed else None
        parts = self._over_chunks("relate", queries, work, orders)
        relations = []
        for of_question, of_references in zip(parts, known, strict=True):
            places = np.concatenate([places for places, _ in of_question])
            of_queries = Met.concat([met for _, met in of_question]).select(np.argsort(places))
            relations.append(Relation(of_queries, of_references.met()))
        return relations

    def _meet(
        self,
        meeting: Meeting,
        queries: PackedRows,
        part: Places,
        of_chunk: Met,
        known: KnownReferences,
    ) -> Met | None:
        """Let a chunk of queries meet all references; of both some is known from before."""
        balls, n = meeting.balls, len(queries.rows)
        references = self._references(balls.references, is_direct=queries.is_direct)
        begun = known.begin(references)
        of_query = Side.of(of_chunk, wants_best=meeting.wants_best)
        weights = np.empty((0, n)) if meeting.weights is None else meeting.weights[:, part].copy()
        tiles, bound, rows, members = self._pair(queries, references)
        bound = bound._replace(largest_row_error=known.largest_error(references))
        around, of_references = known.balls(references, balls.around_queries[:, part])
        others = bound.largest_col_error, bound.ruler
        of_rows = ball_limits(around.of_query, bound.row_error, *others, len(queries.norm))
        is_done = relate(
            tiles,
            bound,
            rows,
            members,
            around,
            of_rows,
            of_references,
            Ratios(weights, weights.max(axis=1, initial=-1.0), meeting.offset),
            room_for_hits(self.kernel.shape(is_direct=queries.is_direct)),
            np.empty_like(queries.norm),
            begun.tile,
            of_query,
            begun.near,
            begun.far,
        )
        if not is_done:
            return None
        known.add(begun)
        return of_query.met()

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""

        def work(i: int, queries: PackedRows, places: Places) -> Floats | None:
            rows = questions[i].references
            references = self._references(rows, is_direct=queries.is_direct)
            sums = np.empty((len(questions[i].limits), len(places)))
            is_done = sum_logs(
                *self._pair(queries, references),
                references.never,
                np.asarray(questions[i].limits, np.float64),
                floor,
                room_for_hits(self.kernel.shape(is_direct=queries.is_direct)),
                sums,
            )
            if not is_done:
                return None
            self.advance(len(places) * len(references))
            return sums.T

        parts = self._over_chunks("log_sums", [question.queries for question in questions], work)
        return [np.ascontiguousarray(in_order(of_question).T) for of_question in parts]


def _capacity(depth: int) -> int:
    """Room for the candidates of a query."""
    return max(_LEAST_CAPACITY, _CAPACITY_PER_NEIGHBOR * depth)


def _tell(
    queries: Queries,
    classes: Sequence[PackedReferences],
    found: Sequence[Candidates],
    ks: Sequence[int],
    ruler: Ruler,
    out: Floats,
) -> None:
    """Tell how far the k-th of the candidates are; see :func:`kth_distances`.

    Where every k is asked, all are measured and sorted, instead of one k after the other.
    """
    members = [references.references for references in classes]
    depth = max(ks)
    if len(classes) == 1 and 1 < len(ks) == depth and len(members[0].far) == 0:
        any_distance = np.full(len(out), np.inf)
        every = out.reshape(len(out), depth)
        nearest_within(queries, members[0], found[0], any_distance, depth, ruler, every)
        return
    both = (members[0], members[-1]), (found[0], found[-1])
    kth_distances(queries, *both, ks, ruler, False, out)  # in any order


def _nobody(meeting: Meeting) -> Relation:
    """What both sides are to each other before they meet."""
    balls = meeting.balls
    n_own, n_others = len(balls.around_queries), len(balls.around_references)
    return Relation(
        Met.nobody(len(balls.queries), n_own, n_others, 0),
        Met.nobody(len(balls.references), n_others, n_own, meeting.n_ratios),
    )


def _heaviest_first(meeting: Meeting) -> Places:
    """In this order the largest ratios are found early, and the rest can be left alone."""
    if meeting.weights is None or meeting.n_ratios == 0:
        return np.arange(len(meeting.balls.queries))
    return np.argsort(-meeting.weights[0], kind="stable")
