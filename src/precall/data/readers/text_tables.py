"""Tables of text: .csv, .tsv and .txt, with or without a line of names."""

import csv
import re
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.notes import note

Opening = Callable[[], IO[str]]  # the text from its beginning, each time it is called

_LINES_LOOKED_AT = 50
_COMMENT = "#"
_INTEGER = re.compile(r"[+-]?\d+")
_MISSING = {"", "-", "?", "na", "n/a", "#n/a", "null", "none"}


class _Layout(NamedTuple):
    """How a table is written."""

    separator: str | None  # None for any white space
    names: list[str]  # of the columns; 0, 1, 2, … where the table has none
    first_line: int  # that holds a sample, from 0

    def cells(self, line: str) -> list[str]:
        return _cells(line, self.separator)


def read_csv(place: ArrayLocation) -> NDArray[Any]:
    """Read a table with commas."""
    return read_text(place, _opening(place), ",")


def read_tsv(place: ArrayLocation) -> NDArray[Any]:
    """Read a table with tabs."""
    return read_text(place, _opening(place), "\t")


def read_txt(place: ArrayLocation) -> NDArray[Any]:
    """Read a table with tabs, commas or white space."""
    return read_text(place, _opening(place), None)


def read_text(place: ArrayLocation, opening: Opening, separator: str | None) -> NDArray[Any]:
    """Read a table of numbers; without a separator the first line tells what it is."""
    with place.refusing("is not a table of numbers: {!s:.200}.", csv.Error):
        with opening() as file:
            layout = _layout(place, file, separator)
        chosen = None if place.key is None else place.chosen_columns(layout.names)
        try:
            rows = _numbers(opening, layout, chosen)
        except ValueError as error:
            reason = _first_fault(place, opening, layout, chosen) or f"{str(error).rstrip('.')}."
            raise place.refuse(f"is not a table of numbers: {reason}") from error
    if chosen is not None:
        return rows
    kept = place.features_among(rows.T, layout.names)  # type: ignore[arg-type]
    return rows if len(kept) == rows.shape[1] else np.ascontiguousarray(rows[:, kept])


def _opening(place: ArrayLocation) -> Opening:
    return lambda: place.path.open(encoding="utf-8-sig", errors="replace")


def _numbers(opening: Opening, layout: _Layout, chosen: list[int] | None) -> NDArray[Any]:
    with opening() as file:
        return np.loadtxt(
            file, delimiter=layout.separator, skiprows=layout.first_line, usecols=chosen,
            ndmin=2, comments=None, quotechar='"',
        )  # fmt: skip


def _layout(place: ArrayLocation, file: IO[str], separator: str | None) -> _Layout:
    lines = list(islice(_meaningful(file), _LINES_LOOKED_AT))
    comments = list(takewhile(lambda line: line[1].startswith(_COMMENT), lines))
    lines = lines[len(comments) :]
    if not lines:
        raise place.refuse("is empty.")
    separator = separator or _separator(lines[0][1])
    first, *others = [_cells(line, separator) for _, line in lines]
    if not _are_names(first, others):
        above = _cells(comments[-1][1].lstrip(_COMMENT), separator) if comments else []
        names = above if len(above) == len(first) else list(map(str, range(len(first))))
        return _Layout(separator, names, lines[0][0])
    if not others:
        raise place.refuse("holds a line of names, but no samples.")
    return _Layout(separator, _names(place, first, others[0], lines[1][0]), lines[1][0])


def _names(place: ArrayLocation, names: list[str], sample: list[str], line: int) -> list[str]:
    """Return one name a column; say so where numbers are taken for names."""
    if all(map(_INTEGER.fullmatch, names)):
        note(
            place.role,
            f"the first line of {place.shown}, 0 to {len(names) - 1}, is read as the names of "
            "columns, not as a sample. If it is one, save the features as .npy.",
        )
    if len(names) == len(sample) - 1:
        names = ["", *names]  # as R writes row names
    if len(names) != len(sample):
        reason = _wrong_width(line, len(sample), len(names))
        raise place.refuse(f"is not a table of numbers: {reason}")
    return names


def _meaningful(file: IO[str]) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 0."""
    return ((number, line) for number, line in enumerate(file) if line.strip())


def _separator(line: str) -> str | None:
    return next((sign for sign in "\t," if sign in line.strip()), None)


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return [cell.strip('"') for cell in line.split()]
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=separator))]


def _are_names(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first line names columns: by words, or by numbers as data frames do."""
    if any(not _is_number(cell) and cell.lower() not in _MISSING for cell in first):
        return True
    if first[0] == "" and len(first) > 1:  # above row numbers, beside columns without names
        return all(map(str.isdecimal, first[1:])) and len({*first}) == len(first)
    if first != list(map(str, range(len(first)))):
        return False
    # A lone 0 above numbers with a point; above integers it is one of them.
    return len(first) > 1 or not any(_INTEGER.fullmatch(cell) for row in others for cell in row)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python's spelling alone


def _first_fault(
    place: ArrayLocation, opening: Opening, layout: _Layout, chosen: list[int] | None
) -> str:
    """Say where the table is not as its first line has it; nothing if no fault is found."""
    width = len(layout.names)
    with opening() as file:
        for number, line in _meaningful(file):
            if number < layout.first_line:
                continue
            cells = layout.cells(line)
            if len(cells) != width:
                return _wrong_width(number, len(cells), width)
            for column in range(width) if chosen is None else chosen:
                if not _is_number(cells[column]):
                    seen = f"{cells[column]!r:.40}" if cells[column] else "nothing"
                    where = f"line {number + 1}, column {layout.names[column]!r}"
                    return f"{where} holds {seen}. {place.how_to_choose_columns}"
    return ""


def _wrong_width(number: int, n: int, expected: int) -> str:
    return f"line {number + 1} has {n} value{'s' * (n != 1)}, expected {expected}."
