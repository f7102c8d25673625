"""The CPU engine: an exact integer filter first, float64 where it leaves a doubt.

Each answer is that of ``reference.py``, to the bit; only the way there differs. Rows are placed on
an integer grid (``grid``), compared tile by tile in registers (``tiles``), and the few pairs that
the grid's error bound leaves open are measured (``nearest``, ``counts``, ``relations``). Work is
cut into chunks of queries, which threads take in any order.

Extra memory: four bytes a value of all sets (their integers, and references packed), what the
answers hold, and for each thread one chunk of queries with its candidates; nothing that grows with
n · m. Memory-mapped float32 or float64 input in C order is never copied whole.
"""

import math
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from precall.data.feature_sets import Rows
from precall.engines.answers import Counts, Floats, Met, Nearest, Relation
from precall.engines.cpu.counts import count_near
from precall.engines.cpu.grid import Grid
from precall.engines.cpu.kernel_choice import best_kernel
from precall.engines.cpu.log_sums import sum_logs
from precall.engines.cpu.nearest import Candidates, collect_nearest, kth_distances
from precall.engines.cpu.pairs import Bound, Tiles
from precall.engines.cpu.relations import Ratios, Side, relate
from precall.engines.cpu.rows import PackedReferences, PackedRows, PlacedSet
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Session
from precall.runtime.threads import in_threads

T = TypeVar("T")
Work = Callable[[int, PackedRows, slice], T]  # on a chunk of the queries of a question

_CHUNK_BYTES = 384 * 1024  # of packed queries: they stay in the second-level cache
_CHUNK_PRODUCTS = 2 * 10**10  # under a second: the grain of progress and of Ctrl-C
_CHUNKS_PER_THREAD = 4
_CAPACITY_PER_NEIGHBOR = 4
_LEAST_CAPACITY = 64
_MOST_PACKED = 256 * 2**20  # bytes of packed references that are kept for the next question


class CpuEngine:
    """Exact answers at about the cost of the matrix products that they need.

    Parameters
    ----------
    kernel
        ``"avx512"``, ``"avx2"`` or ``"portable"``; by default the best of this machine.
    chunk
        Queries in a chunk; by default what fits the cache. Changes no number.
    """

    name = "cpu"

    def __init__(self, kernel: str | None = None, chunk: int | None = None) -> None:
        self.kernel = best_kernel(kernel)
        self.chunk = chunk

    def open(self, threads: int, advance: Advance) -> "CpuSession":
        """Return a session that holds no rows yet."""
        return CpuSession(self, threads, advance)


