"""The one function that tasks consist of: carry out an order. Runs on workers."""

import logging
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import get_worker

from precall.engines.cluster.checkpoint import Arrays, Checkpoint
from precall.engines.cluster.on_workers.workbench import Workbench, use_bench
from precall.engines.cluster.orders import ANY, Order
from precall.engines.cluster.parts import LacksRowsError, Things
from precall.errors import ClusterError
from precall.runtime.threads import single_threaded_libraries
from precall.version import __version__

logger = logging.getLogger("precall.cluster")
_one_at_a_time = threading.Lock()
_REPORT_EVERY = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all orders of a session."""

    session: str
    is_whole: bool
    sets: tuple[str, ...]  # that may be held
    remembered: int = 0  # bytes that may be remembered of earlier orders
    checkpoint: Checkpoint | None = None
    version: str = __version__

    @property
    def topic(self) -> str:
        """What workers report under."""
        return f"precall-{self.session}"


def carry_out(order: Any, digest: str, terms: Terms, things: Things) -> Any:
    """Answer an order, unless the answer is on disk already.

    Parameters
    ----------
    order
        An :class:`Order`.
    digest
        What it is known by.
    things
        All that it needs, by name.

    Returns
    -------
    The answer; None where the worker lacks rows that it was thought to hold.
    """
    worker = get_worker()
    check_version(terms.version, worker.address)
    known = None if terms.checkpoint is None else terms.checkpoint.load(digest)
    if known is not None and _fits(known, order):
        worker.log_event(terms.topic, {"found": digest})
        return known
    with _one_at_a_time, single_threaded_libraries():
        name = f"{terms.session} {terms.is_whole}"
        bench = use_bench(name, lambda: Workbench(terms.is_whole, worker.state.nthreads))
        bench.keep_only(terms.sets)
        bench.things, bench.advance = things, _Reporting(worker, terms.topic)
        bench.recollections.most_bytes = terms.remembered
        try:
            found = order.answer(bench)
        except LacksRowsError:
            return None
        except Exception as error:
            worker.log_event(terms.topic, {"failed": f"{error!s:.500}"})
            raise
        finally:
            bench.things = {}
    if terms.checkpoint is not None:
        terms.checkpoint.save(digest, found)
        worker.log_event(terms.topic, {"computed": digest})
    return found


def check_version(expected: str, address: str) -> None:
    """Refuse to work for another version of precall, whose answers may be others."""
    if __version__ != expected:
        raise ClusterError(
            f"worker {address} has precall {__version__}, this machine {expected}. Install the "
            "same version everywhere."
        )


def _fits(known: Arrays, order: Order) -> bool:
    """Whether arrays look like an answer to an order."""
    shapes = order.shapes()
    return not shapes or (
        len(shapes) == len(known)
        and all(
            str(array.dtype) == dtype
            and array.ndim == len(shape)
            and all(of in (ANY, size) for of, size in zip(shape, array.shape, strict=True))
            for array, (dtype, shape) in zip(known, shapes, strict=True)
        )
    )


class _Reporting:
    """Says now and then how far an order is; ends it soon after the client has lost interest."""

    def __init__(self, worker: Any, topic: str) -> None:
        self._worker, self._topic, self._key = worker, topic, worker.get_current_task()
        self._compared, self._lock = 0, threading.Lock()
        self._next = time.monotonic() + _REPORT_EVERY

    def __call__(self, n_pairs: int) -> None:
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise InterruptedError("this order was cancelled")
        with self._lock:  # of the threads that work on it
            self._compared += n_pairs
            if time.monotonic() < self._next:
                return
            self._next = time.monotonic() + _REPORT_EVERY
            told = {"order": self._key, "compared": int(self._compared)}
        self._worker.log_event(self._topic, told)


def add_up(*arrays: Any) -> Any:
    """Add up answers of one array each, in their order."""
    total = np.array(arrays[0][0])
    for (array,) in arrays[1:]:
        total += array
    return (total,)
