"""The k-th nearest: lists of what is near by Q, and the few pairs that have to be measured.

The k-th smallest Q of a query bounds its k-th smallest canonical distance. What is certainly nearer
is only counted, what is certainly farther left out, and the rest measured. A list is proof only if
everything up to the farther bound is on it; a query without proof is listed again with a wider
limit, and then at the next level.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from precall.engines.gpu.levels import Approximation, Doubt, Level, far_rows, rounded_up
from precall.engines.gpu.pairs import PairMeasure
from precall.engines.gpu.placing import Placed
from precall.engines.gpu.tiles import Limits, Lists, Tiles

_SAMPLE, _SAMPLED_SHARE = 2048, 24
_FEWEST = 4096  # references, up to which lists hold all of them
_MANY_KS = 8  # above which everything that is near enough is measured
_SAMPLE_PAIRS = 2**28
_WIDER = 4
_PROBED = 512  # queries that show whether wider limits help


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """The nearest references of each query by Q, as far as its limit."""

    level: Level
    q: Tensor  # (n, width), nearest first; inf where there is nobody
    places: Tensor  # (n, width) int64 of the references
    limit: Tensor  # (n,): everything up to it is listed, where the list is whole
    n_found: Tensor  # (n,)
    is_whole: Tensor  # (n,) whether there was room for all, and nobody far out can be among them
    doubt: Doubt
    n_references: int
    owners: Tensor | None = None  # (n, width) which of two classes, if there are two

    def merge(self, other: Self) -> Self:
        """Put the lists of two classes together."""
        q, order = torch.cat([self.q, other.q], dim=1).sort(dim=1)
        places = torch.cat([self.places, other.places], dim=1)
        width = self.q.shape[1]
        return type(self)(
            self.level,
            q,
            places.gather(1, order),
            torch.minimum(self.limit, other.limit),
            self.n_found + other.n_found,
            self.is_whole & other.is_whole,
            self.doubt.with_other(other.doubt),
            self.n_references + other.n_references,
            (order >= width).int(),
        )


@dataclass(slots=True, eq=False)
class NearestSearch:
    """Finds the k-th nearest of queries among classes of references."""

    measure: PairMeasure
    queries: Placed
    classes: Sequence[Placed]
    ks: Sequence[int]

    def found(self) -> Tensor:
        """Return canonical squared distances, (n, n_classes, n_ks); of two also together."""
        n_groups = 1 if len(self.classes) == 1 else 3
        shape = len(self.queries), n_groups, len(self.ks)
        out = torch.full(shape, torch.inf, dtype=torch.float64, device=self.measure.device)
        pending = torch.arange(len(self.queries), device=self.measure.device)
        for level in Level:
            pending = self._settle(level, pending, out)
            if not len(pending):
                return out
        self._settle_all(pending, out)
        return out

    # One level

    def _settle(self, level: Level, pending: Tensor, out: Tensor) -> Tensor:
        """Answer for those queries that lists at a level prove; return the others."""
        guesses = [_Guess.of(references, max(self.ks)) for references in self.classes]
        widest = max(guess.capacity for guess in guesses)
        height = self.measure.height(32 * widest * len(self.classes))
        is_symmetric = self._is_symmetric and len(pending) == len(self.queries) <= height
        unproven = []
        for start in range(0, len(pending), height):
            rows = pending[start : start + height]
            first: list[Tensor | None] = [None] * len(guesses)
            left, limits = self._list(level, rows, guesses, first, out, is_symmetric)
            if len(left):
                left = self._again(level, left, guesses, limits, out)
            unproven.append(left)
            self.measure.advance((len(rows) - len(left)) * self._n_references)
        return torch.cat(unproven)

    def _again(
        self,
        level: Level,
        left: Tensor,
        guesses: Sequence["_Guess"],
        limits: Sequence[Tensor],
        out: Tensor,
    ) -> Tensor:
        """Try once more with wider limits and more room."""
        wider = [guess.wider() for guess in guesses]
        height = self.measure.height(32 * max(g.capacity for g in wider) * len(wider))
        unproven: list[Tensor] = []
        start = 0
        while start < len(left):
            # A few first: where wider limits prove little, the next level does it in less time.
            part = slice(start, start + (min(height, _PROBED) if start == 0 else height))
            some = [limit[part] for limit in limits]
            unproven.append(self._list(level, left[part], wider, some, out, False)[0])
            start = part.stop
            if start == _PROBED and 2 * len(unproven[0]) > _PROBED:
                unproven.append(left[start:])
                break
        return torch.cat(unproven)

    @property
    def _n_references(self) -> int:
        return sum(map(len, self.classes))

    @property
    def _is_symmetric(self) -> bool:
        """Whether queries and references are the same rows."""
        (first, *others), queries = self.classes, self.queries
        is_same_array = first.stored is queries.stored and len(first) == len(queries)
        if others or not is_same_array or not queries.is_here:
            return False
        return first.places is queries.places or (
            first.places is not None
            and queries.places is not None
            and torch.equal(first.places, queries.places)
        )

    def _list(
        self,
        level: Level,
        rows: Tensor,
        guesses: Sequence["_Guess"],
        limits: Sequence[Tensor | None],
        out: Tensor,
        is_symmetric: bool,
    ) -> tuple[Tensor, list[Tensor]]:
        """List and answer; return the rows without proof, and limits that may give it."""
        whole = len(rows) == len(self.queries)
        a = self.queries.at(level, None if whole else rows)
        near = [
            self._near(a, references, guess, limit, is_symmetric)
            for references, guess, limit in zip(self.classes, guesses, limits, strict=True)
        ]
        groups = [*near, near[0].merge(near[1])] if len(near) > 1 else near
        answers = [self._kths(rows, group, g) for g, group in enumerate(groups)]
        proven = torch.stack([proof for _, proof in answers]).all(dim=0)
        out[rows[proven]] = torch.stack([value for value, _ in answers], dim=1)[proven]
        left = torch.nonzero(~proven)[:, 0]
        wider = [
            self._wider(a.select(left), near[c], left, references, guesses[c])
            for c, references in enumerate(self.classes)
        ] if len(left) else []  # fmt: skip
        return rows[left], wider

    # Lists

    def _near(
        self,
        a: Approximation,
        references: Placed,
        guess: "_Guess",
        limit: Tensor | None,
        is_symmetric: bool,
    ) -> Near:
        tiles, n = self.measure.tiles, len(references)
        is_far = far_rows(references.sketch()) if a.level is not Level.EXACT else None
        near = self.measure.near_places(is_far, guess.depth)
        if limit is None:
            limit = guess.limits(tiles, a, references, near)
        limit = rounded_up(limit.double(), _dtype(a.level))
        capacity = min(guess.capacity, n)
        lists = Lists.empty(a.level, len(a), capacity, self.measure.device)
        norm = lost = a.norm.new_zeros(1)
        for first, b in self.measure.parts(references, a.level, near):
            mirrored = is_symmetric and near is None and len(b) == n
            tiles.near(a, b, limit, lists, first, symmetric=mirrored)
            norm, lost = torch.maximum(norm, b.norm.max()), torch.maximum(lost, b.lost.max())
        others = Approximation(a.level, a.values[:0], norm, lost)
        doubt = Doubt.of(a, others, self.queries.scale)
        q, places = lists.sorted()
        is_whole = lists.n_found <= capacity
        if near is not None and is_far is not None:
            places = near[places.clamp_max(len(near) - 1)]
            far = torch.nonzero(is_far)[:, 0]
            is_whole &= self._all_beyond(a, references, far, q, doubt, guess.depth)
        return Near(a.level, q, places, limit.double(), lists.n_found, is_whole, doubt, n)

    def _all_beyond(
        self, a: Approximation, references: Placed, far: Tensor, q: Tensor, doubt: Doubt, depth: int
    ) -> Tensor:
        """Whether rows that are far out are all certainly farther than the deepest neighbour."""
        b = references.at(a.level, far)
        of_far = Doubt.of(a, b, self.queries.scale)
        step = max(1, _SAMPLE_PAIRS // len(far))
        tiles = self.measure.tiles
        least = torch.cat(
            [
                tiles.dense(a.select(slice(i, i + step)), b).amin(dim=1).double()
                for i in range(0, len(a), step)
            ]
        )
        deepest = q[:, min(depth, q.shape[1]) - 1].double()
        margin = 1 + 8 * doubt.relative + 2.0**-30
        reach = ((deepest + doubt.error).clamp_min(0).sqrt() + doubt.lost) * margin
        return (least - of_far.error).clamp_min(0).sqrt() - of_far.lost > reach

    def _wider(
        self, a: Approximation, near: Near, left: Tensor, references: Placed, guess: "_Guess"
    ) -> Tensor:
        """Limits for another try: what proof asks for where that is known, else a wider guess."""
        deepest = min(guess.depth, near.n_references)
        kth = near.q[left, min(deepest, near.q.shape[1]) - 1].double()
        _, above = near.doubt.select(left).of_kth(kth)
        limit = near.limit[left]
        is_short = ~torch.isfinite(kth) | (near.n_found[left] < deepest)
        if bool(is_short.any()):
            guessed = guess.wider().limits(self.measure.tiles, a, references, None).double()
            limit = torch.where(is_short, torch.maximum(limit, guessed), limit)
        return torch.where(is_short, limit, torch.maximum(limit, above))

    # From lists to distances

    def _kths(self, rows: Tensor, near: Near, group: int) -> tuple[Tensor, Tensor]:
        """Canonical squared distances, (n, n_ks), and for whom they are proven."""
        n = len(rows)
        values = torch.full((n, len(self.ks)), torch.inf, dtype=torch.float64, device=rows.device)
        proven = near.is_whole.clone()
        possible = [(c, k) for c, k in enumerate(self.ks) if k <= near.n_references]
        if not possible:
            return values, torch.ones_like(proven)
        width = near.q.shape[1]
        deepest = near.q[:, min(possible[-1][1], width) - 1].double()
        above = near.doubt.of_kth(deepest)[1]
        proven &= torch.isfinite(deepest) & (above <= near.limit)
        proven &= near.n_found >= min(possible[-1][1], near.n_references)
        if near.doubt.is_sharp:
            for c, k in possible:
                values[:, c] = near.q[:, min(k, width) - 1].double() * near.doubt.step**2
            return self._with_ties(rows, near, group, values, proven)
        if len(possible) > _MANY_KS:
            is_near = proven[:, None] & (near.q.double() <= above[:, None])
            ordered = self._measured(rows, near, is_near, group).sort(dim=1).values
            for c, k in possible if ordered.shape[1] else ():
                values[:, c] = ordered[:, min(k, ordered.shape[1]) - 1]
            return values, proven
        for c, k in possible:
            kth = near.q[:, min(k, width) - 1].double()
            below, above = near.doubt.of_kth(kth)
            q = near.q.double()
            is_open = proven[:, None] & (q >= below[:, None]) & (q <= above[:, None])
            ordered = self._measured(rows, near, is_open, group).sort(dim=1).values
            n_below = (q < below[:, None]).sum(dim=1)
            rank = (k - 1 - n_below).clamp(0, max(0, ordered.shape[1] - 1))
            if ordered.shape[1]:
                values[:, c] = ordered.gather(1, rank[:, None])[:, 0]
        return values, proven

    def _measured(self, rows: Tensor, near: Near, is_open: Tensor, group: int) -> Tensor:
        """Measure open pairs: (n, most of any query), inf behind them."""
        n_open = is_open.sum(dim=1)
        i, column = torch.nonzero(is_open, as_tuple=True)
        first = torch.cumsum(n_open, 0) - n_open
        at = torch.arange(len(i), device=rows.device) - first[i]
        width = int(n_open.max()) if len(n_open) else 0
        out = torch.full((len(rows), width), torch.inf, dtype=torch.float64, device=rows.device)
        j = near.places[i, column]
        if near.owners is None:
            out[i, at] = self.measure.pairs(self.queries, rows[i], self.classes[group], j)
            return out
        owner = near.owners[i, column]
        for c, references in enumerate(self.classes):
            mine = torch.nonzero(owner == c)[:, 0]
            of_class = self.measure.pairs(self.queries, rows[i[mine]], references, j[mine])
            out[i[mine], at[mine]] = of_class
        return out

    def _with_ties(
        self, rows: Tensor, near: Near, group: int, values: Tensor, proven: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Prove where lists are full of references at one distance: all k fall among these."""
        full = torch.nonzero(~proven & (near.n_found > near.q.shape[1]))[:, 0]
        if not len(full) or near.owners is not None:
            return values, proven
        limit = near.limit[full].to(near.q.dtype)
        below = torch.nextafter(limit, torch.full_like(limit, -torch.inf))
        balls = torch.stack([below, limit])
        own, none = Limits(balls, balls), Limits(balls[:0], balls[:0])
        a = self.queries.at(near.level, rows[full])
        counts = torch.zeros((2, len(full)), dtype=torch.int64, device=rows.device)
        for _, b in self.measure.parts(self.classes[group], near.level, None):
            counts += self.measure.tiles.tally(a, b, own, none, both=False).of_rows
        possible = [k for k in self.ks if k <= near.n_references]
        is_tied = (counts[0] < possible[0]) & (counts[1] >= possible[-1])
        tied = full[is_tied]
        squared = limit[is_tied].double() * near.doubt.step**2
        values[tied, : len(possible)] = squared[:, None]
        proven[tied] = True
        return values, proven

    # The last resort

    def _settle_all(self, pending: Tensor, out: Tensor) -> None:
        """Measure and sort everything, for queries that no list proves."""
        height = self.measure.height(48 * self._n_references)
        for start in range(0, len(pending), height):
            rows = pending[start : start + height]
            a = self.queries.at(Level.EXACT, rows)
            squared = [
                torch.cat(
                    [
                        self.measure.tiles.dense(a, b)
                        for _, b in self.measure.parts(references, Level.EXACT, None)
                    ],
                    dim=1,
                )
                for references in self.classes
            ]
            groups = [*squared, torch.cat(squared, dim=1)] if len(squared) > 1 else squared
            for g, group in enumerate(groups):
                ordered = group.sort(dim=1).values
                for c, k in enumerate(self.ks):
                    if k <= ordered.shape[1]:
                        out[rows, g, c] = ordered[:, k - 1]
            self.measure.advance(len(rows) * self._n_references)


