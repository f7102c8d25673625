"""Rows in three types of numbers, and what each proves about canonical distances.

Every kernel computes a number Q for a pair of rows and compares it with limits. Which canonical
distances a Q stands for is said here, once, for all of them (docs/exactness.md).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import torch
from torch import Tensor

from precall.engines.gpu.scale import Scale

_MARGIN = 2.0**-40  # more than the float64 arithmetic of limits can be off
_FAR = 64.0  # times the median of squared lengths


class Level(IntEnum):
    """How Q is computed."""

    HALF = 0  # ‖q‖² + ‖q′‖² − 2 q·q′ from products of float16, summed in float32
    DOUBLE = 1  # the same from float64
    EXACT = 2  # the canonical squared distance itself


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """Rows on a device, at one level."""

    level: Level
    values: Tensor  # (n, width) float16 or float64; of EXACT (d, n) as they were
    norm: Tensor  # (n,) float64 ‖q‖²; 0 of EXACT
    lost: Tensor  # (n,) float64, at least ‖e‖

    def __len__(self) -> int:
        return len(self.norm)

    def select(self, rows: Tensor | slice) -> Self:
        """Return some of the rows."""
        of_rows = self.values[:, rows] if self.level is Level.EXACT else self.values[rows]
        return type(self)(self.level, of_rows.contiguous(), self.norm[rows], self.lost[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """How far Q of each row with any of some others may be off.

    With E = ``error`` and L = ``lost``, Q is within E of ‖q − q′‖², and the true distance within
    L·step of ‖q − q′‖·step.
    """

    error: Tensor  # (n,) float64, squared steps
    lost: Tensor  # (n,) float64, steps
    step: float
    relative: float  # of canonical squared distances
    is_sharp: bool  # whether canonical squared distances are Q · step²

    @classmethod
    def of(cls, rows: Approximation, others: Approximation, scale: Scale) -> Self:
        """Find what holds for each row with every one of the others."""
        zero = torch.zeros_like(rows.norm)
        if rows.level is Level.EXACT:
            return cls(zero, zero, 1.0, 0.0, is_sharp=True)
        if scale.is_exact and rows.level is Level.HALF:
            return cls(zero, zero, scale.step, 0.0, is_sharp=True)
        relative, absolute = scale.slack
        error = product_error(rows.level, rows.values.shape[1]) * (rows.norm + _most(others.norm))
        lost = rows.lost + _most(others.lost) + 2 * absolute**0.5 / scale.step
        return cls(error, lost, scale.step, relative, is_sharp=False)

    def select(self, rows: Tensor | slice) -> Self:
        """Return the doubt about some of the rows."""
        error, lost = self.error[rows], self.lost[rows]
        return type(self)(error, lost, self.step, self.relative, self.is_sharp)

    def with_other(self, other: Self) -> Self:
        """Return what holds for both."""
        error, lost = torch.maximum(self.error, other.error), torch.maximum(self.lost, other.lost)
        return type(self)(error, lost, self.step, self.relative, self.is_sharp)

    def of_threshold(self, squared: Tensor) -> tuple[Tensor, Tensor]:
        """From canonical thresholds (..., n) to limits: Q ≤ inner is inside, Q > outer outside."""
        if self.is_sharp:
            limit = squared / self.step / self.step
            return limit, limit
        root = squared.clamp_min(0).sqrt() / self.step
        least = root * (1 - 2 * self.relative - _MARGIN) - self.lost
        most = root * (1 + 2 * self.relative + _MARGIN) + self.lost
        inner = least.square() * (1 - _MARGIN) - self.error * (1 + _MARGIN)
        inner = torch.where(least >= 0, inner, -torch.inf)
        outer = (most.square() + self.error) * (1 + _MARGIN)
        is_nobody = squared < 0
        return (
            torch.where(is_nobody, -torch.inf, inner),
            torch.where(is_nobody, -torch.inf, outer),
        )

    def of_kth(self, kth: Tensor) -> tuple[Tensor, Tensor]:
        """From the k-th smallest Q, (n,), to limits.

        What is below the first is certainly nearer than the k-th nearest, what is beyond the second
        certainly farther.
        """
        if self.is_sharp:
            return kth, kth
        least = (kth - self.error).clamp_min(0).sqrt() * (1 - 8 * self.relative - _MARGIN)
        most = (kth + self.error).clamp_min(0).sqrt() * (1 + 8 * self.relative + _MARGIN)
        nearer, farther = least - 2 * self.lost, most + 2 * self.lost
        below = nearer.square() * (1 - _MARGIN) - self.error * (1 + _MARGIN)
        above = (farther.square() + self.error) * (1 + _MARGIN)
        return torch.where(nearer > 0, below, -torch.inf), above


def product_error(level: Level, width: int) -> float:
    """β: a computed ‖q − q′‖² is off by at most β(‖q‖² + ‖q′‖²).

    Products of float16 are exact in float32. Each addition loses at most 2⁻²³ of the largest
    partial sum, which is at most ‖q‖‖q′‖ ≤ (‖q‖² + ‖q′‖²)/2, whether it rounds or truncates;
    matrix units that align sixteen products with the running sum lose 17/16 of that. The product
    counts twice; 64 units are for norms and their sums. In float64 sixteen times what is needed.
    """
    if level is Level.HALF:
        return (17 / 16 * width + 64) * 2.0**-23
    return 16 * (width + 16) * 2.0**-53


def rounded_down(limits: Tensor, dtype: torch.dtype) -> Tensor:
    """Limits in the type of Q, none larger than it was."""
    return _rounded(limits, dtype, -torch.inf)


def rounded_up(limits: Tensor, dtype: torch.dtype) -> Tensor:
    """Limits in the type of Q, none smaller than it was."""
    return _rounded(limits, dtype, torch.inf)


def _rounded(limits: Tensor, dtype: torch.dtype, toward: float) -> Tensor:
    rounded = limits.to(dtype)
    is_off = rounded > limits if toward < 0 else rounded < limits
    moved = torch.nextafter(rounded, torch.full_like(rounded, toward))
    return torch.where(is_off, moved, rounded).contiguous()


def far_rows(rows: Approximation) -> Tensor:
    """Say which rows are so far out that bounds which hold for them would hide all others."""
    if rows.level is Level.EXACT:
        return torch.zeros(len(rows), dtype=torch.bool, device=rows.norm.device)
    squared = rows.norm + rows.lost.square()
    is_far = squared > _FAR * squared.median()
    return is_far if int(is_far.sum()) <= len(rows) // 8 else torch.zeros_like(is_far)


def _most(values: Tensor) -> Tensor:
    return values.max() if len(values) else values.new_zeros(())
