"""Whether a sample on the very edge of a ball is inside it, and in whose arithmetic.

Every rule is a threshold: a pair is inside if its canonical squared distance is at most that of the
ball. So engines know one comparison only, and a preset that rounds distances first (prdc compares
float32 numbers) costs nothing and is exact.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class TieRule(StrEnum):
    """When a distance d is inside a ball of radius r."""

    CLOSED = "distance <= radius"
    OPEN = "distance < radius"
    OPEN_FLOAT64 = "float64(distance) < float64(radius)"
    OPEN_FLOAT32 = "float32(distance) < float32(radius)"
    CLOSED_FLOAT64 = "float64(distance) <= float64(radius)"
    CLOSED_FLOAT32 = "float32(distance) <= float32(radius)"

    def thresholds(self, squared_radii: Floats) -> Floats:
        """Return the largest squared distances that are inside balls of these squared radii.

        Negative where nothing is inside.

        Examples
        --------
        >>> import numpy as np
        >>> four = np.array([4.0])
        >>> TieRule.CLOSED.thresholds(four), TieRule.OPEN.thresholds(four) < 4
        (array([4.]), array([ True]))
        """
        if self is TieRule.CLOSED:
            return squared_radii
        if self is TieRule.OPEN:
            return np.nextafter(squared_radii, -np.inf)
        if self in (TieRule.OPEN_FLOAT64, TieRule.CLOSED_FLOAT64):
            roots = np.sqrt(squared_radii)
            if self is TieRule.OPEN_FLOAT64:
                roots = np.nextafter(roots, -np.inf)
            return largest_square_within(roots).astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.sqrt(squared_radii.astype(np.float32))
        if self is TieRule.OPEN_FLOAT32:
            rounded = np.nextafter(rounded, np.float32(-np.inf))
        return _largest_rounded_to(largest_square_within(rounded))


def largest_square_within(roots: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the largest floats whose square roots, rounded, are at most ``roots``; else -1.

    In the precision of ``roots``: √d² ≤ ρ as a test of d² itself.
    """
    up, down = roots.dtype.type(np.inf), roots.dtype.type(-np.inf)
    limits = np.maximum(roots, 0)
    is_finite = np.isfinite(roots)
    with np.errstate(over="ignore", under="ignore"):
        squares = limits**2
        squares = np.where(is_finite, np.minimum(squares, np.finfo(roots.dtype).max), squares)
        while (too_large := np.sqrt(squares) > limits).any():
            squares = np.where(too_large, np.nextafter(squares, down), squares)
        while (too_small := is_finite & (np.sqrt(np.nextafter(squares, up)) <= limits)).any():
            squares = np.where(too_small, np.nextafter(squares, up), squares)
    return np.where(roots < 0, roots.dtype.type(-1), squares)


def _largest_rounded_to(values: NDArray[np.floating]) -> Floats:
    """Return the largest float64 numbers that round to at most the given float32 numbers."""
    finite = np.minimum(values, np.finfo(np.float32).max).astype(np.float32)
    spacing = np.spacing(np.minimum(finite, np.float32(2.0**127)))  # beyond, it would overflow
    middle = finite.astype(np.float64) + spacing.astype(np.float64) / 2
    with np.errstate(over="ignore"):
        rounds_down = middle.astype(np.float32) <= finite  # a tie goes to the even neighbour
    largest = np.where(rounds_down, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(values), np.inf, largest)
