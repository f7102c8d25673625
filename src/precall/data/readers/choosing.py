"""Where an array is, and which of several is meant."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from numpy.typing import NDArray

from precall.errors import InputError

__all__ = ["Place", "needed"]

_USUAL_KEYS = ("feats", "features", "reps", "arr_0")
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Place:
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

    def choose(self, keys: Iterable[str]) -> str:
        """Return the key that was given, a usual one, or the only one."""
        known = list(keys)
        if self.key is not None:
            if self.key not in known:
                raise self.refuse(f"has no array {self.key!r}; it has {_listed(known)}.")
            return self.key
        if {"mu", "sigma"} <= set(known) and not set(_USUAL_KEYS) & set(known):
            raise self.refuse(
                "holds FID statistics (mu and sigma): precision and recall need the features "
                "themselves. For the Fréchet distance alone use precall frechet."
            )
        for key in _USUAL_KEYS:
            if key in known:
                return key
        if len(known) == 1:
            return known[0]
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


def _listed(keys: list[str]) -> str:
    shown = ", ".join(repr(key) for key in keys[:_MOST_LISTED])
    return shown + (f" and {len(keys) - _MOST_LISTED} more" if len(keys) > _MOST_LISTED else "")


def needed(place: Place, module: str) -> ModuleType:
    """Import a library that only this format needs."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        extra = "torch" if package == "torch" else "formats"
        raise ImportError(
            f"{place.role}: {place.path.suffix} files need {package}. Install it with: pip install "
            + ("torch" if extra == "torch" else f"'precall[{extra}]'")
        ) from error
