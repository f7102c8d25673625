"""What is asked of the pairs of some rows with some others, whichever way it is computed."""

from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from precall.engines.gpu.levels import Approximation, Level
from precall.engines.gpu.scale import Scale

MOST_PAIRS = 2**24  # that one list of pairs holds
_EMPTY = (0x7F800000 << 32) | 0x7FFFFFFF  # the key of a place that nothing was appended to


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """References within the limit of each query, in no order; appended to by many programs.

    A key of float16 is the bits of Q, which are ordered as it is, and behind them the place.
    """

    level: Level
    n_found: Tensor  # (n,) int32; more than there is room for if a list is full
    keys: Tensor  # (n, capacity) int64, or float64 Q
    places: Tensor  # (n, capacity) int32; (1, 1) where keys have them

    @classmethod
    def empty(cls, level: Level, n: int, capacity: int, device: torch.device) -> Self:
        """Make room for ``capacity`` references of each query."""
        n_found = torch.zeros(n, dtype=torch.int32, device=device)
        if level is Level.HALF:
            keys = torch.full((n, capacity), _EMPTY, dtype=torch.int64, device=device)
            return cls(level, n_found, keys, torch.zeros((1, 1), dtype=torch.int32, device=device))
        keys = torch.full((n, capacity), torch.inf, dtype=torch.float64, device=device)
        return cls(level, n_found, keys, torch.zeros_like(keys, dtype=torch.int32))

    @property
    def capacity(self) -> int:
        """References that there is room for."""
        return int(self.keys.shape[1])

    def unsorted(self) -> tuple[Tensor, Tensor]:
        """Return Q and places, (n, capacity) each."""
        return _read(self.keys) if self.level is Level.HALF else (self.keys, self.places)

    def sorted(self) -> tuple[Tensor, Tensor]:
        """Return Q, nearest first, and places, (n, capacity) each; inf where there is nobody."""
        if self.level is Level.HALF:
            return _read(self.keys.sort(dim=1).values)
        q, order = self.keys.sort(dim=1)
        return q, self.places.gather(1, order).long()


def _read(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return Q and places of keys."""
    return (keys >> 32).to(torch.int32).view(torch.float32), keys & 0x7FFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows and columns; ``n`` may be more than are listed."""

    rows: Tensor  # (n_listed,) int64
    columns: Tensor
    n: int

    @property
    def is_complete(self) -> bool:
        """Whether all are listed."""
        return len(self.rows) == self.n


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many pairs are certainly in each ball, and which are open."""

    of_rows: Tensor  # (n_balls, n_rows) int64
    of_columns: Tensor  # (n_balls, n_columns) int64, if both sides are counted for
    open: Pairs


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Limits of Q for the balls of one side: at most inner is inside, above outer is outside."""

    inner: Tensor  # (n_balls, n) in the type of Q
    outer: Tensor


class Tiles(Protocol):
    """Answers about all pairs of two sets on the device, block by block; nothing of size n·m."""

    def halve(self, rows: Tensor, scale: Scale) -> Approximation:
        """Round rows to float16."""
        ...

    def dense(self, a: Approximation, b: Approximation) -> Tensor:
        """Return Q of every pair: (n_rows, n_columns), for few columns."""
        ...

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
        """Append to each row's list the columns within its limit; columns count from ``first``.

        ``symmetric`` where both sides are the same rows; ``or_within`` are limits of the columns,
        which are appended, too, where the pair is within these.
        """
        ...

    def tally(
        self, a: Approximation, b: Approximation, own: Limits, others: Limits, *, both: bool
    ) -> Tally:
        """Count who is in the balls of the rows, then of the columns."""
        ...

    def best_ratio(
        self, a: Approximation, b: Approximation, weights: Tensor, offset: float, doubt: Tensor
    ) -> Tensor:
        """Return for each column what weight / (squared distance + offset) reaches, (n_columns,).

        All in the units of Q. ``doubt`` is E and L for all pairs. Of exact rows the largest itself.
        """
        ...

    def ratio_pairs(
        self, a: Approximation, b: Approximation, weights: Tensor, best: Tensor, doubt: Tensor
    ) -> Pairs:
        """List the pairs whose ratio may be as large as ``best`` of their column."""
        ...

    def canonical(self, rows: Tensor, i: Tensor, others: Tensor, j: Tensor) -> Tensor:
        """Canonical squared distances of rows ``i`` from other rows ``j``, given as they were."""
        ...
