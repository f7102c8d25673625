"""What the radii of a whole class become before anything is compared with them."""

import math

import numpy as np
from numpy.typing import NDArray

from precall.neighbors.tie_rules import largest_square_within

__all__ = ["clipped_thresholds", "is_realism_candidate", "mean_radius", "soft_radius"]

Floats = NDArray[np.float64]

_SOFTNESS = 1.2


def mean_radius(squared_radii: Floats) -> float:
    """Mean of the radii, summed without rounding error so that no order of rows matters."""
    return math.fsum(np.sqrt(squared_radii)) / len(squared_radii)


def soft_radius(squared_radii: Floats) -> float:
    """R of the probabilistic scores (000 Eq. 8)."""
    return _SOFTNESS * mean_radius(squared_radii)


def clipped_thresholds(squared_radii: Floats) -> Floats:
    """Squared radii, none above the median radius."""
    median = np.median(np.sqrt(squared_radii))
    return np.asarray(np.minimum(squared_radii, largest_square_within(np.array([median]))))


def is_realism_candidate(squared_radii: Floats) -> NDArray[np.bool_]:
    """Which references realism looks at: those whose radius is not above the median."""
    radii = np.sqrt(squared_radii)
    return np.asarray(radii <= np.median(radii))
