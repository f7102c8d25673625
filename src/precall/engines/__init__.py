"""Engines compare rows; all of them give the same answers."""

from precall.engines.choice import choose_engine
from precall.engines.protocol import Engine, Session

__all__ = ["Engine", "Session", "choose_engine"]
