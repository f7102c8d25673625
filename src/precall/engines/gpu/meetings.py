"""Who is in whose ball, who is nearest, and who is measured best: all pairs of two sets."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from precall.engines.answers import NOBODY
from precall.engines.gpu.levels import (
    Approximation,
    Doubt,
    Level,
    far_rows,
    rounded_down,
    rounded_up,
)
from precall.engines.gpu.nearest import NearestSearch
from precall.engines.gpu.pairs import PairMeasure
from precall.engines.gpu.placing import Placed
from precall.engines.gpu.tiles import Limits, Lists

_MOST_OPEN = 1 / 256  # of the pairs, before the next level takes over
_FEW_ROWS = 64  # that are not divided further
_LOOKED_AT = (512, 2048)  # rows and columns that show how many pairs are near
_MOST_LISTED = 1 / 32  # of the pairs, above which all are counted on the way
_SPARE = 3.0  # times as much room as a list is expected to need


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows and columns of two sets, at a level that serves both."""

    rows: Tensor  # (n_rows,) in the queries
    columns: Tensor  # (n_columns,) in the references
    a: Approximation
    b: Approximation

    @property
    def n_pairs(self) -> int:
        """Pairs of both."""
        return len(self.rows) * len(self.columns)


@dataclass(slots=True, eq=False)
class PairsOfSets:
    """All pairs of some queries with some references."""

    measure: PairMeasure
    queries: Placed
    references: Placed

    # Blocks

    def _blocks(self, level: Level, rows: Tensor | None = None) -> Iterator[Block]:
        """Cut all pairs into blocks; rows that are far out stand in blocks of their own."""
        everyone = torch.arange(len(self.queries), device=self.measure.device)
        rows = everyone if rows is None else rows
        for some in self._by_length(self.queries, level, rows):
            for part in self._in_parts(self.queries, level, some):
                a = self._at(self.queries, level, part)
                for columns in self._by_length(self.references, level, None):
                    for others in self._in_parts(self.references, level, columns):
                        yield Block(part, others, a, self._at(self.references, level, others))

    def _by_length(self, side: Placed, level: Level, rows: Tensor | None) -> list[Tensor]:
        if rows is None:
            rows = torch.arange(len(side), device=self.measure.device)
        if level is Level.EXACT:
            return [rows]
        is_far = far_rows(side.sketch())[rows]
        if not bool(is_far.any()):
            return [rows]
        return [part for part in (rows[~is_far], rows[is_far]) if len(part)]

    def _in_parts(self, side: Placed, level: Level, rows: Tensor) -> list[Tensor]:
        if side.is_here and level is Level.HALF:
            return [rows]
        return list(rows.split(self.measure.height(32 * side.stored.base.rows.shape[1])))

    def _at(self, side: Placed, level: Level, rows: Tensor) -> Approximation:
        return side.at(level, None if len(rows) == len(side) else rows)

    # Counts

    def counts(self, own: Tensor, others: Tensor, *, both: bool) -> tuple[Tensor, Tensor]:
        """Count for each query, and for each reference if wanted: (n_own + n_others, n) each."""
        n_balls, n, m = len(own) + len(others), len(self.queries), len(self.references)
        device = self.measure.device
        of_queries = torch.zeros((n_balls, n), dtype=torch.int64, device=device)
        of_references = torch.zeros((n_balls, m if both else 0), dtype=torch.int64, device=device)
        if n_balls:
            for block in self._blocks(Level.HALF):
                self._count(block, own, others, of_queries, of_references)
                self.measure.advance(block.n_pairs)
        else:
            self.measure.advance(n * m)
        return of_queries, of_references

    def _count(
        self, block: Block, own: Tensor, others: Tensor, of_queries: Tensor, of_references: Tensor
    ) -> None:
        """Add what is in each ball of a block."""
        limits = self._limits(block, own[:, block.rows], others[:, block.columns])
        n_listed = self._expected(block, *limits)
        if n_listed is None:
            self._count_all(block, own, others, of_queries, of_references, limits)
            return
        capacity = 1 << max(6, math.ceil(math.log2(_SPARE * n_listed + 1)))
        near = [_widest(limit.outer, block.a, block.b, c) for c, limit in enumerate(limits)]
        for part in torch.arange(len(block.rows), device=own.device).split(
            self.measure.height(48 * capacity)
        ):
            a = block.a if len(part) == len(block.rows) else block.a.select(part)
            lists = Lists.empty(a.level, len(part), capacity, self.measure.device)
            self.measure.tiles.near(a, block.b, near[0][part], lists, 0, or_within=near[1])
            self._count_listed(block, part, lists, (own, others), of_queries, of_references, limits)
            full = part[lists.n_found > capacity]
            if len(full):
                rows = block.rows[full]
                rest = Block(rows, block.columns, block.a.select(full), block.b)
                again = self._limits(rest, own[:, rows], others[:, block.columns])
                self._count_all(rest, own, others, of_queries, of_references, again)

    def _expected(self, block: Block, own: Limits, others: Limits) -> float | None:
        """About how many columns a row's balls, or theirs, reach; None if lists would not pay."""
        if block.a.level is Level.EXACT or block.n_pairs < self.measure.fewest_pairs:
            return None
        rows = torch.arange(0, len(block.rows), -(-len(block.rows) // _LOOKED_AT[0]))
        columns = torch.arange(0, len(block.columns), -(-len(block.columns) // _LOOKED_AT[1]))
        rows, columns = rows.to(self.measure.device), columns.to(self.measure.device)
        q = self.measure.tiles.dense(block.a.select(rows), block.b.select(columns))
        near = torch.zeros_like(q, dtype=torch.bool)
        for outer in own.outer[:, rows]:
            near |= q <= outer[:, None]
        for outer in others.outer[:, columns]:
            near |= q <= outer
        share = (int(near.sum()) + 1) / near.numel()
        return share * len(block.columns) if share <= _MOST_LISTED else None

    def _count_listed(
        self,
        block: Block,
        part: Tensor,
        lists: Lists,
        balls: tuple[Tensor, Tensor],
        of_queries: Tensor,
        of_references: Tensor,
        limits: tuple[Limits, Limits],
    ) -> None:
        """Count the pairs on the lists that are not full."""
        q, place = lists.unsorted()
        width = torch.arange(lists.capacity, device=q.device)
        n_found = torch.where(lists.n_found > lists.capacity, 0, lists.n_found)
        row, at = torch.nonzero(width < n_found[:, None], as_tuple=True)
        q, column, row = q[row, at], place[row, at], part[row]
        i, j = block.rows[row], block.columns[column]
        sides = [(c, ball) for c, limit in enumerate(limits) for ball in range(len(limit.inner))]
        mine = (row, column)
        is_open = torch.zeros_like(q, dtype=torch.bool)
        for c, ball in sides:
            inner, outer = limits[c].inner[ball, mine[c]], limits[c].outer[ball, mine[c]]
            is_open |= (q <= outer) & (q > inner)
        opened = torch.nonzero(is_open)[:, 0]
        squared = self.measure.pairs(self.queries, i[opened], self.references, j[opened])
        for at_ball, (c, ball) in enumerate(sides):
            inside = q <= limits[c].inner[ball, mine[c]]
            where = (i, j)[c][opened]
            inside[opened] = squared <= balls[c][ball, where]
            counted = inside.long()
            of_queries[at_ball].index_add_(0, i, counted)
            if of_references.shape[1]:
                of_references[at_ball].index_add_(0, j, counted)

    def _count_all(
        self,
        block: Block,
        own: Tensor,
        others: Tensor,
        of_queries: Tensor,
        of_references: Tensor,
        limits: tuple[Limits, Limits],
    ) -> None:
        """Count every pair; too many open ones are left to the next level or to halves."""
        both = bool(of_references.shape[1])
        found = self.measure.tiles.tally(block.a, block.b, *limits, both=both)
        if not found.open.is_complete:
            is_few = found.open.n <= _MOST_OPEN * block.n_pairs
            for part in self._finer(block, is_few=is_few):
                finer = self._limits(part, own[:, part.rows], others[:, part.columns])
                self._count_all(part, own, others, of_queries, of_references, finer)
            return
        of_queries[:, block.rows] += found.of_rows
        if both:
            of_references[:, block.columns] += found.of_columns
        i, j = block.rows[found.open.rows], block.columns[found.open.columns]
        if not len(i):
            return
        squared = self.measure.pairs(self.queries, i, self.references, j)
        for ball in range(len(own) + len(others)):
            is_own = ball < len(own)
            limit = own[ball, i] if is_own else others[ball - len(own), j]
            inside = (squared <= limit).long()
            of_queries[ball].index_add_(0, i, inside)
            if both:
                of_references[ball].index_add_(0, j, inside)

    def _limits(self, block: Block, own: Tensor, others: Tensor) -> tuple[Limits, Limits]:
        """Limits of Q for the balls of both sides."""
        scale = self.queries.scale
        dtype = torch.float32 if block.a.level is Level.HALF else torch.float64
        found = []
        for balls, mine, theirs in ((own, block.a, block.b), (others, block.b, block.a)):
            doubt = Doubt.of(mine, theirs, scale)
            inner, outer = doubt.of_threshold(balls)
            if doubt.is_sharp:
                limit = rounded_down(inner, dtype)
                found.append(Limits(limit, limit))
            else:
                found.append(Limits(rounded_down(inner, dtype), rounded_up(outer, dtype)))
        return found[0], found[1]

    def _finer(self, block: Block, *, is_few: bool) -> Iterator[Block]:
        """Divide a block: by rows where few pairs are open, else at the next level."""
        level = block.a.level
        if (is_few and len(block.rows) > _FEW_ROWS) or level is Level.EXACT:
            for part in block.rows.split(-(-len(block.rows) // 2)):
                yield Block(part, block.columns, self.queries.at(level, part), block.b)
            return
        level = Level(level + 1)
        for rows in self._in_parts(self.queries, level, block.rows):
            a = self.queries.at(level, rows)
            for columns in self._in_parts(self.references, level, block.columns):
                yield Block(rows, columns, a, self.references.at(level, columns))

    # The nearest

    def nearest(self, around: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Tell each query who is nearest, how far, and which of its balls hold the query.

        Parameters
        ----------
        around
            (n_balls, n_references) squared thresholds.

        Returns
        -------
        Places in the array (n,), squared distances (n,), and flags (n, n_balls).
        """
        n, device = len(self.queries), self.measure.device
        quiet = PairMeasure(self.measure.tiles, device, self.measure.room, lambda _: None)
        least = NearestSearch(quiet, self.queries, [self.references], [1]).found()[:, 0, 0]
        place = torch.full((n,), NOBODY, dtype=torch.int64, device=device)
        held = torch.zeros((len(around), n), dtype=torch.int32, device=device)
        stored = self.references.places_of(None)
        ties = (pair for block in self._blocks(Level.HALF) for pair in self._ties(block, least))
        for i, j in ties:
            place.scatter_reduce_(0, i, stored[j], "amin")
            for ball, limits in enumerate(around):
                is_held = (least[i] <= limits[j]).int()
                held[ball].scatter_reduce_(0, i, is_held, "amax")
        return place, least, held.T.bool()

    def _ties(self, block: Block, least: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the pairs (i, j) of a block that are as near as the nearest of i."""
        dtype = torch.float32 if block.a.level is Level.HALF else torch.float64
        doubt = Doubt.of(block.a, block.b, self.queries.scale)
        outer = rounded_up(doubt.of_threshold(least[None, block.rows])[1], dtype)
        own, none = Limits(torch.full_like(outer, -torch.inf), outer), Limits(outer[:0], outer[:0])
        near = self.measure.tiles.tally(block.a, block.b, own, none, both=False).open
        if not near.is_complete:
            is_few = near.n <= _MOST_OPEN * block.n_pairs
            for part in self._finer(block, is_few=is_few):
                yield from self._ties(part, least)
            return
        i, j = block.rows[near.rows], block.columns[near.columns]
        if not doubt.is_sharp:
            is_tied = self.measure.pairs(self.queries, i, self.references, j) == least[i]
            i, j = i[is_tied], j[is_tied]
        if len(i):
            yield i, j

    # Ratios

    def best_ratios(self, weights: Tensor, offset: float) -> Tensor:
        """Return the largest weight / (squared distance + offset) of each reference, (n,).

        One pass finds a ratio that is reached, another the pairs that may reach it.
        """
        tiles, step = self.measure.tiles, self.queries.scale.step
        scaled = torch.where(weights < 0, -1.0, weights / step / step)
        added = offset / step / step
        reached = torch.zeros(len(self.references), dtype=torch.float64, device=weights.device)
        for block in self._blocks(Level.HALF):
            doubt, here = self._doubt_of_all(block), scaled[block.rows]
            bound = tiles.best_ratio(block.a, block.b, here, added, doubt)
            reached[block.columns] = torch.maximum(reached[block.columns], bound)
        best = torch.zeros_like(reached)
        for block in self._blocks(Level.HALF):
            doubt, here = self._doubt_of_all(block), scaled[block.rows]
            listed = tiles.ratio_pairs(block.a, block.b, here, reached[block.columns], doubt)
            if listed.is_complete:
                i, j = block.rows[listed.rows], block.columns[listed.columns]
                squared = self.measure.pairs(self.queries, i, self.references, j)
                best.scatter_reduce_(0, j, _ratio(weights[i], squared + offset), "amax")
            else:
                self._best_exactly(block, weights, offset, best)
        return best

    def _best_exactly(self, block: Block, weights: Tensor, offset: float, best: Tensor) -> None:
        none = torch.zeros(2, dtype=torch.float64, device=self.measure.device)
        for rows in self._in_parts(self.queries, Level.EXACT, block.rows):
            a = self.queries.at(Level.EXACT, rows)
            for columns in self._in_parts(self.references, Level.EXACT, block.columns):
                b = self.references.at(Level.EXACT, columns)
                found = self.measure.tiles.best_ratio(a, b, weights[rows], offset, none)
                best[columns] = torch.maximum(best[columns], found)

    def _doubt_of_all(self, block: Block) -> Tensor:
        """E and L that hold for all pairs of a block, (2,)."""
        doubt = Doubt.of(block.a, block.b, self.queries.scale)
        return torch.stack([doubt.error.max(), doubt.lost.max()])


def _widest(outer: Tensor, a: Approximation, b: Approximation, side: int) -> Tensor:
    """The outermost limit of each row's balls, −inf where there are none."""
    if len(outer):
        return outer.amax(dim=0).contiguous()
    dtype = torch.float32 if a.level is Level.HALF else torch.float64
    n = len(a) if side == 0 else len(b)
    return torch.full((n,), -torch.inf, dtype=dtype, device=a.norm.device)


def _ratio(weights: Tensor, squared: Tensor) -> Tensor:
    """Weight over squared distance; 1 where both are 0, 0 where a weight is left out."""
    found = torch.where((weights == 0) & (squared == 0), 1.0, weights / squared)
    return torch.where(weights < 0, 0.0, found)
