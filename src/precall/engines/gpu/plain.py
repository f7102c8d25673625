"""Tiles by the ordinary operations of torch, for devices without Triton."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from precall.engines.gpu.levels import Approximation, Level
from precall.engines.gpu.placing import halved
from precall.engines.gpu.scale import Scale
from precall.engines.gpu.tiles import MOST_PAIRS, Limits, Lists, Pairs, Tally

_BYTES_A_PAIR = 64  # of a tile and what is made of it
_MARGIN = 2.0**-16


class PlainTiles:
    """Every tile a handful of operations.

    Parameters
    ----------
    tile_bytes
        Memory of a tile.
    most_pairs
        That one list of pairs holds.
    """

    def __init__(self, tile_bytes: int = 2**26, most_pairs: int = MOST_PAIRS) -> None:
        self.tile_bytes, self.most_pairs = tile_bytes, most_pairs

    def halve(self, rows: Tensor, scale: Scale) -> Approximation:
        """See :class:`Tiles`."""
        return halved(rows, scale)

    def _tiles(self, n_rows: int, n_columns: int) -> Iterator[tuple[slice, slice]]:
        n_pairs = max(1, self.tile_bytes // _BYTES_A_PAIR)
        across = min(n_columns, 4 * math.isqrt(n_pairs) or 1)
        down = max(1, n_pairs // max(1, across))
        for i in range(0, n_rows, down):
            for j in range(0, n_columns, max(1, across)):
                yield slice(i, min(i + down, n_rows)), slice(j, min(j + across, n_columns))

    def _blocks(self, a: Approximation, b: Approximation) -> Iterator[tuple[slice, slice, Tensor]]:
        for i, j in self._tiles(len(a), len(b)):
            yield i, j, _q(a.select(i), b.select(j))

    def dense(self, a: Approximation, b: Approximation) -> Tensor:
        """See :class:`Tiles`."""
        dtype = torch.float32 if a.level is Level.HALF else torch.float64
        out = torch.empty((len(a), len(b)), dtype=dtype, device=a.norm.device)
        for i, j, q in self._blocks(a, b):
            out[i, j] = q
        return out

    def near(
        self,
        a: Approximation,
        b: Approximation,
        limits: Tensor,
        lists: Lists,
        first: int,
        *,
        symmetric: bool = False,
        or_within: Tensor | None = None,
    ) -> None:
        """See :class:`Tiles`; nothing is saved where both sides are the same."""
        for i, j, q in self._blocks(a, b):
            keep = q <= limits[i, None]
            if or_within is not None:
                keep |= q <= or_within[j]
            place = keep.cumsum(dim=1) - 1 + lists.n_found[i, None]
            row, column = torch.nonzero(keep & (place < lists.capacity), as_tuple=True)
            found, at = q[row, column], place[row, column]
            row, column = row + i.start, column + (j.start + first)
            if lists.level is Level.HALF:
                bits = found.clamp_min(0).view(torch.int32).long()
                lists.keys[row, at] = (bits << 32) | column
            else:
                lists.keys[row, at] = found
                lists.places[row, at] = column.int()
            lists.n_found[i] += keep.sum(dim=1).int()

    def tally(
        self, a: Approximation, b: Approximation, own: Limits, others: Limits, *, both: bool
    ) -> Tally:
        """See :class:`Tiles`."""
        n_balls = len(own.inner) + len(others.inner)
        counts = {"dtype": torch.int64, "device": a.norm.device}
        of_rows = torch.zeros((n_balls, len(a)), **counts)
        of_columns = torch.zeros((n_balls, len(b) if both else 0), **counts)
        pairs = _PairList(self.most_pairs, a.norm.device)
        for i, j, q in self._blocks(a, b):
            is_open = torch.zeros_like(q, dtype=torch.bool)
            for limits, at in ((own, (slice(None), i, None)), (others, (slice(None), None, j))):
                for inner, outer in zip(limits.inner[at], limits.outer[at], strict=True):
                    is_open |= (q <= outer) & (q > inner)
            for ball in range(n_balls):
                is_own = ball < len(own.inner)
                inner = (
                    own.inner[ball, i, None] if is_own else others.inner[ball - len(own.inner), j]
                )
                inside = (q <= inner) & ~is_open
                of_rows[ball, i] += inside.sum(dim=1)
                if both:
                    of_columns[ball, j] += inside.sum(dim=0)
            pairs.add(is_open, i.start, j.start)
        return Tally(of_rows, of_columns, pairs.found)

    def best_ratio(
        self, a: Approximation, b: Approximation, weights: Tensor, offset: float, doubt: Tensor
    ) -> Tensor:
        """See :class:`Tiles`."""
        error, lost = doubt
        best = torch.zeros(len(b), dtype=torch.float64, device=a.norm.device)
        for i, j, q in self._blocks(a, b):
            weight = weights[i, None]
            if a.level is Level.EXACT:
                squared = q + offset
                ratio = torch.where((weight == 0) & (squared == 0), 1.0, weight / squared)
            else:
                root = (q.double() + error).clamp_min(0).sqrt() + lost
                squared = root.square() + offset
                ratio = torch.where(squared > 0, weight / squared * (1 - _MARGIN), 0.0)
            ratio = torch.where(weight < 0, 0.0, ratio)
            best[j] = torch.maximum(best[j], ratio.amax(dim=0))
        return best

    def ratio_pairs(
        self, a: Approximation, b: Approximation, weights: Tensor, best: Tensor, doubt: Tensor
    ) -> Pairs:
        """See :class:`Tiles`."""
        error, lost = doubt
        pairs = _PairList(self.most_pairs, a.norm.device)
        for i, j, q in self._blocks(a, b):
            weight = weights[i, None]
            root = (weight / best[j]).clamp_min(0).sqrt() + lost
            outer = root.square() * (1 + _MARGIN) + error
            pairs.add(((q <= outer) | (best[j] <= 0)) & (weight >= 0), i.start, j.start)
        return pairs.found

    def canonical(self, rows: Tensor, i: Tensor, others: Tensor, j: Tensor) -> Tensor:
        """See :class:`Tiles`."""
        found = torch.empty(len(i), dtype=torch.float64, device=i.device)
        step = max(1, self.tile_bytes // (32 * rows.shape[1]))
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            difference = rows[i[part]].double() - others[j[part]].double()
            found[part] = _in_order((difference * difference).T.contiguous())
        return found


class _PairList:
    """Pairs as they are found, up to a number of them."""

    def __init__(self, capacity: int, device: torch.device) -> None:
        self.room, self.n = capacity, 0
        none = torch.empty(0, dtype=torch.int64, device=device)
        self.rows, self.columns = [none], [none]

    def add(self, keep: Tensor, row: int, column: int) -> None:
        n = int(keep.sum())
        self.n += n
        if not n or not self.room:
            return
        rows, columns = torch.nonzero(keep, as_tuple=True)
        self.rows.append(rows[: self.room] + row)
        self.columns.append(columns[: self.room] + column)
        self.room = max(0, self.room - n)

    @property
    def found(self) -> Pairs:
        return Pairs(torch.cat(self.rows), torch.cat(self.columns), self.n)


def _q(a: Approximation, b: Approximation) -> Tensor:
    """Q of all pairs."""
    if a.level is Level.EXACT:
        total = torch.zeros((len(a), len(b)), dtype=torch.float64, device=a.norm.device)
        for left, right in zip(a.values.double(), b.values.double(), strict=True):
            difference = left[:, None] - right
            total += difference * difference
        return total
    dtype = torch.float32 if a.level is Level.HALF else torch.float64
    products = a.values.to(dtype) @ b.values.to(dtype).T
    return (a.norm.to(dtype)[:, None] + b.norm.to(dtype)) - 2 * products


def _in_order(squares: Tensor) -> Tensor:
    """Add the rows up one by one; each addition an operation of its own: nothing is reordered."""
    total = torch.zeros(squares.shape[1], dtype=torch.float64, device=squares.device)
    for square in squares:
        total += square
    return total
