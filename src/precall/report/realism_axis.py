"""An axis for ratios that may span orders of magnitude, around 1."""

import math

import numpy as np
from numpy.typing import NDArray

_N_BINS = 40
_FEW = 0.01  # of all values may be beyond either end
_LEADING = (  # digits of numbers to write, the finest first
    (1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 8, 9, 9.5),
    (1, 1.2, 1.5, 2, 3, 4, 6, 8),
    (1, 2, 5),
    (1,),
)
_MOST_NUMBERS = 8


def bins_around_zero(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return edges of equal bins, 0 among them, that hold all but a few values far from all."""
    finite = logs[np.isfinite(logs)]
    few, most = np.quantile(finite, (_FEW, 1 - _FEW)) if len(finite) else (0.0, 0.0)
    room = (most - few) / 4
    low = few if finite.min(initial=few) < few - room else finite.min(initial=few)
    high = most if finite.max(initial=most) > most + room else finite.max(initial=most)
    low, high = min(low, -0.05), max(high, 0.05)  # so that there are bins to either side
    width = (high - low) / _N_BINS
    return width * np.arange(math.floor(low / width), math.ceil(high / width) + 1)


def round_ratios(low: float, high: float) -> list[float]:
    """Return a handful of round numbers to write on a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = math.ceil(len(decades) / _MOST_NUMBERS)
    for leading in _LEADING:
        powers = [10.0**i for i in decades if i % every == 0]
        found = [x * power for power in powers for x in leading if low <= x * power <= high]
        if len(found) <= _MOST_NUMBERS:
            break
    return found
