"""Engines measure neighbour statistics; all of them return the same numbers."""

from precall.engines._radii import clipped_thresholds, soft_radius
from precall.engines.base import Engine, Progress, choose_engine, n_threads

__all__ = [
    "Engine",
    "Progress",
    "choose_engine",
    "clipped_thresholds",
    "n_threads",
    "soft_radius",
]
