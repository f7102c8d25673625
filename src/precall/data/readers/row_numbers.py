"""Columns of a table that number its rows: no features, though they are numbers."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.notes import note

_NAMES_OF_ROWS = re.compile(r"|id|index|row|unnamed: 0(\.\d+)*|__index_level_\d+__")
_FEWEST_TO_COUNT = 3  # two rows count 0, 1 or 1, 2 by chance


def features_among(
    columns: Sequence[NDArray[Any]], names: Sequence[str], role: str, table: str, advice: str
) -> list[int]:
    """Return which columns are features; say which ones are left out since they number the rows.

    A table of nothing else keeps them all: they are then its only features.
    """
    numbering = [
        place
        for place, (column, name) in enumerate(zip(columns, names, strict=True))
        if _counts(column) or (_is_named_so(name) and _are_different_integers(column))
    ]
    if not numbering or len(numbering) == len(columns):
        return list(range(len(columns)))
    note(role, f"{_described([names[place] for place in numbering], table)} {advice}")
    return [place for place in range(len(columns)) if place not in numbering]


def _counts(column: NDArray[Any]) -> bool:
    """Whether these are the numbers from 0, or from 1, in their order."""
    n = len(column)
    if n < _FEWEST_TO_COUNT or column[0] not in (0, 1):
        return False
    return np.array_equal(column, np.arange(n) + int(column[0]))


def _is_named_so(name: str) -> bool:
    return _NAMES_OF_ROWS.fullmatch(name.strip().lower()) is not None


def _are_different_integers(column: NDArray[Any]) -> bool:
    is_whole = np.isfinite(column).all() and (column == np.rint(column)).all()
    return bool(is_whole) and len(np.unique(column)) == len(column)


def _described(names: Sequence[str], table: str) -> str:
    where = [f"column {name!r}" if name.strip() else "the column without a name" for name in names]
    fate = "which is left out" if len(names) == 1 else "which are left out"
    return f"{table} has row numbers in {' and in '.join(where)}, {fate}."
