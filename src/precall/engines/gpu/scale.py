"""Where a session's rows lie: a centre and a step, and whether nothing is lost on that grid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

_UNIT = 2.0**-53
_TYPICAL = 2.0**4  # steps that a typical coordinate is from the centre
_MOST_STEPS = 2.0**11  # integers up to it are float16
_EXACT_NORM = 2.0**22  # sums of products of such rows, and of their norms, are exact in float32
_SAMPLED = 1024  # rows
_LOOKED_AT = 64  # rows that show whether a grid is likely
_VALUES_AT_A_TIME = 2**24
_LARGEST_EXPONENT = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Every row is center + step · (q + e), with q of float16 and e short; step a power of two."""

    center: Tensor  # (d,) float64
    step: float
    is_exact: bool  # whether e = 0 for every row, and all sums of products are exact

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.center)

    @property
    def slack(self) -> tuple[float, float]:
        """ε, η: a canonical squared distance is within εD² + η of the true D² (docs/exactness)."""
        return 4 * (self.d + 4) * _UNIT, (self.d + 4) * 2.0**-1070

    @classmethod
    def around(cls, sets: Sequence[Tensor], device: torch.device) -> Self:
        """Find a scale that keeps most digits of most rows; no outlier moves it."""
        samples = torch.cat([_sample(rows) for rows in sets]).to(device)
        center = samples.median(dim=0).values
        squares = (samples - center).square().sum(dim=1) / samples.shape[1]
        typical = math.sqrt(float(squares.median())) or math.sqrt(float(squares.mean()))
        if not math.isfinite(typical) or typical == 0.0:
            typical = 1.0
        exponent = math.frexp(typical / _TYPICAL)[1]
        step = 2.0 ** max(min(exponent, _LARGEST_EXPONENT), -_LARGEST_EXPONENT)
        found = cls(center, step, is_exact=False)
        grid = found._on_grid(samples)
        return grid if grid is not None and all(map(grid.holds_all, sets)) else found

    def _on_grid(self, samples: Tensor) -> Self | None:
        """Return the scale of a grid that these samples lie on, if it is coarse enough."""
        exponent = _coarsest_exponent(samples[:_LOOKED_AT].cpu().numpy())
        if abs(exponent) > _LARGEST_EXPONENT // 2:  # squares would round
            return None
        step = 2.0**exponent
        center = (self.center / step).round() * step
        grid = type(self)(center, step, is_exact=True)
        return grid if grid.holds(samples) else None

    def holds_all(self, rows: Tensor) -> bool:
        """Whether all rows of a set lie on the grid, looked at part by part."""
        step = max(1, _VALUES_AT_A_TIME // rows.shape[1])
        parts = (rows[i : i + step].to(self.center.device) for i in range(0, len(rows), step))
        return all(map(self.holds, parts))

    def holds(self, rows: Tensor) -> bool:
        """Whether rows lie on the grid, near enough to the centre for every sum to be exact."""
        rows = rows.double()
        steps = rows / self.step
        offsets = (rows - self.center) / self.step
        is_grid = bool((steps == steps.round()).all()) and float(steps.abs().max()) < 2.0**52
        return (
            is_grid
            and float(offsets.abs().max()) <= _MOST_STEPS
            and float(offsets.square().sum(dim=1).max()) <= _EXACT_NORM
        )


def _sample(rows: Tensor) -> Tensor:
    """Some rows of a set, in float64."""
    return rows[:: -(-len(rows) // _SAMPLED)].double()


def _coarsest_exponent(values: np.ndarray) -> int:
    """Return the largest e such that all values are multiples of 2**e; 0 if all are 0."""
    values = values[values != 0]
    if not len(values):
        return 0
    mantissas, exponents = np.frexp(values)
    digits = np.abs(mantissas * 2.0**53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return int((exponents - 53 + lowest).min())
