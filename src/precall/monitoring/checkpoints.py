"""Checkpoints in a folder of results: their order, and what is new."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from precall.errors import InputError
from precall.results.evaluation import Evaluation
from precall.results.json_document import read_document

_NUMBER = re.compile(r"(\d+)")
_FEWEST = 3


def natural_order(names: Iterable[str]) -> list[str]:
    """Sort names as people count: by the numbers in them.

    Examples
    --------
    >>> natural_order(["epoch-10", "epoch-9", "final", "epoch-9b"])
    ['epoch-9', 'epoch-9b', 'epoch-10', 'final']
    """
    return sorted(names, key=lambda name: (_parts(name), name))


def numbers_of(names: Iterable[str]) -> list[int] | None:
    """Return the numbers that names differ by, if they differ by one number and nothing else.

    Examples
    --------
    >>> numbers_of(["epoch-1", "epoch-2", "epoch-10"]), numbers_of(["gan-2", "vae-1", "flow-3"])
    ([1, 2, 10], None)
    """
    parts = [_NUMBER.split(name) for name in names]
    if len({len(of_name) for of_name in parts}) != 1:
        return None
    places = [
        place for place, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1
    ]
    if len(places) != 1 or places[0] % 2 == 0:
        return None
    return [int(of_name[places[0]]) for of_name in parts]


def are_checkpoints(names: Iterable[str]) -> bool:
    """Whether these are names of one model over time: three or more that differ by a number."""
    listed = list(names)
    return len(listed) >= _FEWEST and numbers_of(listed) is not None


class Found(NamedTuple):
    """What a folder holds."""

    results: Mapping[str, Evaluation]  # in their order
    refused: Mapping[str, str]  # files that hold no result, and why


class ResultFolder:
    """A folder that results are written to, one a checkpoint; only what is new is read.

    Parameters
    ----------
    order
        ``"name"``: as people count; ``"time"``: as they were last written.
    """

    def __init__(self, folder: Path, order: Literal["name", "time"] = "name") -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder; expected one with results (.json).")
        self.folder, self.order = folder, order
        self._read: dict[str, tuple[tuple[int, int], Evaluation | str]] = {}

    def look(self) -> tuple[Found, bool]:
        """Return what there is now, and whether anything has changed since the last look."""
        stamps = {}
        for path in self.folder.glob("*.json"):
            if not path.name.startswith(".") and path.is_file():
                status = path.stat()
                stamps[path.stem] = status.st_mtime_ns, status.st_size
        known = {name: of for name, of in self._read.items() if stamps.get(name) == of[0]}
        new = [name for name in stamps if name not in known]
        has_changed = bool(new) or len(known) != len(self._read)
        for name in new:
            known[name] = stamps[name], _read(self.folder / f"{name}.json")
        self._read = known
        names = natural_order(known)
        if self.order == "time":
            names.sort(key=lambda name: stamps[name][0])
        read = {name: known[name][1] for name in names}
        results = {name: of for name, of in read.items() if isinstance(of, Evaluation)}
        refused = {name: of for name, of in read.items() if isinstance(of, str)}
        return Found(results, refused), has_changed


def _read(path: Path) -> Evaluation | str:
    """Read a result, or say why there is none."""
    try:
        document = read_document(path)
        if "results" in document:
            return "it holds a comparison, not the result of one model"
        return Evaluation.from_json(path)
    except (InputError, OSError) as error:
        return str(error).removesuffix(".")


def _parts(name: str) -> list[tuple[int, int, str]]:
    """Return text and numbers in turn, so that numbers compare as such."""
    return [
        (0, int(part), "") if place % 2 else (1, 0, part.lower())
        for place, part in enumerate(_NUMBER.split(name))
    ]
