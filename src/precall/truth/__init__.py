"""Known distributions: samples, densities, and the true precision–recall curve of two of them."""

from precall.truth.families import (
    Distribution,
    Gaussian,
    Mixture,
    UniformBall,
    UniformBox,
    UniformShell,
    UniformTorus,
)
from precall.truth.known_curves import true_curve

__all__ = [
    "Distribution",
    "Gaussian",
    "Mixture",
    "UniformBall",
    "UniformBox",
    "UniformShell",
    "UniformTorus",
    "true_curve",
]
