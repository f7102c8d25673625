"""Texts: one a line, one a JSON object, one a row of a column, or one a file."""

import json
from pathlib import Path
from typing import Any

from precall.data.readers.array_location import ArrayLocation
from precall.errors import InputError
from precall.inputs.items import BrokenInputError, Raw, hashed_listing, stamp
from precall.inputs.memory import InMemory

_USUAL_KEYS = ("text", "content", "completion", "generated", "sentence")
ENDINGS = {".txt", ".md"}


def read_text(raw: Raw) -> str:
    """Read one text: as it is, or from a file in UTF-8."""
    if isinstance(raw, str):
        return raw
    try:
        data = raw.read_bytes() if isinstance(raw, Path) else raw
        text: str = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenInputError("is not text in UTF-8") from error
    except OSError as error:
        raise BrokenInputError(f"cannot be read: {error.strerror or error}") from error
    return text


def list_lines(place: ArrayLocation) -> InMemory:
    """Read a .txt file: one text a line; empty lines are none."""
    lines = _decoded(place).splitlines()
    texts = [line for line in lines if line.strip()]
    return _texts(place, texts, len(lines) - len(texts), "empty lines")


def list_jsonl(place: ArrayLocation) -> InMemory:
    """Read a .jsonl file: one object a line, with the text under the key given or a usual one."""
    texts: list[str] = []
    for number, line in enumerate(_decoded(place).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise place.refuse(f"has a line {number} that is not JSON: {error!s:.100}.") from error
        texts.append(_text_of(entry, place, number))
    return _texts(place, texts, 0, "")


def list_column(place: ArrayLocation, column: Any) -> InMemory:
    """Take the texts of a column of a table."""
    texts = [value for value in column if value is not None]
    return _texts(place, texts, len(column) - len(texts), "missing values")


def _decoded(place: ArrayLocation) -> str:
    with place.refusing("is not text in UTF-8: {}.", UnicodeDecodeError):
        return place.path.read_bytes().decode("utf-8-sig")


def _text_of(entry: Any, place: ArrayLocation, number: int) -> str:
    if isinstance(entry, str) and place.key is None:
        return entry
    if isinstance(entry, dict):
        keys = (place.key,) if place.key is not None else _USUAL_KEYS
        for key in keys:
            if isinstance(entry.get(key), str):
                return str(entry[key])
    wanted = repr(place.key) if place.key is not None else " or ".join(map(repr, _USUAL_KEYS))
    raise place.refuse(
        f"has no text under {wanted} in line {number}. Name the key: {place.path}:KEY"
    )


def _texts(place: ArrayLocation, texts: list[str], n_left_out: int, what: str) -> InMemory:
    if not texts:
        raise InputError(f"{place.role}: {place.shown} holds no texts.")
    notes = (f"{n_left_out} {what} of {place.shown} are left out.",) if n_left_out else ()
    source = str(place.path) if place.key is None else f"{place.path}:{place.key}"
    stored = hashed_listing([place.path.resolve(), place.key, *stamp(place.path)])
    return InMemory("texts", source, notes, texts, stored=stored)
