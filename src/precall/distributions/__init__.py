"""Known distributions: samples, densities, and the true precision–recall curve of two of them."""

from precall.distributions.families import (
    Distribution,
    Gaussian,
    Mixture,
    UniformBall,
    UniformBox,
    UniformShell,
    UniformTorus,
)
from precall.distributions.truth import true_curve

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
