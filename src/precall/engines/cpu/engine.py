"""The CPU engine: an exact integer filter first, float64 where it leaves a doubt.

Each answer is that of ``reference.py``, to the bit; only the way there differs. Rows are placed on
an integer grid (``grid``), compared tile by tile in registers (``tiles``), and the few pairs that
the grid's error bound leaves open are measured (``nearest``, ``counts``, ``relations``). Where
these would not be few, because the data has no one scale, tiles of float64 differences take the
place of the grid. Work is cut into chunks of queries, which threads take in any order.

Extra memory: four bytes a value of all sets (their integers, and references packed), what the
answers hold, and for each thread one chunk of queries with its candidates; nothing that grows with
n · m. Memory-mapped float32 or float64 input in C order is never copied whole.
"""

import math
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.engines.answers import Counts, Floats, Met, Nearest, Relation
from precall.engines.cpu.candidates import Candidates, collect_nearest
from precall.engines.cpu.counts import HITS_AT_A_TIME, Waiting, count_near
from precall.engines.cpu.grid import Grid
from precall.engines.cpu.kernel_choice import best_kernel
from precall.engines.cpu.log_sums import sum_logs
from precall.engines.cpu.nearest import kth_distances
from precall.engines.cpu.pairs import Bound
from precall.engines.cpu.relations import Ratios, Side, relate
from precall.engines.cpu.rows import PackedReferences, PackedRows, PlacedSet, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.tiles import Tiles, room_for_hits
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Session
from precall.runtime.threads import in_threads

T = TypeVar("T")
A = TypeVar("A", bound=np.generic)
Work = Callable[[int, PackedRows, Places], T | None]
# on a chunk of the queries of a question, given by their places; None if direct tiles are needed