class CpuSession(Session):
    """Sets on one grid, which is chosen anew when other sets are placed."""

    def __init__(self, engine: CpuEngine, threads: int, advance: Advance) -> None:
        super().__init__(threads, advance)
        self.engine, self.kernel = engine, engine.kernel
        self._arrays: list[Any] = []
        self._sets: list[PlacedSet] = []  # of the arrays; empty until a question is asked
        self.grid: Grid  # of the sets
        self._packed: list[tuple[Rows, PackedReferences]] = []  # the latest last
        self._lock = Lock()

    # Sets

    def place(self, *sets: Rows) -> None:
        """Take over the arrays that these rows are stored in."""
        for rows in sets:
            if not any(array is rows.array for array in self._arrays):
                self._arrays.append(rows.array)
                self._forget()

    def drop(self, *sets: Rows) -> None:
        """Forget the arrays that these rows are stored in."""
        dropped = [rows.array for rows in sets]
        self._arrays = [a for a in self._arrays if not any(a is array for array in dropped)]
        self._forget()

    def close(self) -> None:
        """Let go of all rows."""
        self._arrays = []
        self._forget()

    def _forget(self) -> None:
        self._sets, self._packed = [], []

    def _settle(self) -> None:
        """Place all sets on a common grid, unless they are."""
        if self._sets:
            return
        dtype = np.result_type(*(array.dtype for array in self._arrays))
        whole = [Rows(array) for array in self._arrays]
        self.grid = Grid.around(whole)
        placed = in_threads(self.grid.place_all, whole, self.threads)
        for array, on_grid in zip(self._arrays, placed, strict=True):
            base = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray).view()
            base.flags.writeable = False
            self._sets.append(PlacedSet(base, on_grid))

    def _set(self, rows: Rows) -> PlacedSet:
        for array, placed_set in zip(self._arrays, self._sets, strict=True):
            if array is rows.array:
                return placed_set
        raise LookupError("these rows were not placed")

    def _references(self, rows: Rows) -> PackedReferences:
        """Pack references, or take them as they were packed for an earlier question."""
        with self._lock:
            for known, packed in self._packed:
                if known is rows:
                    return packed
            found = PackedReferences.of(self._set(rows), rows.stored, self.kernel)
            self._packed.append((rows, found))
            while sum(p.packed.panels.nbytes for _, p in self._packed[:-1]) > _MOST_PACKED:
                self._packed.pop(0)
            return found

    # Chunks and threads

    def _over_chunks(self, queries: Sequence[Rows], work: Work[T]) -> list[list[T]]:
        """Do ``work`` on every chunk of the queries of every question; results in order."""
        if not queries:
            return []
        self._settle()
        size = self.engine.chunk or self._chunk_size(queries)
        chunks = [
            (i, slice(start, min(start + size, len(rows))))
            for i, rows in enumerate(queries)
            for start in range(0, len(rows), size)
        ]
        stored = [rows.stored for rows in queries]

        def task(chunk: tuple[int, slice]) -> T:
            i, part = chunk
            packed = PackedRows.of(self._set(queries[i]), stored[i][part], self.kernel.rows)
            return work(i, packed, part)

        found: list[list[T]] = [[] for _ in queries]
        for (i, _), result in zip(chunks, in_threads(task, chunks, self.threads), strict=True):
            found[i].append(result)
        return found

    def _chunk_size(self, queries: Sequence[Rows]) -> int:
        n_features, most_references = queries[0].n_features, max(map(len, self._arrays))
        size = min(
            _CHUNK_BYTES // (2 * n_features),
            _CHUNK_PRODUCTS // (n_features * most_references + 1),
            math.ceil(sum(map(len, queries)) / (_CHUNKS_PER_THREAD * self.threads)),
        )
        return max(1, size // self.kernel.rows) * self.kernel.rows

    # Questions

    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """See :meth:`Session.nearest`."""
        every = [Neighbors(q.queries, q.references, range(1, max(q.ks) + 1)) for q in questions]
        return [[Nearest(one) for one in of.swapaxes(0, 1)[:2]] for of in self.kth(every)]

    def kth(self, questions: Sequence[Neighbors]) -> list[Floats]:
        """See :meth:`Session.kth`."""

        def work(i: int, queries: PackedRows, part: slice) -> Floats:
            classes = [self._references(rows) for rows in questions[i].references]
            found = self._kth(queries, classes, questions[i].ks)
            self.advance(len(queries.rows) * sum(map(len, classes)))
            return found

        parts = self._over_chunks([question.queries for question in questions], work)
        return [np.concatenate(of_question) for of_question in parts]

    def _kth(
        self, queries: PackedRows, classes: list[PackedReferences], ks: Sequence[int]
    ) -> Floats:
        out = np.empty((len(queries.rows), 1 if len(classes) == 1 else 3, len(ks)))
        found = [self._candidates(queries, of, c, max(ks)) for c, of in enumerate(classes)]
        kth_distances(
            queries.queries,
            (classes[0].references, classes[-1].references),
            (found[0], found[-1]),
            np.array(ks),
            queries.error + max(of.largest_error for of in classes),
            self._bound(queries, classes[0]),
            out,
        )
        return out

    def _candidates(
        self, queries: PackedRows, references: PackedReferences, label: int, depth: int
    ) -> Candidates:
        capacity = max(_LEAST_CAPACITY, _CAPACITY_PER_NEIGHBOR * depth)
        n = len(queries.rows)
        distances, codes = np.empty((2, n, capacity), np.int32)
        found = Candidates(distances, codes, np.empty(n, np.int64))
        collect_nearest(
            self._tiles(queries, references),
            label,
            references.never,
            len(references.places),
            queries.error + references.largest_error,
            depth,
            self.grid.slack.relative,
            found,
        )
        return found

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""

        def work(i: int, queries: PackedRows, part: slice) -> Counts:
            balls, references = questions[i], self._references(questions[i].references)
            n_balls = len(balls.around_queries) + len(balls.around_references)
            counts = np.empty((len(queries.rows), n_balls), np.int64)
            around = references.thresholds(balls.around_queries[:, part], balls.around_references)
            count_near(*self._pair(queries, references), around, counts)
            self.advance(len(queries.rows) * len(references))
            return counts

        parts = self._over_chunks([balls.queries for balls in questions], work)
        return [np.concatenate(of_question) for of_question in parts]

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        known = [
            Met.nobody(
                len(q.balls.references),
                len(q.balls.around_references),
                len(q.balls.around_queries),
                q.n_ratios,
            )
            for q in questions
        ]
        lock = Lock()

        def work(i: int, queries: PackedRows, part: slice) -> Met:
            meeting, references = questions[i], self._references(questions[i].balls.references)
            with lock:  # what others have found out spares this chunk work
                seen = known[i]
            of_queries, of_references = self._meet(meeting, queries, part, references, seen)
            with lock:
                known[i] = known[i].merge(of_references)
            self.advance(len(queries.rows) * len(references))
            return of_queries

        parts = self._over_chunks([meeting.balls.queries for meeting in questions], work)
        return [
            Relation(Met.concat(of_queries), of_references)
            for of_queries, of_references in zip(parts, known, strict=True)
        ]

    def _meet(
        self,
        meeting: Meeting,
        queries: PackedRows,
        part: slice,
        references: PackedReferences,
        seen: Met,
    ) -> tuple[Met, Met]:
        """Let a chunk of queries meet all references, of which some is known from before."""
        balls, n, wants_best = meeting.balls, len(queries.rows), meeting.wants_best
        n_own, n_others = len(balls.around_queries), len(balls.around_references)
        of_query = Side.of(Met.nobody(n, n_own, n_others, 0), wants_best=wants_best)
        places = references.places, references.far_places
        of_near, of_far = (Side.of(seen.select(p), wants_best=wants_best) for p in places)
        weights = np.empty((0, len(balls.queries))) if meeting.weights is None else meeting.weights
        relate(
            *self._pair(queries, references),
            references.thresholds(balls.around_queries[:, part], balls.around_references),
            Ratios(weights[:, part].copy(), weights.max(axis=1, initial=-1.0), meeting.offset),
            of_query,
            of_near,
            of_far,
        )
        in_order = np.argsort(np.concatenate(places))
        return of_query.met(), Met.concat([of_near.met(), of_far.met()]).select(in_order)

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""

        def work(i: int, queries: PackedRows, part: slice) -> Floats:
            references = self._references(questions[i].references)
            sums = np.empty((len(questions[i].limits), len(queries.rows)))
            tiles, bound, query_rows, reference_rows = self._pair(queries, references)
            limits = np.asarray(questions[i].limits, np.float64)
            sum_logs(
                tiles, bound, references.never, query_rows, reference_rows, limits, floor, sums
            )
            self.advance(len(queries.rows) * len(references))
            return sums

        parts = self._over_chunks([question.queries for question in questions], work)
        return [np.concatenate(of_question, axis=1) for of_question in parts]

    # What the kernels want to know

    def _tiles(self, queries: PackedRows, references: PackedReferences) -> Tiles:
        packed = references.packed
        return Tiles(self.kernel.code, queries.panels, packed.panels, queries.norm, packed.norm)

    def _bound(self, queries: PackedRows, references: PackedReferences) -> Bound:
        grid, errors = self.grid, (queries.error, references.packed.error)
        largest = float(queries.error.max()), references.largest_error
        return Bound(*errors, *largest, grid.step, grid.slack.relative, grid.slack.absolute)

    def _pair(self, queries: PackedRows, references: PackedReferences) -> tuple[Any, ...]:
        """The arguments that all kernels of pairs begin with."""
        return (
            self._tiles(queries, references),
            self._bound(queries, references),
            queries.queries,
            references.references,
        )
