"""Evidence: how strongly each evaluated sample looks real, and how strongly generated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Evidence:
    """How strongly each evaluated sample looks real, and how strongly generated.

    The classifier with parameter γ calls z real if γ·a(z) ≥ b(z) (Sykes et al. 2024 §3.1).
    """

    for_real: NDArray[Any]  # (n,) non-negative: a(z)
    for_generated: NDArray[Any]  # (n,) non-negative: b(z)
    is_real: NDArray[np.bool_]  # (n,) the truth
    choice: str = ""  # what cross-validation settled on, where it did

    def __len__(self) -> int:
        return len(self.is_real)

    def ratio(self) -> NDArray[np.float64]:
        """a/b of each sample: inf where b = 0 < a, and 1 where both are 0, which is even."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.asarray(self.for_real / self.for_generated, dtype=np.float64)
        return np.where((self.for_real == 0) & (self.for_generated == 0), 1.0, ratio)

    def called_real(self, gamma: float) -> NDArray[np.bool_]:
        """Say which samples the classifier with parameter γ calls real, even ones included.

        ``γ·a ≥ b`` from 1 on and ``γ·a > b`` below; a > 0 at γ = ∞ and b = 0 at γ = 0.
        """
        a, b = self.for_real, self.for_generated
        if gamma == np.inf:
            return np.asarray(a > 0)
        if gamma == 0:
            return np.asarray(b == 0)
        return np.asarray(gamma * a >= b if gamma >= 1 else gamma * a > b)

    def select(self, chosen: NDArray[Any]) -> Self:
        """Return the evidence of some of the samples."""
        return type(self)(self.for_real[chosen], self.for_generated[chosen], self.is_real[chosen])

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Pool the samples of several folds: errors at equal γ then add up."""
        return cls(
            np.concatenate([part.for_real for part in parts]),
            np.concatenate([part.for_generated for part in parts]),
            np.concatenate([part.is_real for part in parts]),
        )
