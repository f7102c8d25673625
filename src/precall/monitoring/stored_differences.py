"""How certainly two results differ, by what their documents hold: a value and an interval of each.

A document has no replicates, so that differences cannot be paired. Generated samples of two results
are different draws; the real ones, if they are the same, move both numbers the same way, so that a
difference varies less than two independent numbers would: what is taken here is on the safe side.
"""

import math
from dataclasses import dataclass

from precall.results.flat_numbers import FlatNumber

_DEGREES_OF_FREEDOM = 32  # the fewest that intervals of results have: their quantiles grow fastest


@dataclass(frozen=True, slots=True)
class Measured:
    """A number, and how far it reaches down and up for every standard error of a normal law."""

    value: float
    below: float
    above: float

    @classmethod
    def of(cls, number: FlatNumber, confidence: float) -> "Measured":
        """Read a number that has an interval of this confidence."""
        if number.interval is None:
            raise ValueError("this number has no interval")
        low, high = number.interval
        unit = quantile(confidence)
        value = float(number.value)
        return cls(value, max(value - low, 0.0) / unit, max(high - value, 0.0) / unit)

    @property
    def error(self) -> float:
        """Standard error, by the longer side: intervals end where a number has its bounds."""
        return max(self.below, self.above)


def interval_of_difference(
    first: Measured, second: Measured, confidence: float
) -> tuple[float, float]:
    """Return an interval around the first number less the second (Zou & Donner 2008)."""
    reach = quantile(confidence)
    difference = first.value - second.value
    below = reach * math.hypot(first.below, second.above)
    above = reach * math.hypot(first.above, second.below)
    return difference - below, difference + above


def quantile(confidence: float) -> float:
    """Return how many standard errors an interval of this confidence reaches to either side."""
    from scipy.stats import t

    return float(t.ppf((1 + confidence) / 2, _DEGREES_OF_FREEDOM))
