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
        starts = range(0, len(rows), _ROWS_AT_A_TIME)
        tiles = [rows[start : start + _ROWS_AT_A_TIME] for start in starts]
        low = np.concatenate([_two_lowest(tile) for tile in tiles])
        high = np.concatenate([-_two_lowest(-tile) for tile in tiles])
        return cls(np.sort(low, axis=0)[:2], np.sort(high, axis=0)[:-3:-1])

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


def _two_lowest(rows: NDArray[Any]) -> NDArray[Any]:
    """The lowest and the second lowest of each feature, equal where two samples share the lowest.

    An infinite second where there is but one sample.
    """
    lowest = rows.min(axis=0)
    is_lowest = rows == lowest
    second = np.where(is_lowest, np.inf, rows).min(axis=0)
    return np.stack([lowest, np.where(is_lowest.sum(axis=0) > 1, lowest, second)])


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
        "box",
        of_references,
        of_queries,
        lambda i: f"beyond the range of feature {worst[i]}",
        names_feature=True,
    )
