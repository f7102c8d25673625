"""Sets that were placed: in files, or in this machine's memory and sent to workers in blocks."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.row_hashes import Fingerprint, Hashes, hash_rows
from precall.data.stored.arrays import StoredArray
from precall.engines.cluster.checkpoint import digest_of
from precall.engines.cluster.cut import Cut, runs
from precall.engines.cluster.gathering import Gathering
from precall.engines.cluster.parts import FileSource, Part, Places, SentSource, Source

_BLOCK_BYTES = 32 * 2**20
_ROWS_HASHED = 4096


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    array: Any
    name: str
    source: Source


class PlacedSets:
    """Which arrays were placed, what workers know them by, and what they need for a part.

    Parameters
    ----------
    names_by_content
        Whether the same rows have the same name in the next run, too.
    """

    def __init__(self, gathering: Gathering, *, names_by_content: bool) -> None:
        self._gathering, self._by_content = gathering, names_by_content
        self._sets: list[_Placed] = []
        self._selections: list[tuple[Rows, str]] = []  # rows, and the name of their places

    @property
    def placed(self) -> tuple[str, ...]:
        """Names of all sets."""
        return tuple(one.name for one in self._sets)

    def is_in_files(self, rows: Rows) -> bool:
        """Whether rows stay where they are until they are read."""
        return isinstance(rows.array, StoredArray)

    def arrays_here(self) -> list[Any]:
        """Return arrays in this machine's memory."""
        return [one.array for one in self._sets if isinstance(one.array, np.ndarray)]

    def are_whole(self, cut: Cut) -> bool:
        """Whether a worker holds all sets."""
        arrays = [one.array for one in self._sets]
        n_values = sum(array.shape[0] * array.shape[1] for array in arrays)
        return cut.fits_whole(n_values, max((a.dtype.itemsize for a in arrays), default=8))

    # Sets

    def place(
        self,
        *sets: Rows,
        hashes: Hashes | None = None,
        sums: Hashes | None = None,
        instead: str | None = None,
    ) -> None:
        """Remember the arrays of some rows, of which more may be known from checking values.

        Parameters
        ----------
        hashes, sums
            Of all rows of the one array that is placed.
        instead
            What the array was called before.
        """
        if instead is not None:
            self._forget(instead)
        for rows in sets:
            if self._find(rows.array) is None:
                self._sets.append(self._placed(rows.array, hashes, sums))

    def unchecked(self, rows: Rows) -> str:
        """Place an array in files whose values are to be looked at; return its name."""
        name = f"set-{uuid.uuid4().hex}"
        source = FileSource(rows.array)
        self._gathering.send(name, source)
        self._sets.append(_Placed(rows.array, name, source))
        return name

    def drop(self, *sets: Rows) -> None:
        """Forget the arrays of some rows."""
        for rows in sets:
            if (one := self._find(rows.array)) is not None:
                self._forget(one.name)

    def _forget(self, name: str) -> None:
        arrays = [one.array for one in self._sets if one.name == name]
        self._sets = [one for one in self._sets if one.name != name]
        gone = [of for rows, of in self._selections if any(rows.array is a for a in arrays)]
        self._selections = [one for one in self._selections if one[1] not in gone]
        self._gathering.forget([name, *gone])

    def _find(self, array: Any) -> _Placed | None:
        return next((one for one in self._sets if one.array is array), None)

    def _placed(self, array: Any, hashes: Hashes | None, sums: Hashes | None) -> _Placed:
        name = f"set-{uuid.uuid4().hex}"
        if self._by_content:
            known = _hashes(array) if hashes is None else hashes
            name = f"set-{Fingerprint.of(known).text(array.shape[1], str(array.dtype))}"
        if isinstance(array, StoredArray):
            source: Source = FileSource(array, sums)
            self._gathering.send(name, source)
            return _Placed(array, name, source)
        blocks = runs(len(array), -(-array.nbytes // _BLOCK_BYTES))
        starts = (*(start for start, _ in blocks), len(array))
        source = SentSource(name, int(array.shape[1]), str(array.dtype), starts)
        self._gathering.send(name, source)
        for i, (start, stop) in enumerate(blocks):
            self._gathering.send(f"{name}/{i}", np.ascontiguousarray(array[start:stop]))
        return _Placed(array, name, source)

    # Parts

    def send(self, array: NDArray[Any]) -> str:
        """Send numbers to the workers; return what they are called."""
        name = f"array-{digest_of([], [array])}"
        self._gathering.send(name, array)
        return name

    def every_row(self) -> tuple[Part, ...]:
        """Return all sets, whole."""
        return tuple(Part(one.name, None, ((0, len(one.array)),)) for one in self._sets)

    def part(self, rows: Rows, run: tuple[int, int]) -> Part:
        """Return a run of placed rows."""
        self.place(rows)
        (name,) = (one.name for one in self._sets if one.array is rows.array)
        return Part(name, self._selection(rows), (run,))

    def _selection(self, rows: Rows) -> str | None:
        if rows.selection is None:
            return None
        for known, name in self._selections:
            if known is rows:
                return name
        name = self.send(np.ascontiguousarray(rows.selection))
        self._selections.append((rows, name))
        return name

    def names(self, parts: Sequence[Part], cut: Cut, *, held: Collection[str] = ()) -> list[str]:
        """Names of all that a worker needs to get hold of some parts, or of their whole sets.

        Parameters
        ----------
        held
            Sets that workers hold already, if whole: their rows are left out.
        """
        is_whole = self.are_whole(cut)
        found: dict[str, None] = {}
        for part in dict.fromkeys(parts):
            found |= dict.fromkeys([part.source, *([part.selection] if part.selection else [])])
            (source,) = [one.source for one in self._sets if one.name == part.source][:1]
            if isinstance(source, SentSource) and not (is_whole and part.source in held):
                places = np.arange(len(source)) if is_whole else self._stored(part)
                found |= dict.fromkeys(source.blocks_of(places))
        return list(found)

    def _stored(self, part: Part) -> Places:
        selections = {name: rows.selection for rows, name in self._selections}
        return np.sort(part.stored(selections))


def _hashes(array: Any) -> Hashes:
    """Hash rows that nobody has looked at yet."""
    parts = [array[i : i + _ROWS_HASHED] for i in range(0, len(array), _ROWS_HASHED)]
    return np.concatenate([hash_rows(part) for part in parts])
