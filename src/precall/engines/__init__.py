"""Engines measure neighbour statistics; all of them return the same numbers."""

from precall.engines.base import Engine, Progress, choose_engine, n_threads

__all__ = ["Engine", "Progress", "choose_engine", "n_threads"]
