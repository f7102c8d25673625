"""Work in threads, with results in order and a prompt end."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

__all__ = ["in_threads", "single_threaded_libraries"]

S = TypeVar("S")
T = TypeVar("T")


def in_threads(task: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Run ``task`` on every item and return the results in order; stop at the first error."""
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(task, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C, too: what has not begun never will
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def single_threaded_libraries() -> AbstractContextManager[object]:
    """Let no matrix product spread over threads, which would change the order of its sums."""
    import scipy.linalg  # noqa: F401 - only a library that is loaded can be limited
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