_CHUNK_BYTES = 384 * 1024  # of packed queries: they stay in the second-level cache
_CHUNK_PRODUCTS = 2 * 10**10  # under a second: the grain of progress and of Ctrl-C
_CHUNKS_PER_THREAD = 4
_CAPACITY_PER_NEIGHBOR = 4
_LEAST_CAPACITY = 64
_MOST_PACKED = 256 * 2**20  # bytes of packed references that are kept for the next question
_WEIGHED_CHUNK = 192  # queries: what the heaviest of them could tell limits what is looked at
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
        self._needs_direct: set[str] = set()  # questions that the grid has no resolution for
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
        self._sets, self._packed, self._needs_direct = [], [], set()

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

    def _references(self, rows: Rows, *, is_direct: bool) -> PackedReferences:
        """Pack references, or take them as they were packed for an earlier question."""
        with self._lock:
            for known, packed in self._packed:
                if known is rows and packed.packed.is_direct == is_direct:
                    return packed
            placed, stored = self._set(rows), rows.stored
            found = PackedReferences.of(placed, stored, self.kernel, is_direct=is_direct)
            self._packed.append((rows, found))
            while sum(p.packed.panels.nbytes for _, p in self._packed[:-1]) > _MOST_PACKED:
                self._packed.pop(0)
            return found

    # Chunks and threads

    def _over_chunks(
        self,
        name: str,
        queries: Sequence[Rows],
        work: Work[T],
        orders: Sequence[Places] | None = None,
    ) -> list[list[tuple[Places, T]]]:
        """Do ``work`` on every chunk of the queries of every question, in whatever order is best.

        Where the grid leaves too much open, and for queries that are not on it, with direct tiles.
        """
        if not queries:
            return []
        self._settle()
        size = self.engine.chunk or self._chunk_size(queries)
        if orders is not None:
            size = min(size, _WEIGHED_CHUNK)
        stored = [rows.stored for rows in queries]
        chunks = []
        for i, rows in enumerate(queries):
            is_far = self._set(rows).placed.is_far[stored[i]]
            order = np.arange(len(rows)) if orders is None else orders[i]
            for of_kind in (False, True):
                places = order[is_far[order] == of_kind]
                parts = range(0, len(places), size)
                chunks += [(i, places[start : start + size], of_kind) for start in parts]

        def task(chunk: tuple[int, Places, bool]) -> T:
            i, places, is_far = chunk
            for is_direct in (False, True):
                if not is_direct and (is_far or self._is_direct(name)):
                    continue
                height = self.kernel.shape(is_direct=is_direct).rows
                rows = stored[i][places]
                placed = self._set(queries[i])
                result = work(i, PackedRows.of(placed, rows, height, is_direct=is_direct), places)
                if result is not None:
                    return result
                self._needs_direct.add(name)
            raise AssertionError("direct tiles leave nothing open")

        found: list[list[tuple[Places, T]]] = [[] for _ in queries]
        for (i, places, _), result in zip(
            chunks, in_threads(task, chunks, self.threads), strict=True
        ):
            found[i].append((places, result))
        return found

    def _is_direct(self, name: str) -> bool:
        """Whether a kind of question is asked of direct tiles from the start."""
        return self.engine.is_direct or name in self._needs_direct

    def _chunk_size(self, queries: Sequence[Rows]) -> int:
        n_features, most_references = queries[0].n_features, max(map(len, self._arrays))
        size = min(
            _CHUNK_BYTES // (2 * n_features),
            _CHUNK_PRODUCTS // (n_features * most_references + 1),
            math.ceil(sum(map(len, queries)) / (_CHUNKS_PER_THREAD * self.threads)),
        )
        rows = self.kernel.grid.rows
        return max(1, size // rows) * rows

    # Questions

    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """See :meth:`Session.nearest`."""
        every = [Neighbors(q.queries, q.references, range(1, max(q.ks) + 1)) for q in questions]
        return [[Nearest(one) for one in of.swapaxes(0, 1)[:2]] for of in self.kth(every)]

    def kth(self, questions: Sequence[Neighbors]) -> list[Floats]:
        """See :meth:`Session.kth`."""

        def work(i: int, queries: PackedRows, places: Places) -> Floats:
            found = self._kth(queries, questions[i])
            self.advance(len(places) * sum(map(len, questions[i].references)))
            return found

        parts = self._over_chunks("kth", [question.queries for question in questions], work)
        return [_in_order(of_question) for of_question in parts]

    def _kth(self, queries: PackedRows, question: Neighbors, *, guesses: bool = True) -> Floats:
        """Answer for a chunk: on the grid, then directly, then without a guess."""
        classes = [
            self._references(rows, is_direct=queries.is_direct) for rows in question.references
        ]
        out = np.empty((len(queries.rows), 1 if len(classes) == 1 else 3, len(question.ks)))
        depth = max(question.ks)
        found = [self._candidates(queries, of, c, depth, guesses) for c, of in enumerate(classes)]
        kth_distances(
            queries.queries,
            (classes[0].references, classes[-1].references),
            (found[0], found[-1]),
            np.array(question.ks),
            queries.error + max(of.largest_error for of in classes),
            self._ruler(queries),
            out,
        )
        unknown = np.flatnonzero(np.isnan(out[:, 0, 0]))
        if len(unknown):
            if not queries.is_direct and len(unknown) > _MANY_UNKNOWN * len(out):
                self._needs_direct.add("kth")
            height = self.kernel.direct.rows
            placed, rows = self._set(question.queries), queries.rows[unknown]
            again = PackedRows.of(placed, rows, height, is_direct=True)
            out[unknown] = self._kth(again, question, guesses=guesses and not queries.is_direct)
        return out

    def _candidates(
        self,
        queries: PackedRows,
        references: PackedReferences,
        label: int,
        depth: int,
        guesses: bool,
    ) -> Candidates:
        capacity = max(_LEAST_CAPACITY, _CAPACITY_PER_NEIGHBOR * depth)
        n = len(queries.rows)
        codes, cols = np.empty((2, n, capacity), np.int32)
        found = Candidates(codes, cols, np.empty(n, np.int64))
        collect_nearest(
            self._tiles(queries, references),
            label,
            references.never,
            queries.error + references.largest_error,
            self._ruler(queries),
            depth,
            guesses,
            queries.queries,
            references.references,
            room_for_hits(self.kernel.shape(is_direct=queries.is_direct)),
            found,
        )
        return found

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""

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
        return [_in_order(of_question) for of_question in parts]

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

        def work(i: int, queries: PackedRows, places: Places) -> Met | None:
            with lock:  # what others have found out spares this chunk work
                seen = known[i]
            found = self._meet(questions[i], queries, places, seen)
            if found is None:
                return None
            of_queries, of_references = found
            with lock:
                known[i] = known[i].merge(of_references)
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
            relations.append(Relation(of_queries, of_references))
        return relations

    def _meet(
        self, meeting: Meeting, queries: PackedRows, part: Places, seen: Met
    ) -> tuple[Met, Met] | None:
        """Let a chunk of queries meet all references, of which some is known from before."""
        balls, n, wants_best = meeting.balls, len(queries.rows), meeting.wants_best
        references = self._references(balls.references, is_direct=queries.is_direct)
        n_own, n_others = len(balls.around_queries), len(balls.around_references)
        of_query = Side.of(Met.nobody(n, n_own, n_others, 0), wants_best=wants_best)
        places = references.places, references.far_places
        of_near, of_far = (Side.of(seen.select(p), wants_best=wants_best) for p in places)
        weights = np.empty((0, n)) if meeting.weights is None else meeting.weights[:, part].copy()
        is_done = relate(
            *self._pair(queries, references),
            references.thresholds(balls.around_queries[:, part], balls.around_references),
            Ratios(weights, weights.max(axis=1, initial=-1.0), meeting.offset),
            room_for_hits(self.kernel.shape(is_direct=queries.is_direct)),
            of_query,
            of_near,
            of_far,
        )
        if not is_done:
            return None
        in_order = np.argsort(np.concatenate(places))
        return of_query.met(), Met.concat([of_near.met(), of_far.met()]).select(in_order)

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
        return [np.ascontiguousarray(_in_order(of_question).T) for of_question in parts]

    # What the kernels want to know

    def _tiles(self, queries: PackedRows, references: PackedReferences) -> Tiles:
        packed = references.packed
        return Tiles(
            self.kernel.shape(is_direct=queries.is_direct).code,
            queries.panels,
            packed.panels,
            queries.norm,
            packed.norm,
            len(queries.rows),
            len(packed.rows),
        )

    def _ruler(self, queries: PackedRows) -> Ruler:
        grid, is_direct = self.grid, queries.is_direct
        step = 1.0 if is_direct else grid.step
        return Ruler(is_direct, step, grid.slack.relative, grid.slack.absolute)

    def _pair(self, queries: PackedRows, references: PackedReferences) -> tuple[Any, ...]:
        """The arguments that all kernels of pairs begin with."""
        errors = queries.error, references.packed.error
        largest = float(queries.error.max()), references.largest_error
        return (
            self._tiles(queries, references),
            Bound(*errors, *largest, self._ruler(queries)),
            queries.queries,
            references.references,
        )


def _heaviest_first(meeting: Meeting) -> Places:
    """In this order the largest ratios are found early, and the rest can be left alone."""
    if meeting.weights is None or meeting.n_ratios == 0:
        return np.arange(len(meeting.balls.queries))
    return np.argsort(-meeting.weights[0], kind="stable")


def _in_order(parts: Sequence[tuple[Places, NDArray[A]]]) -> NDArray[A]:
    """Put together what was found of queries at some places."""
    first = parts[0][1]
    found = np.empty((sum(len(places) for places, _ in parts), *first.shape[1:]), first.dtype)
    for places, of_part in parts:
        found[places] = of_part
    return found
