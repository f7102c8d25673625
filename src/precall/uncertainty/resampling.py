"""Intervals of what is a share of samples that were judged once: by drawing them again.

Who is judged by whom stays as it is, so nobody meets a copy of himself: only how often each sample
counts is drawn (Efron 1979), the real ones alike for all models of a comparison.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = NDArray[Any]  # (n_draws, n) how often each sample counts

N_DRAWS = 200
DEGREES_OF_FREEDOM = 64
_CELLS_AT_A_TIME = 2**21
_SHARE = 0.0, 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """A share, once for every draw of the samples."""

    draws: Floats  # (n_draws,)
    least: float  # deviation that there always is: one sample more or less

    @classmethod
    def of(cls, value: Callable[[Weights, Weights], Floats], n: int, m: int, seed: int) -> Self:
        """Draw n real and m generated samples again and again."""
        found = [value(*weights) for weights in drawn_weights(n, m, seed)]
        return cls(np.concatenate(found), math.hypot(1 / n, 1 / m))

    @property
    def deviation(self) -> float:
        """Standard deviation of the share."""
        return math.hypot(float(np.std(self.draws, ddof=1)), self.least)

    def half_width(self, confidence: float) -> float:
        """Half of the width of an interval around the share."""
        from scipy.stats import t

        return float(t.ppf((1 + confidence) / 2, DEGREES_OF_FREEDOM)) * self.deviation

    def interval(self, value: float, confidence: float) -> tuple[float, float]:
        """Return an interval around the share."""
        half = self.half_width(confidence)
        return max(_SHARE[0], value - half), min(_SHARE[1], value + half)

    def interval_of_difference(
        self, other: Self, values: tuple[float, float], confidence: float
    ) -> tuple[float, float]:
        """Return an interval around this share less another's, of the same real samples."""
        difference, half = values[0] - values[1], self._minus(other).half_width(confidence)
        return difference - half, difference + half

    def _minus(self, other: Self) -> Self:
        """Return the draws of a difference, where the same real samples were drawn."""
        return replace(
            self, draws=self.draws - other.draws, least=math.hypot(self.least, other.least)
        )


def drawn_weights(n: int, m: int, seed: int) -> Iterator[tuple[Weights, Weights]]:
    """Draw how often each real and each generated sample counts, some draws at a time."""
    of_real, of_generated = (np.random.default_rng((seed, 7, i)) for i in (0, 1))
    step = max(1, _CELLS_AT_A_TIME // max(n, m))
    for start in range(0, N_DRAWS, step):
        n_draws = min(step, N_DRAWS - start)
        yield _weights(of_real, n, n_draws), _weights(of_generated, m, n_draws)


def _weights(rng: np.random.Generator, n: int, n_draws: int) -> Weights:
    """How often each of n samples is drawn, if n are."""
    drawn = (np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_draws))
    return np.stack([counts.astype(np.int16) for counts in drawn])
