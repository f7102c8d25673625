"""Functions that Numba compiles: where they are kept, and that somebody waits for them.

They are compiled when first called, once on a machine: Numba keeps them beside the source or in the
user's cache. Where neither can be written, in a container without a home, they are kept in a
private temporary folder; where there is none, nowhere.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core.event import Event, Listener, install_listener

from precall.runtime.progress import Progress

_MESSAGE = "compiling kernels, once on this machine"


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile in nopython mode; ``cache`` only where anything can be kept."""
    options["cache"] = options.get("cache", False) and _CAN_KEEP
    compiled: Callable[[Callable[..., Any]], Any] = numba.njit(**options)
    return compiled


def _probe() -> None:
    """Nothing; Numba is asked whether it could keep it."""


def _numba_can_keep() -> bool:
    try:
        numba.njit(cache=True)(_probe)
    except RuntimeError:  # no locator available
        return False
    return True


def private_folder() -> str:
    """A folder for this user alone: what is found in it will be run."""
    if hasattr(os, "getuid"):
        folder = Path(tempfile.gettempdir()) / f"precall-kernels-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        is_folder, is_own = stat.S_ISDIR(status.st_mode), status.st_uid == os.getuid()
        if is_folder and is_own and not status.st_mode & 0o077:
            return str(folder)
    return tempfile.mkdtemp(prefix="precall-kernels-")


def _find_a_place() -> bool:
    """Whether compiled functions can be kept; in a temporary folder if nowhere else."""
    if _numba_can_keep():
        return True
    try:
        numba.config.CACHE_DIR = private_folder()
    except OSError:
        return False
    return _numba_can_keep()


_CAN_KEEP = _find_a_place()


class _Announcer(Listener):  # type: ignore[misc]
    """Says what takes so long; functions that compile others are announced once."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.depth, self.before = progress, 0, ""

    def on_start(self, event: Event | None = None) -> None:
        if self.depth == 0:
            self.before = self.progress.what
            self.progress.doing(_MESSAGE)
        self.depth += 1

    def on_end(self, event: Event | None = None) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.progress.doing(self.before)


_LISTENING: list[_Announcer] = []


@contextmanager
def announced_compiling(progress: Progress) -> Iterator[None]:
    """Name compilation on a progress bar for as long as it takes."""
    announcer = _Announcer(progress)
    _LISTENING.append(announcer)
    try:
        with install_listener("numba:compile", announcer):
            yield
    finally:
        _LISTENING.remove(announcer)


@contextmanager
def compiling() -> Iterator[None]:
    """Tell whoever listens that another compiler than Numba is at work."""
    told = list(_LISTENING)
    for announcer in told:
        announcer.on_start()
    try:
        yield
    finally:
        for announcer in told:
            announcer.on_end()
