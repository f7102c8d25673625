"""Engines compare rows; all of them give the same answers."""

from precall.engines.choice import choose_engine, is_cluster
from precall.engines.protocol import Engine, Session

__all__ = ["Engine", "Session", "choose_engine", "is_cluster"]
