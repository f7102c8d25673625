"""Where an array is: in which file, and which of several in it."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from numpy.typing import NDArray

from precall.data.readers.row_numbers import features_among
from precall.errors import InputError
from precall.runtime.refusals import needed, refusing

_STANDARD_INPUT = "-"
_USUAL_KEYS = ("feats", "features", "reps", "arr_0")
_MOST_LISTED = 20
_FOLDED = re.compile(r"^([a-z][a-z0-9+.-]+):/(?=[^/])", re.IGNORECASE)


def unfolded(name: str) -> str:
    """Return a URL as such, though pathlib may have folded its slashes."""
    slashes = "///" if name.startswith("file:") else "//"  # the former have no host
    return _FOLDED.sub(rf"\1:{slashes}", name)


@dataclass(frozen=True, slots=True)
class ArrayLocation:
    """A file, the name of an array in it if one was given, and what the input is called."""

    path: Path
    key: str | None
    role: str
    takes_pictures: bool = False  # whether pixels are wanted, and not features

    @classmethod
    def of(cls, path: str | os.PathLike[str], role: str) -> Self:
        """Tell ``features.npz:key`` from a file whose name has a colon."""
        whole = Path(path)
        file, colon, key = os.fspath(path).rpartition(":")
        is_file = file == _STANDARD_INPUT or Path(file).suffix or Path(file).exists()
        if colon and key and is_file and not whole.exists():
            return cls(Path(file), key, role)
        return cls(whole, None, role)

    @property
    def is_standard_input(self) -> bool:
        """Whether nothing but - was given."""
        return str(self.path) == _STANDARD_INPUT

    @property
    def shown(self) -> str:
        """What the file is called in messages."""
        return "standard input" if self.is_standard_input else unfolded(str(self.path))

    def refuse(self, reason: str) -> InputError:
        """Make the error that says what is wrong with this file."""
        return InputError(f"{self.role}: {self.shown} {reason}")

    def refusing(self, reason: str, *errors: type[Exception]) -> AbstractContextManager[None]:
        """Refuse this file for any of these errors; ``{}`` in the reason stands for it.

        Too little memory is the file's fault only where it is named among them.
        """

        def message(error: Exception) -> str:
            if isinstance(error, MemoryError) and MemoryError not in errors:
                raise error
            return f"{self.role}: {self.shown} {reason.format(error)}"

        return refusing(message, *errors)

    def choose(self, keys: Iterable[str]) -> str:
        """Return the key that was given, a usual one, or the only one."""
        known = list(keys)
        if self.key is not None:
            if self.key not in known:
                raise self.refuse(f"has no array {self.key!r}; it has {_listed(known)}.")
            return self.key
        usual = [key for key in _USUAL_KEYS if key in known]
        if {"mu", "sigma"} <= set(known) and not usual:
            raise self.refuse(
                "holds FID statistics (mu and sigma): precision and recall need the features "
                "themselves. For the Fréchet distance alone use precall frechet."
            )
        if usual or len(known) == 1:
            return (usual or known)[0]
        if not known:
            raise self.refuse("holds no array.")
        raise self.refuse(
            f"holds several arrays, {_listed(known)}; name one: {self.path}:{known[0]}"
        )

    def chosen_columns(self, names: Sequence[str]) -> list[int]:
        """Return which columns of a table the key names: one, several, the first to the last."""
        key = self.key or ""
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        found: dict[int, None] = {}  # in the order in which they were named, each once
        for part in [key] if key in places else key.split(","):
            ends = _ends(part.strip(), places)
            if ends is None:
                raise self.refuse(f"has no column {part.strip()!r}; it has {_listed(names)}.")
            found |= dict.fromkeys(range(min(ends), max(ends) + 1))
        return list(found)

    @property
    def how_to_choose_columns(self) -> str:
        """The next step where other columns are wanted."""
        file = self.path
        return f"To choose columns yourself: {file}:NAME,NAME or {file}:FIRST-LAST."

    def features_among(self, columns: Sequence[NDArray[Any]], names: Sequence[str]) -> list[int]:
        """Return which columns are features: those that were named, or all but row numbers."""
        if self.key is not None:
            return list(range(len(columns)))
        advice = self.how_to_choose_columns
        return features_among(columns, names, self.role, self.shown, advice)

    def checked(self, array: NDArray[Any]) -> NDArray[Any]:
        """Refuse images, which are no features yet."""
        if array.ndim == 4 and array.dtype.kind in "ui" and not self.takes_pictures:
            raise self.refuse(
                f"holds images (shape {array.shape}, {array.dtype}); extract features first. "
                "Add --features auto, or features='auto'."
            )
        return array

    def library(self, module: str, install: str = "'precall[formats]'") -> ModuleType:
        """Import a library that only this format needs."""
        return needed(module, f"{self.role}: {self.path.suffix} files need", install)


def _ends(part: str, places: dict[str, int]) -> tuple[int, int] | None:
    """Where a column, or the first and the last of a range, stand; names may have dashes, too."""
    if part in places:
        return places[part], places[part]
    for at, letter in enumerate(part):
        first, last = part[:at], part[at + 1 :]
        if letter == "-" and first in places and last in places:
            return places[first], places[last]
    return None


def _listed(keys: Sequence[str]) -> str:
    shown = ", ".join(repr(key) for key in keys[:_MOST_LISTED])
    return shown + (f" and {len(keys) - _MOST_LISTED} more" if len(keys) > _MOST_LISTED else "")
