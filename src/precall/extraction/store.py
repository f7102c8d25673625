"""Features kept on disk: written while they come, taken up again after a kill, whole or not at all.

A set is known by the content of its samples, the extractor, its weights and its preprocessing. A
listing (names, sizes, times of change) that was seen before stands for the content, so that a
second run reads nothing again.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from precall.runtime.output_files import write_text

_SECONDS_AT_RISK = 2.0  # of work that a kill may cost
fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None


@dataclass(frozen=True, slots=True)
class Finished:
    """Features of a set, with what is told of them."""

    path: Path
    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the features of one set are kept."""

    folder: Path
    key: str

    def _file(self, ending: str) -> Path:
        return self.folder / f"{self.key}{ending}"

    def finished(self) -> Finished | None:
        """Return what is kept, if it is whole."""
        rows, notes = self._file(".npy"), _read(self._file(".json"))
        return Finished(rows, notes) if notes is not None and rows.is_file() else None

    @contextlib.contextmanager
    def writing(self, n: int) -> Iterator["Unfinished"]:
        """Open the set for writing, where an earlier run stopped; nobody else may meanwhile."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked() as is_ours:
            key = self.key if is_ours else f"{self.key}-{os.getpid()}"
            unfinished = Unfinished.at(self.folder, key, n)
            try:
                yield unfinished
            finally:
                unfinished.close()
                if not is_ours:
                    unfinished.discard()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        if fcntl is None:
            yield True
            return
        with self._file(".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            try:
                yield True
            finally:
                self._file(".lock").unlink(missing_ok=True)

    def finish(self, unfinished: "Unfinished", notes: Mapping[str, Any]) -> Finished:
        """Keep a set that is complete, without the rows of broken inputs."""
        unfinished.close()
        _keep(unfinished.rows_path, sorted(unfinished.broken), unfinished.n)
        unfinished.rows_path.replace(self._file(".npy"))
        write_text(self._file(".json"), json.dumps(notes, indent=1) + "\n")
        unfinished.discard()
        return Finished(self._file(".npy"), notes)


class Unfinished:
    """Rows that are being written: how many there are, and which inputs were broken."""

    def __init__(self, rows_path: Path, state_path: Path, n: int) -> None:
        self.rows_path, self.state_path, self.n = rows_path, state_path, n
        self.done = 0
        self.broken: dict[int, str] = {}
        self._rows: NDArray[np.float32] | None = None
        self._saved_at = time.monotonic()

    @classmethod
    def at(cls, folder: Path, key: str, n: int) -> Self:
        """Take up what an earlier run left, or begin."""
        found = cls(folder / f"{key}.partial.npy", folder / f"{key}.partial.json", n)
        state = _read(found.state_path)
        if state is not None and found.rows_path.is_file() and state.get("n") == n:
            try:
                found._rows = open_memmap(found.rows_path, mode="r+")
            except (OSError, ValueError):  # damaged: begin again
                return found
            if found._rows.shape[0] == n:
                found.done = int(state["done"])
                found.broken = {int(row): str(why) for row, why in state["broken"].items()}
        return found

    def write(self, start: int, rows: NDArray[np.float32], broken: Mapping[int, str]) -> None:
        """Write a batch that begins at a row; broken inputs leave a gap there."""
        places = np.setdiff1d(np.arange(start, start + len(rows) + len(broken)), list(broken))
        if len(rows):
            if self._rows is None or self._rows.shape[1] != rows.shape[1]:
                shape = (self.n, rows.shape[1])
                self._rows = open_memmap(self.rows_path, "w+", np.dtype(np.float32), shape)
            self._rows[places] = rows
        self.broken |= broken
        self.done = start + len(rows) + len(broken)
        if time.monotonic() - self._saved_at > _SECONDS_AT_RISK:
            self.save()

    def save(self) -> None:
        """Make sure that a kill from now on costs nothing of what is done."""
        if isinstance(self._rows, np.memmap):
            self._rows.flush()
        state = {"n": self.n, "done": self.done, "broken": self.broken}
        write_text(self.state_path, json.dumps(state))
        self._saved_at = time.monotonic()

    def close(self) -> None:
        """Save what is done and let go of the file."""
        if self._rows is not None:
            self.save()
        self._rows = None

    def discard(self) -> None:
        """Remove what is no longer needed."""
        self.rows_path.unlink(missing_ok=True)
        self.state_path.unlink(missing_ok=True)


def _keep(path: Path, broken: list[int], n: int) -> None:
    """Move rows together where some are missing."""
    if not broken:
        return
    rows = open_memmap(path, mode="r")
    kept = np.setdiff1d(np.arange(n), broken)
    temporary = path.with_suffix(".kept.npy")
    whole = open_memmap(temporary, "w+", rows.dtype, (len(kept), rows.shape[1]))
    for start in range(0, len(kept), 4096):
        whole[start : start + 4096] = rows[kept[start : start + 4096]]
    whole.flush()
    del rows, whole
    temporary.replace(path)


def _read(path: Path) -> dict[str, Any] | None:
    """Read a small JSON file; ``None`` if there is none, or a damaged one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
