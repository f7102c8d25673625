"""Work in threads, with results in order and a prompt end."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from precall.errors import InputError

S = TypeVar("S")
T = TypeVar("T")

_THREADS_VARIABLE = "PRECALL_NUM_THREADS"


def n_threads(threads: int | None) -> int:
    """Settle the number of threads: the argument, the environment, or one a core."""
    if threads is not None:
        return threads
    variable = os.environ.get(_THREADS_VARIABLE, "")
    if variable and not (variable.isascii() and variable.isdigit() and int(variable) > 0):
        raise InputError(f"{_THREADS_VARIABLE} must be a positive integer; got {variable!r}.")
    if variable:
        return int(variable)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(task: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Run ``task`` on every item and return the results in order; stop at the first error.

    Each thread takes the next item itself: nobody has to wake up for every result, and to take a
    core and the interpreter from those who work.
    """
    every = list(items)
    if min(threads, len(every)) <= 1:
        return [task(item) for item in every]
    results: dict[int, T] = {}
    left = deque(enumerate(every))

    def work() -> None:
        while True:
            try:
                i, item = left.popleft()
            except IndexError:
                return
            try:
                results[i] = task(item)
            except BaseException:  # what has not begun never will
                left.clear()
                raise

    with ThreadPoolExecutor(min(threads, len(every))) as pool:
        workers = [pool.submit(work) for _ in range(min(threads, len(every)))]
        try:
            for worker in workers:
                worker.result()
        finally:  # Ctrl-C, too
            left.clear()
    return [results[i] for i in range(len(every))]


class _Limit:
    """Who holds libraries to one thread, so that it is asked of them only once."""

    lock = threading.Lock()
    users = 0
    n_modules = 0  # loaded when it was asked
    taken: ClassVar[list[Any]] = []


@contextmanager
def single_threaded_libraries() -> Iterator[None]:
    """Let no matrix product spread over threads, which would change the order of its sums.

    Finding all libraries takes milliseconds: inside of another such block nothing is done again,
    unless modules have been loaded since. The last to leave gives the threads back.
    """
    import scipy.linalg  # noqa: F401 - only a library that is loaded can be limited
    from threadpoolctl import threadpool_limits

    with _Limit.lock:
        if not _Limit.taken or _Limit.n_modules != len(sys.modules):
            _Limit.taken.append(threadpool_limits(limits=1))
            _Limit.n_modules = len(sys.modules)
        _Limit.users += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.users -= 1
            while _Limit.users == 0 and _Limit.taken:
                _Limit.taken.pop().restore_original_limits()
