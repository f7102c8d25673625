"""One pass over all pairs of two classes, whose lists answer many questions about them.

Folds, halves and whole samples are selections of the same rows. Asked one after the other they
compare the same pairs again and again; here each pair is looked at once, for both of its rows, and
each row lists everybody as near as any question about it may ask for. The k-th nearest of any
selection are read off the lists (``kth``), and so are counts, as far as balls reach no farther than
the lists do. The loops stand in ``kernels``.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.engines.cpu.kernel_choice import TileShape
from precall.engines.cpu.mutual import all_pairs, tiles_between
from precall.engines.cpu.pairs import Queries, References
from precall.engines.cpu.rows import PackedRows, PlacedSet, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.sharing.kernels import (
    Lists,
    acquaint,
    guess_limits_of_both,
    list_everybody,
)
from precall.engines.cpu.sharing.measuring import measure_listed, narrow_limits
from precall.engines.cpu.tiling.tiles import ALL, NONE, room_for_hits
from precall.engines.protocol import Neighbors
from precall.runtime.mapped_files import release_pages
from precall.runtime.threads import in_threads

Block = tuple[int, range]  # class, and which of its rows

_MOST_GROUPS = 32  # of a class: bits of a word
_MOST_BYTES = 160 * 2**20  # of all lists
_MOST_TIMES = 10  # or so many times the integers of the rows
_MOST_EVER = 2**30  # but never more
_SPARE, _LEAST = 1.7, 32  # room of a list: times what is expected, and more
_ROWS_TRIED, _OTHERS_TRIED = 24, 1024  # of each class, to see how long lists will be
_SAMPLE = 128  # rows of each class that the first limits are guessed from
_N_BLOCKS = 16  # of a class, at least; a block meets itself twice, so that few cost time
_FEWEST = 8  # smallest blocks
_PRODUCTS = 2 * 10**10  # of two blocks: under a second
_GUESSES = (1 / 16, 1 / 4, 1 / 2, 3 / 4)  # shares of all blocks met
_MANY_UNKNOWN = 1 / 8
_TEST = 32  # features that take as long as the test of a pair
_LAST = 2**31 - 1  # a code, or a column, beyond all
_CACHED, _MOST_SCATTERED = 64 * 2**20, 4  # bytes; times that a pair takes, if rows are far apart
_MEASURED_BYTES = 4 * 2**20  # of rows that are measured while they are in the cache
_PER_LISTED = 1500  # products that take as long as listing a row and reading it again and again


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """The rows of one array that anybody asks about and that are on the grid, in random order."""

    array: Any
    placed: PlacedSet
    order: Places  # (n,) where each is stored
    index: NDArray[np.int32]  # (n_stored,) the inverse; negative for all others
    groups: list[Rows]  # references that are asked about
    room: int = 0  # in each list of them
    n_doubtful: float = 0.0  # how many the grid cannot tell from the last that a row needs

    @classmethod
    def of(cls, array: Any, placed: PlacedSet, rows: Sequence[Rows], groups: list[Rows]) -> Self:
        is_asked = np.zeros(len(array), np.bool_)
        for some in rows:
            is_asked[some.stored] = True
        order = np.random.default_rng(0).permutation(
            np.flatnonzero(is_asked & ~placed.placed.is_far)
        )
        index = np.full(len(array), -1, np.int32)
        index[order] = np.arange(len(order))
        return cls(array, placed, order, index, groups)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def bytes_of_row(self) -> int:
        """Bytes of a row."""
        base = self.placed.base
        return int(base.shape[1] * base.itemsize)

    @property
    def words(self) -> NDArray[np.uint32]:
        """The groups that each row is in."""
        words = np.zeros(len(self), np.uint32)
        for bit, group in enumerate(self.groups):
            words[self.near(group)] |= np.uint32(1 << bit)
        return words

    def near(self, rows: Rows) -> NDArray[np.int32]:
        """Which rows these are, those off the grid left out."""
        index = self.index[rows.stored]
        return index[index >= 0]

    def place_in(self, rows: Rows) -> NDArray[np.int32]:
        """Where each row stands in a selection, negative if it does not: (n,)."""
        place, index = np.full(len(self), -1, np.int32), self.index[rows.stored]
        on_grid = index >= 0
        place[index[on_grid]] = np.flatnonzero(on_grid)
        return place

    def references(self, rows: Rows) -> References:
        """All rows in tiles, and those of a selection that are off the grid."""
        placed, stored = self.placed.placed, rows.stored
        far = stored[placed.is_far[stored]]
        far = far[np.argsort(placed.length[far], kind="stable")]
        return References(self.placed.base, self.order, far, placed.length[far])

    def queries(self, stored: Places) -> Queries:
        """Rows as the kernels want them."""
        return Queries(self.placed.base, stored, self.placed.placed.length[stored])


@dataclass(frozen=True, slots=True, eq=False)
class Acquaintances:
    """Lists of both classes among both."""

    classes: tuple[_Class, _Class]
    lists: dict[tuple[int, int], Lists]  # by class of the row, and class of those listed
    ruler: Ruler

    def which(self, rows: Rows) -> int:
        """The class that rows are of."""
        return 0 if rows.array is self.classes[0].array else 1

    def knows(self, *sets: Rows) -> bool:
        """Whether all of these rows are listed, but for those off the grid."""
        return all(self._knows(rows) for rows in sets)

    def are_all_near(self, *sets: Rows) -> bool:
        """Whether none of these rows is off the grid."""
        return all((self.classes[self.which(rows)].index[rows.stored] >= 0).all() for rows in sets)

    def _knows(self, rows: Rows) -> bool:
        of = self.classes[self.which(rows)]
        if of.array is not rows.array:
            return False
        is_listed = (of.index >= 0) | of.placed.placed.is_far
        return bool(is_listed[rows.stored].all())


def plan_to_share(
    questions: Sequence[Neighbors], find_set: Callable[[Rows], PlacedSet], shape: TileShape
) -> tuple[_Class, _Class] | None:
    """Both classes of questions that are better answered together, or ``None``."""
    every = [rows for q in questions for rows in (q.queries, *q.references)]
    arrays = list({id(rows.array): rows.array for rows in every}.values())
    if len(arrays) != 2 or all(
        rows.array is q.queries.array for q in questions for rows in q.references
    ):
        return None
    references = {id(rows): rows for q in questions for rows in q.references}.values()
    groups = [[rows for rows in references if rows.array is array] for array in arrays]
    if max(map(len, groups)) > _MOST_GROUPS:
        return None
    first, second = (
        _Class.of(array, find_set(Rows(array)), [r for r in every if r.array is array], of_class)
        for array, of_class in zip(arrays, groups, strict=True)
    )
    n, m = len(first), len(second)
    has_rows = min(n, m) >= _FEWEST * math.lcm(shape.rows, shape.cols)
    n_spared = sum(map(_n_asked, questions)) - (n + m) ** 2 / 2
    most_listed = n_spared * (every[0].n_features + _TEST) / _PER_LISTED
    share = max(max(q.ks) / len(rows) for q in questions for rows in q.references)
    if not has_rows or most_listed < _SPARE * share * (n + m) ** 2:
        return None
    for question in questions:
        for rows in question.references:
            of = first if rows.array is first.array else second
            if len(of.near(rows)) < max(question.ks):
                return None
    planned = tuple(_with_room(of, (first, second), share) for of in (first, second))
    of_rows = 2 * (n + m) * every[0].n_features
    of_lists = 8 * (n + m) * sum(of.room for of in planned)
    fits = of_lists <= max(_MOST_BYTES, min(_MOST_TIMES * of_rows, _MOST_EVER))
    return (planned[0], planned[1]) if fits and of_lists <= 8 * most_listed else None


def _n_asked(question: Neighbors) -> float:
    n = len(question.queries)
    is_own = len(question.references) == 1 and question.references[0] is question.queries
    return n * n / 2 if is_own else n * sum(map(len, question.references))


def _with_room(listed: _Class, classes: Sequence[_Class], share: float) -> _Class:
    """Room for a class in the lists of both: what a few rows would list of a few others.

    That is a share of the class, and whoever the grid cannot tell from the last of these: the
    doubtful, unless the grid is exact.
    """
    others = listed.placed.placed.select(listed.order[:_OTHERS_TRIED])
    columns = others.q.astype(np.float64).T
    largest_error = float(listed.placed.placed.error[listed.order].max())
    rank = max(1, math.ceil(share * len(others.norm)))
    shares, doubtful = [], []
    for of in classes:
        rows = of.placed.placed.select(of.order[:_ROWS_TRIED])
        codes = rows.norm[:, None] + others.norm - 2 * (rows.q.astype(np.float64) @ columns)
        kth = np.partition(codes, rank - 1, axis=1)[:, rank - 1]
        error = rows.error + largest_error
        reach = (np.sqrt(np.maximum(kth, 0.0)) + 2 * error) ** 2
        shares.append((codes <= reach[:, None]).mean(axis=1))
        doubtful.append(np.where(error > 0, shares[-1] - rank / len(others.norm), 0.0))
    expected = len(listed) * float(np.concatenate(shares).mean())
    room = min(_LEAST + math.ceil(_SPARE * expected), len(listed) + 1)
    n_doubtful = len(listed) * float(np.concatenate(doubtful).mean())
    return replace(listed, room=room, n_doubtful=n_doubtful)


class Introduction:
    """Lets all blocks of two classes meet."""

    def __init__(
        self,
        classes: tuple[_Class, _Class],
        questions: Sequence[Neighbors],
        shape: TileShape,
        ruler: Ruler,
        panels_together: int,
    ) -> None:
        self.classes, self.shape, self.ruler = classes, shape, ruler
        self.direct = ruler._replace(is_direct=True, step=1.0)
        self.measures = _is_worth_measuring(classes, questions)
        self.together = panels_together
        self.deepest = max(max(q.ks) for q in questions)
        self.rows, self.cols = (
            [PackedRows.of(c.placed, c.order, size, is_direct=False) for c in classes]
            for size in (shape.rows, shape.cols)
        )
        n_features = questions[0].queries.n_features
        sizes = [_block_size(len(c), n_features, shape) for c in classes]
        self.blocks = _interleaved(
            [(c, range(at, min(at + size, len(of)))) for at in range(0, len(of), size)]
            for c, (of, size) in enumerate(zip(classes, sizes, strict=True))
        )
        words = [c.words for c in classes]
        self.lists = {}
        for a in range(2):
            for b in range(2):
                n_padded = sizes[a] * math.ceil(len(classes[a]) / sizes[a])
                needs = _needs(questions, classes[a], classes[b])
                error = self.rows[a].error + float(self.rows[b].error.max(initial=0.0))
                room = classes[b].room
                self.lists[a, b] = _no_lists(error, room, n_padded, needs, words[b])
        self.never = np.full(max(map(len, (of.norm for of in self.cols))), NONE, np.int32)

    def hold(self, threads: int, advance: Callable[[float], None]) -> Acquaintances | None:
        """Compare every pair once; ``None`` if too many lists had to be given up."""
        in_threads(self._sample, range(len(self.blocks)), threads)
        n, n_total = len(self.blocks), sum(map(len, self.classes))
        met, unknown = np.zeros((n, 2)), np.zeros(n)
        n_met, locks = [0] * n, [Lock() for _ in self.blocks]
        guesses = {max(1, round(share * n)) for share in _GUESSES}

        def meet(pair: tuple[int, int]) -> None:
            is_mutual = pair[0] != pair[1]
            (a, one), (b, other) = (self.blocks[block] for block in pair)
            with locks[pair[0]], locks[pair[1]] if is_mutual else Lock():
                if unknown.sum() > _MANY_UNKNOWN * n_total:
                    return
                self._acquaint(a, one, b, other, is_mutual=is_mutual)
                met[pair[0], b] += len(other)
                met[pair[1], a] += len(one) * is_mutual
                for block in set(pair):
                    n_met[block] += 1
                    if n_met[block] in guesses:
                        unknown[block] = self._guess(block, met[block], keeps=True)
            advance(len(one) * len(other) * (1 + is_mutual) / n_total**2)

        in_threads(meet, all_pairs(n), threads)
        if unknown.sum() > _MANY_UNKNOWN * n_total:
            return None
        ruler = self.direct if self.measures else self.ruler
        if self.measures:
            in_threads(self._measure, self.blocks, threads)
            for of in self.classes:
                release_pages(of.array)
        in_threads(self._sort, self.blocks, threads)
        return Acquaintances(self.classes, self.lists, ruler)

    def _sample(self, block: int) -> None:
        """Guess first limits from a few rows of each class."""
        a, one = self.blocks[block]
        met = np.zeros(2)
        for b in range(2):
            most = self.lists[a, b].codes.shape[1] - 1  # no list gets full
            other = range(min(_SAMPLE, most, len(self.classes[b]) // 4))
            tiles = tiles_between(self.rows[a], self.cols[b], one, other, self.shape)
            list_everybody(tiles, one.start, self.lists[a, b], room_for_hits(self.shape))
            met[b] = len(other)
        self._guess(block, met, keeps=False)

    def _measure(self, block: Block) -> None:
        """Measure all that the rows of a block list; see ``measuring``."""
        a, (start, stop) = block[0], (block[1].start, block[1].stop)
        rows, at = [of.queries(of.order) for of in self.classes], np.empty(stop - start, np.int64)
        for b, others in enumerate(self.classes):
            lists, run = self.lists[a, b], max(1, _MEASURED_BYTES // others.bytes_of_row)
            _sort_lists(lists, start, stop, lists.cols, lists.codes)
            measure_listed(lists, start, stop, run, len(others), rows[a], rows[b], at)
            narrow_limits(lists, start, stop, self.ruler, self.direct)

    def _sort(self, block: Block) -> None:
        """Let the nearest be first in the lists of a block."""
        a, (start, stop) = block[0], (block[1].start, block[1].stop)
        for b in range(2):
            lists = self.lists[a, b]
            _sort_lists(lists, start, stop, lists.codes, lists.cols)

    def _acquaint(self, a: int, one: range, b: int, other: range, *, is_mutual: bool) -> None:
        tiles = tiles_between(self.rows[a], self.cols[b], one, other, self.shape)
        acquaint(
            tiles, (one.start, other.start), self.lists[a, b], self.lists[b, a], is_mutual,
            self.never, self.together, self.deepest, self.ruler, room_for_hits(self.shape),
        )  # fmt: skip

    def _guess(self, block: int, met: NDArray[np.float64], *, keeps: bool) -> int:
        a, one = self.blocks[block]
        shares = met[0] / len(self.classes[0]), met[1] / len(self.classes[1])
        both = self.lists[a, 0], self.lists[a, 1]
        of_block = *both, one.start, one.stop, shares, self.deepest, self.ruler, keeps
        return int(guess_limits_of_both(*of_block))


def _is_worth_measuring(classes: Sequence[_Class], questions: Sequence[Neighbors]) -> bool:
    """Whether questions would take longer for pairs here and there than all on the lists take."""
    n_answers = sum(len(q.queries) * len(q.references) * len(q.ks) for q in questions)
    n_doubtful = n_answers * sum(of.n_doubtful for of in classes) / len(classes)
    n_listed = sum(map(len, classes)) * sum(of.room for of in classes) / _SPARE
    n_bytes = sum(len(of) * of.bytes_of_row for of in classes)
    return n_doubtful * min(1 + n_bytes / _CACHED, _MOST_SCATTERED) > n_listed


def _sort_lists(
    lists: Lists, start: int, stop: int, by: NDArray[np.int32], along: NDArray[np.int32]
) -> None:
    """Sort some lists by one of what they hold, and the other along."""
    values, others = by[start:stop], along[start:stop]
    keys = np.empty(values.shape, "<i8")  # what is sorted in the upper word, the other in the lower
    pairs = keys.view("<i4").reshape(*keys.shape, 2)
    pairs[..., 0], pairs[..., 1] = others, values
    pairs[..., 1][np.arange(values.shape[1]) >= lists.sizes[start:stop, None]] = _LAST
    keys.sort(axis=1)
    values[:], others[:] = pairs[..., 1], pairs[..., 0]


def _no_lists(
    error: NDArray[np.float64],
    capacity: int,
    n_padded: int,
    needs: NDArray[np.int32],
    groups: NDArray[np.uint32],
) -> Lists:
    n = len(error)
    codes, cols = np.empty((2, n, capacity), np.int32)
    tile = np.full(n_padded, NONE, np.int32)
    tile[:n] = ALL
    sizes, limits = np.zeros(n, np.int64), np.full(n, ALL, np.int64)
    return Lists(codes, cols, sizes, limits, tile, error, needs, groups)


def _needs(questions: Sequence[Neighbors], of: _Class, among: _Class) -> NDArray[np.int32]:
    """How many of the nearest of each group of a class each row is asked about."""
    needs = np.zeros((len(of), len(among.groups)), np.int32)
    for question in questions:
        for rows in question.references:
            if question.queries.array is of.array and rows.array is among.array:
                group = next(g for g, known in enumerate(among.groups) if known is rows)
                near = of.near(question.queries)
                needs[near, group] = np.maximum(needs[near, group], max(question.ks))
    return needs


def _block_size(n: int, n_features: int, shape: TileShape) -> int:
    """Rows of a block: whole panels of rows and of columns."""
    unit = math.lcm(shape.rows, shape.cols)
    size = min(n / _N_BLOCKS, math.sqrt(_PRODUCTS / n_features))
    return max(1, math.ceil(size / unit)) * unit


def _interleaved(blocks: Iterable[list[Block]]) -> list[Block]:
    """Blocks of both classes in such an order that all along both have their share."""
    places = [((at + 0.5) / len(of), block) for of in blocks for at, block in enumerate(of)]
    return [block for _, block in sorted(places, key=lambda placed: placed[0])]
