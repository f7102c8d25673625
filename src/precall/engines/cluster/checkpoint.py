"""Finished pieces on disk: one file an order, whole or not at all, with a checksum, never pickled.

A file holds a line of JSON (format, order, types and shapes, SHA-256 of the numbers) and then the
numbers. Its name is the digest of everything that the answer depends on. A file that says otherwise
than it should is not believed: the piece is computed again.
"""

import hashlib
import json
import logging
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError
from precall.version import __version__

Arrays = tuple[NDArray[Any], ...]

_FORMAT = 1
_MANIFEST = "checkpoint.json"
_LONGEST_LINE = 2**16
_DTYPES = {"float64", "int64", "uint8", "bool"}
logger = logging.getLogger("precall.cluster")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder that the client and all workers share."""

    folder: str

    def _path(self, digest: str) -> Path:
        return Path(self.folder) / f"{digest}.piece"

    def load(self, digest: str) -> Arrays | None:
        """Return a finished piece; None if there is none that can be believed."""
        path = self._path(digest)
        try:
            with path.open("rb") as file:
                line = file.readline(_LONGEST_LINE)
                numbers = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("%s cannot be read (%s); the piece is computed again", path, error)
            return None
        try:
            return _believed(line, numbers, digest)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            logger.warning("%s is damaged (%s); the piece is computed again", path, error)
            return None

    def save(self, digest: str, arrays: Arrays) -> None:
        """Write a piece to a temporary neighbour, then rename it."""
        numbers = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        head = {
            "format": _FORMAT,
            "order": digest,
            "arrays": [[str(array.dtype), list(array.shape)] for array in arrays],
            "sha256": hashlib.sha256(numbers).hexdigest(),
        }
        folder, path = Path(self.folder), self._path(digest)
        handle, name = tempfile.mkstemp(prefix=".piece-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n" + numbers)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)

    def settle(self, about: Mapping[str, Any], cut: Mapping[str, int]) -> dict[str, int]:
        """Say what the pieces are about, and how questions are cut into them.

        A folder of other inputs or choices is refused; one of the same says how they were cut.
        """
        folder = Path(self.folder)
        expected = {"format": _FORMAT, "precall": __version__, **about}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / _MANIFEST).exists():
                return _settled(folder / _MANIFEST, expected)
            if any(folder.iterdir()):
                raise InputError(f"checkpoint={self.folder!r} holds other files; name a new one.")
            text = json.dumps({**expected, "cut": dict(cut)}, indent=1, sort_keys=True) + "\n"
            temporary = folder / f".{_MANIFEST}"
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(folder / _MANIFEST)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"checkpoint={self.folder!r} cannot be written: {reason}.") from error
        return dict(cut)

    def count(self) -> int:
        """Return the number of finished pieces."""
        return sum(1 for _ in Path(self.folder).glob("*.piece"))


def _settled(manifest: Path, expected: Mapping[str, Any]) -> dict[str, int]:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
        cut = {str(key): int(value) for key, value in found.pop("cut").items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{manifest} is damaged; delete the folder, or name another.") from error
    for key in sorted({*found, *expected}):
        if found.get(key) != expected.get(key):
            raise InputError(
                f"checkpoint={str(manifest.parent)!r} is of other inputs or choices: {key} is "
                f"{_shown(found.get(key))} there, {_shown(expected.get(key))} now. Name another "
                "folder, or delete this one."
            )
    return cut


def _shown(value: object) -> str:
    return f"{value!r:.200}"


def _believed(line: bytes, numbers: bytes, digest: str) -> Arrays:
    """Return the arrays of a piece whose head and checksum say what they should."""
    head = json.loads(line)
    if head["format"] != _FORMAT or head["order"] != digest:
        raise ValueError("it is another piece")
    if hashlib.sha256(numbers).hexdigest() != head["sha256"]:
        raise ValueError("its checksum is another")
    arrays, start = [], 0
    for dtype, shape in head["arrays"]:
        if dtype not in _DTYPES or any(type(size) is not int or size < 0 for size in shape):
            raise ValueError("no answer is like that")
        count = math.prod(shape)
        stop = start + count * np.dtype(dtype).itemsize
        if stop > len(numbers):
            raise ValueError("it is too short")
        arrays.append(np.frombuffer(numbers[start:stop], dtype).reshape(shape).copy())
        start = stop
    if start != len(numbers):
        raise ValueError("it is too long")
    return tuple(arrays)


def digest_of(texts: Sequence[str], arrays: Sequence[NDArray[Any]]) -> str:
    """Return what names and numbers are known by."""
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{len(text)}:{text}".encode())
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:40]
