"""What an engine is, and how one is chosen."""

import os
from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Protocol

from precall.data.splits import FitEval
from precall.errors import InputError
from precall.neighbors.statistics import NeighborPlan, NeighborStatistics

__all__ = ["Engine", "Meter", "Progress", "choose_engine", "n_threads"]

Progress = Callable[[int, int], None]  # called with the work done so far and the work in all

_ENGINES = {"cpu": ("cpu.engine", "CpuEngine"), "reference": ("reference", "ReferenceEngine")}
_BEST = "cpu"
_THREADS_VARIABLE = "PRECALL_NUM_THREADS"


class Engine(Protocol):
    """One method. ``reference.py`` defines its answers; every other engine is only faster."""

    name: str

    def measure(
        self,
        real: FitEval,
        generated: FitEval,
        plan: NeighborPlan,
        *,
        threads: int | None,
        progress: Progress,
    ) -> NeighborStatistics:
        """Judge all evaluated samples by all fit samples.

        Parameters
        ----------
        real, generated
            The two classes of one fold.
        plan
            What to count.
        threads
            How many threads to use; ``None`` for one a core. Never changes the answer.
        progress
            Called now and then.
        """
        ...


def choose_engine(name: str | Engine, *, remembers: bool = False) -> Engine:
    """Return the engine called ``name``; only ``"auto"`` chooses for the caller.

    Parameters
    ----------
    remembers
        Whether more measurements with the same real samples will follow.
    """
    if not isinstance(name, str) and hasattr(name, "measure"):
        return name
    if name == "auto":
        name = _BEST
    if not isinstance(name, str) or name not in _ENGINES:
        known = ", ".join(repr(known) for known in ("auto", *_ENGINES))
        raise InputError(f"engine={name!r} is unknown; choose from {known}.")
    module, kind = _ENGINES[name]
    make = getattr(import_module(f"precall.engines.{module}"), kind)
    engine: Engine = make(remembers=True) if remembers and name == _BEST else make()
    return engine


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


class Meter:
    """Knows how much work a plan is, and turns pairs compared into calls of ``progress``."""

    def __init__(self, real: FitEval, generated: FitEval, plan: NeighborPlan, progress: Progress):
        if plan.cross and any(side.fit is not side.evaluated for side in (real, generated)):
            raise ValueError("balls between the classes are only defined without a split")
        n_fit = len(real.fit) + len(generated.fit)
        n_eval = len(real.evaluated) + len(generated.evaluated)
        self._total = n_eval * n_fit * (bool(plan.reach_ks) + bool(plan.requests))
        if plan.radius_ks:
            self._total += len(real.fit) ** 2 + len(generated.fit) ** 2
        if plan.cross:
            n_sweeps = 1 + 2 * bool(plan.cross.soft_ks)
            self._total += n_sweeps * len(real.fit) * len(generated.fit)
            self._total += len(real.fit) ** 2 * bool(plan.cross.clipped_ks)
        self._done = 0
        self._progress = progress
        self._lock = Lock()

    def advance(self, n_pairs: int) -> None:
        """Report that this many more pairs were compared."""
        if n_pairs == 0:
            return
        with self._lock:
            self._done += n_pairs
            self._progress(self._done, self._total)