@dataclass(frozen=True, slots=True)
class _Guess:
    """How wide a query's limit is guessed, and how much room its list gets."""

    depth: int
    n: int  # references
    size: int  # of the sample
    rank: int  # in the sample; 0 where lists hold everybody
    capacity: int

    @classmethod
    def of(cls, references: Placed, depth: int) -> Self:
        n = len(references)
        fewest = _FEWEST if references.device.type != "cpu" else 48
        if n <= fewest or 4 * depth > n:
            return cls(depth, n, 0, 0, n)
        size = min(n, max(_SAMPLE if fewest == _FEWEST else 32, n // _SAMPLED_SHARE))
        mean = depth * size / n
        rank = min(size, math.ceil(mean + 3 * math.sqrt(mean) + 2))
        return cls(depth, n, size, rank, _power_of_two(1.7 * rank * n / size + 32, n))

    def wider(self) -> Self:
        """Return a guess that hardly ever fails."""
        if not self.rank:
            return self
        rank = min(self.size, 2 * self.rank + 4)
        capacity = _power_of_two(_WIDER * self.capacity, self.n)
        return type(self)(self.depth, self.n, self.size, rank, capacity)

    def limits(
        self, tiles: Tiles, a: Approximation, references: Placed, near: Tensor | None
    ) -> Tensor:
        """Return a limit for each query that about rank · n / size references are within."""
        if not self.rank:
            return torch.full_like(a.norm, torch.inf)
        n = len(references) if near is None else len(near)
        order = torch.randperm(n, generator=torch.Generator().manual_seed(0))[: self.size]
        chosen = order.to(a.norm.device)
        sample = references.at(a.level, chosen if near is None else near[chosen])
        size = len(sample)
        rank = min(self.rank, size)
        # The smallest of each block: of a few smallest, most are in different blocks.
        n_blocks = min(size, max(8 * rank, 32))
        step = max(1, _SAMPLE_PAIRS // size)
        found = []
        for start in range(0, len(a), step):
            q = tiles.dense(a.select(slice(start, start + step)), sample)
            of_blocks = q[:, : size // n_blocks * n_blocks].view(len(q), n_blocks, -1)
            found.append(of_blocks.amin(dim=2).sort(dim=1).values[:, min(rank, n_blocks) - 1])
        return torch.cat(found)


def _power_of_two(size: float, most: int) -> int:
    return min(most, 1 << max(5, math.ceil(math.log2(size))))


def _dtype(level: Level) -> torch.dtype:
    return torch.float32 if level is Level.HALF else torch.float64
