"""What the radii of a whole class become before anything is compared with them."""

import math

import numpy as np
from numpy.typing import NDArray

from precall.neighbors.tie_rules import largest_square_within

Floats = NDArray[np.float64]

_SOFTNESS = 1.2


def mean_radius(squared_radii: Floats) -> float:
    """Mean of the radii, summed without rounding error so that no order of rows matters."""
    return math.fsum(np.sqrt(squared_radii)) / len(squared_radii)


def soft_radius(squared_radii: Floats) -> float:
    """R of the soft cover (Sykes et al. 2024, Eq. 8, with its erratum)."""
    return _SOFTNESS * mean_radius(squared_radii)


def clipped_thresholds(squared_radii: Floats) -> Floats:
    """Squared radii, none above the median radius."""
    median = np.median(np.sqrt(squared_radii))
    return np.asarray(np.minimum(squared_radii, largest_square_within(np.array([median]))))


def mean_threshold(squared_radii: Floats) -> float:
    """The largest squared distance whose root is at most the mean radius."""
    return float(largest_square_within(np.array(mean_radius(squared_radii))))


def realism_weights(squared_radii: Floats) -> Floats:
    """Squared radii that realism looks at: those above the median radius are left out, as -1."""
    radii = np.sqrt(squared_radii)
    return np.where(radii <= np.median(radii), squared_radii, -1.0)
