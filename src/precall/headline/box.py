"""The range of each feature, and how far beyond it samples are."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.headline.outlyingness import Floats, Outlyingness
from precall.headline.views import View

Places = NDArray[np.intp]

_ROWS_AT_A_TIME = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The range of each feature over some samples, and the range without the outermost one."""

    low: NDArray[Any]  # (2, d) the lowest and the second lowest
    high: NDArray[Any]  # (2, d) the highest and the second highest

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self:
        """Measure rows (n, d), of which there are two at least."""
        low = high = rows[:2]
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            tile = rows[start : start + _ROWS_AT_A_TIME]
            low = np.partition(np.concatenate([low, tile]) if start else tile, 1, axis=0)[:2]
            high = np.partition(np.concatenate([high, tile]) if start else tile, -2, axis=0)[-2:]
        return cls(low, high[::-1])

    def beyond(self, rows: NDArray[Any], *, of_own: bool = False) -> tuple[Floats, Places]:
        """How far each row is beyond the range in its worst feature, negative inside; and which.

        Rows that the box was made ``of`` are judged by the range of the others.
        """
        far, worst = np.empty(len(rows)), np.empty(len(rows), np.intp)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            tile = rows[start : start + _ROWS_AT_A_TIME]
            high, low = self.high[0], self.low[0]
            if of_own:
                high = np.where(tile == high, self.high[1], high)
                low = np.where(tile == low, self.low[1], low)
            out = np.maximum(tile - high, low - tile)
            chosen = out.argmax(axis=1)
            worst[start : start + len(tile)] = chosen
            far[start : start + len(tile)] = out[np.arange(len(tile)), chosen]
        return far, worst


def box_test(view: View) -> Outlyingness:
    """How far beyond the range of the other references a sample is in its worst feature.

    Isolated references do not stretch the range.
    """
    references, core = view.references.array, view.core
    box = Box.of(references[core])
    of_references, _ = box.beyond(references)
    of_references[core], _ = box.beyond(references[core], of_own=True)
    of_queries, worst = box.beyond(view.queries.array)
    return Outlyingness(
        "box", of_references, of_queries, lambda i: f"beyond the range of feature {worst[i]}"
    )
