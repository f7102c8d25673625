"""Placed sets of the CPU engine, and how a question is cut into chunks of queries for threads."""

import math
from abc import ABC
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.engines.answers import Floats
from precall.engines.cpu.grid import Grid
from precall.engines.cpu.kernel_choice import Kernel
from precall.engines.cpu.pairs import Bound
from precall.engines.cpu.rows import PackedReferences, PackedRows, PlacedSet, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.sharing.acquaintances import Acquaintances
from precall.engines.cpu.tiling.tile_functions import address_of
from precall.engines.cpu.tiling.tiles import Tiles
from precall.engines.protocol import Advance, Operand, Session
from precall.runtime.mapped_files import release_pages
from precall.runtime.threads import in_threads

T = TypeVar("T")
A = TypeVar("A", bound=np.generic)
Work = Callable[[int, PackedRows, Places], T | None]
# on a chunk of the queries of a question, given by their places; None if direct tiles are needed

_CHUNK_BYTES = 384 * 1024  # of packed queries: they stay in the second-level cache
_CHUNK_ROOM, _FEWEST = 16 * 2**20, 256  # bytes of what else is kept of them; queries at least
_CHUNK_PRODUCTS = 2 * 10**10  # under a second: the grain of progress and of Ctrl-C
CHUNKS_PER_THREAD = 4
_LARGE_OPERAND = 2**24  # numbers
_MOST_PACKED = 128 * 2**20  # bytes of packed references that are kept for the next question
# What the heaviest query of a chunk could tell limits what is looked at: it is no small part of all
_WEIGHED_CHUNK, _WEIGHED_CHUNKS = 384, 16  # queries at least; chunks


class PlacedSession(Session, ABC):
    """Sets on one grid, which is chosen anew when other sets are placed.

    Parameters
    ----------
    kernel
        The tile kernels.
    chunk
        Queries in a chunk; ``None`` for what fits the cache.
    always_direct
        Whether no question is asked of the grid.
    """

    def __init__(
        self,
        kernel: Kernel,
        chunk: int | None,
        always_direct: bool,
        threads: int,
        advance: Advance,
    ) -> None:
        super().__init__(threads, advance)
        self.kernel, self.chunk, self.always_direct = kernel, chunk, always_direct
        self._arrays: list[Any] = []
        self._sets: list[PlacedSet] = []  # of the arrays; empty until a question is asked
        self.grid: Grid  # of the sets
        self._packed: list[tuple[Rows, PackedReferences]] = []  # the latest last
        self._needs_direct: set[str] = set()  # questions that the grid has no resolution for
        self._shares = 0  # how many wait for questions to come about the same rows
        self._known: Acquaintances | None = None  # what was found for those before
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

    def operand(
        self, rows: Rows, center: Floats, dtype: type[np.floating], exponent: int = 0
    ) -> Operand:
        """See :meth:`Session.operand`. A large one needs room: sets are placed again when asked."""
        with self._lock:
            if len(rows) * rows.n_features > _LARGE_OPERAND and self._known is None:
                self._sets, self._packed = [], []
        return super().operand(rows, center, dtype, exponent)

    def _forget(self) -> None:
        self._sets, self._packed, self._needs_direct = [], [], set()
        self._known = None

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
            release_pages(array)  # of all rows only a few are measured again

    def _set(self, rows: Rows) -> PlacedSet:
        for array, placed_set in zip(self._arrays, self._sets, strict=True):
            if array is rows.array:
                return placed_set
        raise LookupError("these rows were not placed")

    def _references(self, rows: Rows, *, is_direct: bool) -> PackedReferences:
        """Pack references, or take them as they were packed for an earlier question."""
        placed = self._set(rows)
        with placed.lock:
            with self._lock:
                for known, packed in self._packed:
                    if known is rows and packed.packed.is_direct == is_direct:
                        return packed
            found = PackedReferences.of(placed, rows.stored, self.kernel, is_direct=is_direct)
            with self._lock:
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
        bytes_a_query: int = 0,
    ) -> list[list[tuple[Places, T]]]:
        """Do ``work`` on every chunk of the queries of every question, in whatever order is best.

        Where the grid leaves too much open, and for queries that are not on it, with direct tiles.
        What a query needs beside its features keeps chunks small.
        """
        if not queries:
            return []
        self._settle()
        size = self.chunk or self._chunk_size(queries)
        if orders is not None:
            size = min(size, max(_WEIGHED_CHUNK, min(map(len, queries)) // _WEIGHED_CHUNKS))
        if bytes_a_query > 0:
            size = min(size, max(_FEWEST, _CHUNK_ROOM // bytes_a_query))
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
        return self.always_direct or name in self._needs_direct

    def _chunk_size(self, queries: Sequence[Rows]) -> int:
        n_features, most_references = queries[0].n_features, max(map(len, self._arrays))
        size = min(
            _CHUNK_BYTES // (2 * n_features),
            _CHUNK_PRODUCTS // (n_features * most_references + 1),
            math.ceil(sum(map(len, queries)) / (CHUNKS_PER_THREAD * self.threads)),
        )
        rows = self.kernel.grid.rows
        return max(1, size // rows) * rows

    # What the kernels want to know

    def _tiles(self, queries: PackedRows, references: PackedReferences) -> Tiles:
        packed = references.packed
        return Tiles(
            address_of(self.kernel.shape(is_direct=queries.is_direct)),
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


def in_parts(n: int, size: int) -> list[Places]:
    """Places from 0 to n, so many at a time."""
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]


def in_order(parts: Sequence[tuple[Places, NDArray[A]]]) -> NDArray[A]:
    """Put together what was found of queries at some places."""
    first = parts[0][1]
    found = np.empty((sum(len(places) for places, _ in parts), *first.shape[1:]), first.dtype)
    for places, of_part in parts:
        found[places] = of_part
    return found
