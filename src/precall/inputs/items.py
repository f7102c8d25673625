"""What samples are before they are features, and what they come in."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

Kind = Literal["pictures", "texts", "sounds", "rows"]


class BrokenInputError(ValueError):
    """One picture, text or sound cannot be read; the message says why, without its name."""


class Sound(NamedTuple):
    """A mono recording."""

    samples: NDArray[np.float32]  # (n_samples,), from -1 to 1
    rate: int  # samples a second


# As it is stored: a file, the bytes of one, or what is in memory already. Small, and picklable.
Raw = Any


@dataclass(frozen=True, slots=True, eq=False)
class Inputs(ABC):
    """The samples of one side, read one at a time."""

    kind: Kind
    source: str  # where they came from, in a few words
    notes: tuple[str, ...]  # what was taken for granted in finding them, one sentence each

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def name(self, row: int) -> str:
        """Say what a sample is called in messages."""

    @abstractmethod
    def raw(self, row: int) -> Raw:
        """Return a sample as it is stored."""

    @abstractmethod
    def listing(self) -> str | None:
        """Return what changes whenever the content may have; ``None`` if nothing tells."""

    def select(self, rows: NDArray[np.intp]) -> "Inputs":
        """Return some of the samples."""
        return Selected(self.kind, self.source, self.notes, self, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Selected(Inputs):
    """Some of the samples."""

    whole: Inputs
    rows: NDArray[np.intp]  # (n,)

    def __len__(self) -> int:
        return len(self.rows)

    def name(self, row: int) -> str:
        """Say what a sample is called."""
        return self.whole.name(int(self.rows[row]))

    def raw(self, row: int) -> Raw:
        """Return a sample as it is stored."""
        return self.whole.raw(int(self.rows[row]))

    def listing(self) -> str | None:
        """Nothing tells whether these are the same rows as before."""
        return None


def digest(raw: Raw) -> bytes:
    """Return what the content of a sample is known by, wherever it is stored."""
    hashed = hashlib.blake2b(digest_size=16)
    if isinstance(raw, Path):
        with raw.open("rb") as file:
            while block := file.read(2**20):
                hashed.update(block)
    elif isinstance(raw, bytes):
        hashed.update(raw)
    elif isinstance(raw, str):
        hashed.update(raw.encode("utf-8", "surrogatepass"))
    else:
        for array in _arrays(raw):
            hashed.update(f"{array.dtype.str} {array.shape}".encode())
            hashed.update(np.ascontiguousarray(array).data)
    return hashed.digest()


def _arrays(raw: Any) -> Sequence[NDArray[Any]]:
    if isinstance(raw, Sound):
        return raw.samples, np.asarray(raw.rate)
    return (np.asarray(raw),)


def hashed_listing(parts: Sequence[object]) -> str:
    """Return a short name of names, sizes and times."""
    text = "\0".join(map(str, parts))
    return hashlib.blake2b(os.fsencode(text), digest_size=16).hexdigest()


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change of a file: what changes when its content does."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def as_image(raw: Any) -> "Image | None":
    """Return a PIL image as itself; anything else is none."""
    return raw if type(raw).__module__.partition(".")[0] == "PIL" else None
