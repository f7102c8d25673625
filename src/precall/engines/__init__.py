"""Engines measure neighbour statistics; all of them return the same numbers."""

from precall.engines.protocol import Engine, Progress, choose_engine, n_threads
from precall.neighbors.radii import clipped_thresholds, soft_radius

__all__ = [
    "Engine",
    "Progress",
    "choose_engine",
    "clipped_thresholds",
    "n_threads",
    "soft_radius",
]
