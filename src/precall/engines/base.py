"""What an engine is, and how one is chosen."""

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from precall.errors import InputError
from precall.neighbors import NeighborPlan, NeighborStatistics
from precall.split import FitEval

__all__ = ["Engine", "Progress", "choose_engine"]

Progress = Callable[[int, int], None]  # called with the work done so far and the work in all

_ENGINES = {"reference": "ReferenceEngine"}  # module in this package -> class
_BEST_FIRST = ("reference",)


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


def choose_engine(name: str) -> Engine:
    """Return the engine called ``name``; only ``"auto"`` chooses for the caller."""
    if name == "auto":
        name = _BEST_FIRST[0]
    if name not in _ENGINES:
        known = ", ".join(repr(known) for known in ("auto", *_ENGINES))
        raise InputError(f"engine={name!r} is unknown; choose from {known}.")
    engine: Engine = getattr(import_module(f"precall.engines.{name}"), _ENGINES[name])()
    return engine
