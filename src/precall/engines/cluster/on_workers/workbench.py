"""What a worker has at hand: rows that it was sent or has read, in a session of its engine.

Runs on workers. A worker carries out one order at a time, with all of its threads, and keeps what
the last one needed: whole sets, where all of them fit into its memory together, or else the parts
that the next order is likely to need, too.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.row_hashes import Hashes, sum_words
from precall.data.value_checks import ValueCheck
from precall.engines.best_here import best_engine
from precall.engines.cluster.on_workers.recollections import Recollections
from precall.engines.cluster.parts import Part, Places, Source, Things
from precall.engines.protocol import Advance, Session

_MOST_SELECTIONS = 16  # of whole sets, that stay known
_TILE_BYTES = 2**20  # of float64: a tile stays in the cache
_BYTES_READ = 16 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Rows of some parts, in a session of the engine."""

    session: Session
    rows: list[Rows]
    places: list[Places]


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Rows of one part, in an array of their own."""

    rows: Rows
    places: Places  # where rows of the array stand in the set


class Workbench:
    """Holds rows for the orders of one session of a client.

    Parameters
    ----------
    is_whole
        Whether sets are held whole.
    """

    def __init__(self, is_whole: bool, threads: int) -> None:
        self.is_whole, self.threads = is_whole, threads
        self.things: Things = {}
        self.recollections = Recollections()
        self.advance: Advance = _nothing
        self._session: Session | None = None
        self._sets: dict[str, NDArray[Any]] = {}  # whole, by name
        self._selections: OrderedDict[Part, Rows] = OrderedDict()
        self._read: dict[Part, _Read] = {}

    def hold(self, *parts: Part) -> Held:
        """Get hold of the rows of some parts."""
        return self._hold_whole(parts) if self.is_whole else self._hold_parts(parts)

    def keep_only(self, sets: Sequence[str]) -> None:
        """Let go of whole sets that the client has dropped."""
        for name in [name for name in self._sets if name not in sets]:
            array = self._sets.pop(name)
            if self._session is not None:
                self._session.drop(Rows(array))
            for part in [part for part in self._selections if part.source == name]:
                del self._selections[part]

    def close(self) -> None:
        """Let go of all rows."""
        if self._session is not None:
            self._session.close()
        self._session, self._sets, self._read = None, {}, {}
        self._selections.clear()
        self.recollections.clear()

    def _open(self) -> Session:
        return best_engine().open(self.threads, lambda n_pairs: self.advance(n_pairs))

    def _source(self, part: Part) -> Source:
        found: Source = self.things[part.source]
        return found

    # Whole sets

    def _hold_whole(self, parts: tuple[Part, ...]) -> Held:
        if self._session is None:
            self._session = self._open()
        for part in parts:
            if part.source not in self._sets:
                source = self._source(part)
                array = source.read(np.arange(len(source)), self.things)
                self._session.place(Rows(array))
                self._sets[part.source] = array
        places = [np.arange(len(self._sets[part.source])) for part in parts]
        return Held(self._session, [self._selected(part) for part in parts], places)

    def _selected(self, part: Part) -> Rows:
        """Return the same rows as ever for the same part: an engine may know them."""
        if part not in self._selections:
            array, stored = self._sets[part.source], part.stored(self.things)
            is_all = len(stored) == len(array) and part.selection is None
            self._selections[part] = Rows(array, None if is_all else stored)
        self._selections.move_to_end(part)
        while len(self._selections) > _MOST_SELECTIONS:
            self._selections.popitem(last=False)
        return self._selections[part]

    # Parts

    def _hold_parts(self, parts: tuple[Part, ...]) -> Held:
        session = self._session
        if session is None or list(dict.fromkeys(parts)) != list(self._read):
            if session is not None:
                session.close()
            session = self._session = self._open()
            self._read = {part: self._read[part] for part in parts if part in self._read}
            self._read = {part: self._read.get(part) or self._get(part) for part in parts}
            session.place(*(read.rows for read in self._read.values()))
        found = [self._read[part] for part in parts]
        return Held(session, [of.rows for of in found], [of.places for of in found])

    def _get(self, part: Part) -> _Read:
        stored = part.stored(self.things)
        if np.all(np.diff(stored) > 0):
            return _Read(Rows(self._source(part).read(stored, self.things)), stored)
        ascending, selection = np.unique(stored, return_inverse=True)
        return _Read(Rows(self._source(part).read(ascending, self.things), selection), ascending)

    # Values

    def tiles(self, part: Part) -> Iterator[NDArray[Any]]:
        """Read the rows of a part, some at a time, and keep none."""
        source, stored = self._source(part), part.stored(self.things)
        n_features = source.array.n_features  # type: ignore[union-attr]
        together = max(1, _BYTES_READ // (8 * n_features))
        for start in range(0, len(stored), together):
            yield source.read(stored[start : start + together], self.things)

    def check(self, rows: NDArray[Any], check: ValueCheck) -> Hashes:
        """Look at every value; return what is compared whenever the rows are read again."""
        size = max(1, _TILE_BYTES // (8 * rows.shape[1]))
        for start in range(0, len(rows), size):
            check.add(rows[start : start + size])
            self.advance(0)
        return sum_words(rows)


def _nothing(n_pairs: int) -> None:
    """Report to nobody."""


_lock = threading.Lock()
_benches: dict[str, Workbench] = {}  # of one session at a time: what it holds may be all there is


def use_bench(session: str, make: Callable[[], Workbench]) -> Workbench:
    """Return the bench of a session; those of others are cleared."""
    with _lock:
        for other in [name for name in _benches if name != session]:
            _benches.pop(other).close()
        if session not in _benches:
            _benches[session] = make()
        return _benches[session]


def clear_benches(session: str) -> None:
    """Let go of what was held for a session that is over."""
    with _lock:
        for name in [name for name in _benches if name.startswith(f"{session} ")]:
            _benches.pop(name).close()
