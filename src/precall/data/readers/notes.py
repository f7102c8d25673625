"""What a reader took for granted, such as a column it left out: warned of, and kept for results."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from precall.errors import PrecallWarning

_PACKAGE = __name__.partition(".")[0]


class Note(NamedTuple):
    """A sentence about one input."""

    role: str  # what the input is called
    text: str


_listeners: ContextVar[tuple[list[Note], ...]] = ContextVar("listeners", default=())


def note(role: str, text: str) -> None:
    """Warn of what was done to an input, and tell whoever listens."""
    sentence = f"{role}: {text}"
    for notes in _listeners.get():
        notes.append(Note(role, sentence))
    warnings.warn(sentence, PrecallWarning, stacklevel=_levels_inside())


@contextmanager
def noted() -> Iterator[list[Note]]:
    """Collect the notes on all that is read meanwhile."""
    notes: list[Note] = []
    before = _listeners.set((*_listeners.get(), notes))
    try:
        yield notes
    finally:
        _listeners.reset(before)


def _levels_inside() -> int:
    """How far up the caller of precall is, whose line a warning should name."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE
