"""One file of a set, of which any rows can be read: names and numbers only, so that it travels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from precall.data.stored.files import open_file, stamp_of
from precall.errors import InputError

Places = NDArray[np.intp]

_BYTES_AT_A_TIME = 16 * 2**20
_WORTH_SKIPPING = 2**18  # bytes; fewer are read along


class Shard(Protocol):
    """Rows in one file."""

    @property
    def name(self) -> str:
        """Of the file."""
        ...

    @property
    def n_rows(self) -> int:
        """In the file."""
        ...

    @property
    def stamp(self) -> str:
        """Of the file when it was looked at."""
        ...

    def rows(self, places: Places) -> NDArray[Any]:
        """Read the rows at ascending places, as they are stored."""
        ...

    def current_stamp(self) -> str:
        """Return the stamp that the file has now."""
        ...


@dataclass(frozen=True, slots=True)
class RawShard:
    """Rows that stand one behind the other: .npy and .safetensors."""

    name: str
    n_rows: int
    stamp: str
    n_features: int
    dtype: str  # as NumPy writes it down
    offset: int  # bytes in front of the first row
    is_bfloat16: bool = False  # then dtype is that of the upper halves

    def rows(self, places: Places) -> NDArray[Any]:
        """Read runs of rows, and leave out gaps that are worth it."""
        found = np.empty((len(places), self.n_features), self.dtype)
        width = self.n_features * found.dtype.itemsize
        with open_file(self.name) as file:
            for part in _runs(places, width):
                first, last = int(places[part.start]), int(places[part.stop - 1])
                file.seek(self.offset + first * width)
                if last - first + 1 == part.stop - part.start:  # no gaps: straight into place
                    _fill(file, found[part], self.name)
                    continue
                read = np.empty((last - first + 1, self.n_features), self.dtype)
                _fill(file, read, self.name)
                found[part] = read[places[part] - first]
        return (found.astype(np.uint32) << 16).view(np.float32) if self.is_bfloat16 else found

    def current_stamp(self) -> str:
        """Return the stamp that the file has now."""
        return stamp_of(self.name)


def check_unchanged(shard: Shard) -> None:
    """Refuse to go on with a file that is no longer the one that was opened."""
    try:
        now = shard.current_stamp()
    except OSError as error:
        raise InputError(f"{shard.name} cannot be read any more: {error}.") from error
    if now != shard.stamp:
        raise changed(shard.name)


def changed(name: str) -> InputError:
    """Make the error of a file that changed."""
    return InputError(
        f"{name} changed while it was read. Let nothing write to it, and run the same again."
    )


def _runs(places: Places, width: int) -> Iterator[slice]:
    """Cut ascending places where a gap is worth skipping, and where enough is read at a time."""
    at_a_time, skipped = max(1, _BYTES_AT_A_TIME // width), max(1, _WORTH_SKIPPING // width)
    start = 0
    for gap in [*(np.flatnonzero(np.diff(places) > skipped) + 1), len(places)]:
        while start < gap:
            stop = int(np.searchsorted(places[:gap], places[start] + at_a_time))
            yield slice(start, stop)
            start = stop


def _fill(file: Any, rows: NDArray[Any], name: str) -> None:
    """Read rows from where the file stands."""
    target = rows.reshape(-1).view(np.uint8)
    filled = 0
    while filled < len(target) and (read := file.read(min(_BYTES_AT_A_TIME, len(target) - filled))):
        target[filled : filled + len(read)] = np.frombuffer(read, np.uint8)
        filled += len(read)
    if filled < len(target):
        raise changed(name)
