"""Rows by names and numbers: what an order says of them, and where a worker gets them from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.row_hashes import Hashes, sum_words
from precall.data.stored.arrays import StoredArray
from precall.data.stored.shards import changed

Places = NDArray[np.intp]
Things = Mapping[str, Any]  # what was sent to workers, by name


class LacksRowsError(Exception):
    """A worker was thought to hold a set, and was not sent it again."""


@dataclass(frozen=True, slots=True)
class Part:
    """Runs of a selection of the rows of a set."""

    source: str  # name of the set
    selection: str | None  # name of the array of places that were selected; None for every row
    runs: tuple[tuple[int, int], ...]  # from, to

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.runs)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what a last axis over all rows of the selection says of these."""
        if len(self.runs) == 1:
            return values[..., slice(*self.runs[0])]
        return np.concatenate([values[..., start:stop] for start, stop in self.runs], axis=-1)

    def stored(self, things: Things) -> Places:
        """Where the rows stand in the set."""
        if self.selection is not None:
            return self.of(things[self.selection])
        return np.concatenate([np.arange(start, stop) for start, stop in self.runs])


@dataclass(frozen=True, slots=True, eq=False)
class FileSource:
    """A set in files, which whoever needs rows of it reads them from."""

    array: StoredArray
    sums: Hashes | None = None  # (n,) of each row when its values were checked; None before that

    def __len__(self) -> int:
        return len(self.array)

    def read(self, places: Places, things: Things) -> NDArray[Any]:
        """Read rows at ascending places; notice if these are not the ones that were checked."""
        rows = self.array.read(places)
        if self.sums is not None:
            is_other = sum_words(rows) != self.sums[places]
            if is_other.any():
                row = int(places[np.argmax(is_other)])
                raise changed(self.array.names_of(row, row + 1)[0])
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class SentSource:
    """A set that was sent to the workers in blocks of rows."""

    name: str
    n_features: int
    dtype: str
    starts: tuple[int, ...]  # of the blocks, and the number of rows

    def __len__(self) -> int:
        return self.starts[-1]

    def blocks_of(self, places: Places) -> list[str]:
        """Names of the blocks that rows at ascending places are in."""
        return [f"{self.name}/{i}" for i in self._blocks(places)]

    def _blocks(self, places: Places) -> range:
        ends = np.array(self.starts[1:])
        first, last = np.searchsorted(ends, [places[0], places[-1]], side="right")
        return range(int(first), int(last) + 1)

    def read(self, places: Places, things: Things) -> NDArray[Any]:
        """Gather rows at ascending places, all of them different."""
        if any(f"{self.name}/{i}" not in things for i in self._blocks(places)):
            raise LacksRowsError(self.name)
        if len(self.starts) == 2 and len(places) == self.starts[1]:
            return np.asarray(things[f"{self.name}/0"])
        found = np.empty((len(places), self.n_features), self.dtype)
        for i, start in enumerate(self.starts[:-1]):
            part = slice(*np.searchsorted(places, [start, self.starts[i + 1]]))
            if part.start < part.stop:
                found[part] = _rows_of(things[f"{self.name}/{i}"], places[part] - start)
        return found


def _rows_of(block: NDArray[Any], places: Places) -> NDArray[Any]:
    """Rows at ascending places; a view where these follow one another, which is copied faster."""
    first, last = int(places[0]), int(places[-1])
    return block[first : last + 1] if last - first + 1 == len(places) else block[places]


Source = FileSource | SentSource
