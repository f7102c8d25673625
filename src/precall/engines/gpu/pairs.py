"""How pairs of placed rows are measured: in which parts, in how much room, and one by one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from precall.engines.gpu.levels import Approximation, Level
from precall.engines.gpu.placing import Placed
from precall.engines.gpu.tiles import Tiles

_FEWEST_PAIRS = {"cpu": 2**10}  # that are worth a list; elsewhere
_FEWEST = 2**22
_PAIRS_AT_A_TIME = 2**24  # values of rows that are gathered from the host


@dataclass(slots=True, eq=False)
class PairMeasure:
    """What every question needs: the tiles, the room there is, and who is told of progress."""

    tiles: Tiles
    device: torch.device
    room: int  # bytes that one step may take
    advance: Callable[[int], None]

    @property
    def fewest_pairs(self) -> int:
        """Pairs, from which on lists pay."""
        return _FEWEST_PAIRS.get(self.device.type, _FEWEST)

    def height(self, bytes_a_row: int) -> int:
        """Return how many rows a step may take."""
        return max(64, self.room // max(1, bytes_a_row))

    def parts(
        self, rows: Placed, level: Level, chosen: Tensor | None
    ) -> Iterator[tuple[int, Approximation]]:
        """Yield the chosen rows, or all, at a level, as many at a time as there is room for."""
        n = len(rows) if chosen is None else len(chosen)
        if rows.is_here and level is Level.HALF:
            yield 0, rows.at(level, chosen)
            return
        height = self.height(32 * rows.stored.base.rows.shape[1])
        if n <= height:
            yield 0, rows.at(level, chosen)
            return
        for first in range(0, n, height):
            part = torch.arange(first, min(first + height, n), device=self.device)
            yield first, rows.at(level, part if chosen is None else chosen[part])

    def near_places(self, is_far: Tensor | None, fewest: int) -> Tensor | None:
        """Return the rows that are not far out, if some are and enough are not; else None."""
        if is_far is None or not bool(is_far.any()):
            return None
        near = torch.nonzero(~is_far)[:, 0]
        return near if len(near) >= fewest else None

    def pairs(self, queries: Placed, i: Tensor, references: Placed, j: Tensor) -> Tensor:
        """Canonical squared distances of pairs (i, j)."""
        if queries.is_here and references.is_here:
            places = queries.places_of(i), references.places_of(j)
            bases = queries.stored.base.rows, references.stored.base.rows
            return self.tiles.canonical(bases[0], places[0], bases[1], places[1])
        found = torch.empty(len(i), dtype=torch.float64, device=self.device)
        step = max(1, _PAIRS_AT_A_TIME // queries.stored.base.rows.shape[1])
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            a, b = queries.values(i[part]), references.values(j[part])
            each = torch.arange(len(a), device=self.device)
            found[part] = self.tiles.canonical(a, each, b, each)
        return found
