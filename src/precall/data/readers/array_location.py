"""Where an array is: in which file, and which of several in it."""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from numpy.typing import NDArray

from precall.errors import InputError
from precall.runtime.refusals import needed, refusing

_USUAL_KEYS = ("feats", "features", "reps", "arr_0")
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class ArrayLocation:
    """A file, the name of an array in it if one was given, and what the input is called."""

    path: Path
    key: str | None
    role: str

    @classmethod
    def of(cls, path: str | os.PathLike[str], role: str) -> Self:
        """Tell ``features.npz:key`` from a file whose name has a colon."""
        whole = Path(path)
        file, colon, key = os.fspath(path).rpartition(":")
        if colon and key and not whole.exists() and Path(file).exists():
            return cls(Path(file), key, role)
        return cls(whole, None, role)

    def refuse(self, reason: str) -> InputError:
        """Make the error that says what is wrong with this file."""
        return InputError(f"{self.role}: {self.path} {reason}")

    def refusing(self, reason: str, *errors: type[Exception]) -> AbstractContextManager[None]:
        """Refuse this file for any of these errors; ``{}`` in the reason stands for it."""
        return refusing(lambda e: f"{self.role}: {self.path} {reason.format(e)}", *errors)

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

    def checked(self, array: NDArray[Any]) -> NDArray[Any]:
        """Refuse images, which are no features yet."""
        if array.ndim == 4 and array.dtype.kind in "ui":
            raise self.refuse(
                f"holds images (shape {array.shape}, {array.dtype}); extract features first."
            )
        return array

    def library(self, module: str, install: str = "'precall[formats]'") -> ModuleType:
        """Import a library that only this format needs."""
        return needed(module, f"{self.role}: {self.path.suffix} files need", install)


def _listed(keys: list[str]) -> str:
    shown = ", ".join(repr(key) for key in keys[:_MOST_LISTED])
    return shown + (f" and {len(keys) - _MOST_LISTED} more" if len(keys) > _MOST_LISTED else "")
