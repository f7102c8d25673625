"""Functions that Numba compiles: where they are kept, and that somebody waits for them.

They are compiled when first called, once on a machine: Numba keeps them beside the source or in the
user's cache. Where neither can be written, in a container without a home, they are kept in a
private temporary folder; where there is none, nowhere.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, install_listener

from precall.runtime.progress import Progress

_MESSAGE = "compiling kernels, once on this machine"
# Neither C callbacks nor checks of divisors, which no kernel needs
_QUICK_TO_COMPILE = {"no_cfunc_wrapper": True, "error_model": "numpy"}


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's, but for a disk that is full: then a function is compiled again next time."""

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


def njit(
    *, allocates: bool = True, cache: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Compile in nopython mode what Python calls; ``cache`` only where anything can be kept.

    A function that ``allocates`` no arrays, nor calls one that does, counts no references to those
    it is given, which spares instructions and their compilation.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**_QUICK_TO_COMPILE, _nrt=allocates, **options)(function)
        if cache and _CAN_KEEP:
            compiled._cache = _Cache(function)
        return compiled

    return decorate


class _Helper(Dispatcher):
    """Without an entry for Python, which runs the function as it is."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def helper(
    *, allocates: bool = False, fastmath: set[str] | bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function into those that call it: with no entry of its own, in half the time.

    It must say if it ``allocates`` arrays (see :func:`njit`), and is compiled for every type it is
    called with: a number that is an int32 here and an int64 there costs its time twice.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(
            **_QUICK_TO_COMPILE, no_cpython_wrapper=True, fastmath=fastmath, _nrt=allocates
        )(function)
        if isinstance(compiled, Dispatcher):  # with NUMBA_DISABLE_JIT it is the function
            compiled.__class__ = _Helper
        return compiled

    return decorate


def c_function(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function that jitted ones can call by its ``address``, as long as it is held."""
    try:
        return numba.cfunc(signature, cache=_CAN_KEEP)(function)
    except OSError:  # the disk is full
        return numba.cfunc(signature)(function)


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
