"""How near two groups of rows are to each other: each pair is looked at once, and tells both.

Every row says how far away a row of the other group may be to be of interest. What others have
found before makes that little: then few pairs are listed, and measured at all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import NDArray

from precall.engines.cpu.candidates import Candidates, collect_nearest
from precall.engines.cpu.kernel_choice import TileShape
from precall.engines.cpu.meeting.between_kernels import limit_lists, nearest_within
from precall.engines.cpu.mutual import tiles_between
from precall.engines.cpu.pairs import References
from precall.engines.cpu.rows import PackedRows, PlacedSet, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.tiling.tiles import NONE, room_for_hits
from precall.runtime.threads import in_threads

Floats = NDArray[np.float64]

_LEAST_CAPACITY = 40
_CAPACITY_PER_NEIGHBOR = 3
_MOST_BYTES = 64 * 2**20  # of all lists
_BLOCKS_PER_THREAD = 2  # of either group


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rows of a set, in random order: lists that begin with nothing fill slowly then."""

    placed: PlacedSet
    rows: Places  # (n,) where each is stored
    within: Floats  # (n,) squared distance up to which others are of interest

    @classmethod
    def of(cls, placed: PlacedSet, rows: Places, within: Floats) -> tuple[Self, Places]:
        """Return the group, and which of the rows come first in it."""
        order = np.random.default_rng(0).permutation(len(rows))
        return cls(placed, rows[order], within[order]), order

    def packed(self, height: int, *, is_direct: bool) -> PackedRows:
        """Pack all rows."""
        return PackedRows.of(self.placed, self.rows, height, is_direct=is_direct)


def fits(n_rows: int, depth: int) -> bool:
    """Whether the lists of so many rows are short enough to keep."""
    return 8 * n_rows * _capacity(depth) <= _MOST_BYTES


def _capacity(depth: int) -> int:
    return max(_LEAST_CAPACITY, _CAPACITY_PER_NEIGHBOR * depth)


def find_between(
    groups: tuple[Group, Group],
    shape: TileShape,
    ruler: Ruler,
    depth: int,
    panels_together: int,
    threads: int,
) -> tuple[Floats, Floats]:
    """Find the ``depth`` nearest of each row in the other group, as far as they are of interest.

    Parameters
    ----------
    panels_together
        Panels of rows that stay in the cache.

    Returns
    -------
    Squared distances of the rows of either group, (n, depth); inf where there are no more; NaN
    where too many candidates could not be told from each other.
    """
    one = groups[0].packed(shape.rows, is_direct=ruler.is_direct)
    other = groups[1].packed(shape.cols, is_direct=ruler.is_direct)
    # Lists of both groups stand behind each other; a candidate is known by its place among these.
    start = len(one.norm)
    near = np.concatenate([one.rows, np.zeros(start - len(one.rows), np.intp), other.rows])
    everybody = _everybody(one, other, near)
    found = _begin((one, other), groups, depth, start, ruler)
    _collect((one, other), everybody, shape, ruler, depth, start, panels_together, threads, found)
    answers = []
    for packed, group, first in ((one, groups[0], 0), (other, groups[1], start)):
        base_of_others = other.base if first == 0 else one.base
        others = References(base_of_others, near, near[:0], np.empty(0))
        answers.append(_measured(packed, others, found, first, group.within, depth, ruler, threads))
    return answers[0], answers[1]


def _everybody(one: PackedRows, other: PackedRows, near: Places) -> References:
    """Rows of both groups behind each other, which only direct tiles want to look at."""
    if one.base is other.base or not one.is_direct:
        return References(one.base, near, near[:0], np.empty(0))
    padding = one.base[np.zeros(len(near) - len(one.rows) - len(other.rows), np.intp)]
    base = np.concatenate([one.base[one.rows], padding, other.base[other.rows]])
    return References(base, np.arange(len(base)), near[:0], np.empty(0))


def _begin(
    packed: tuple[PackedRows, PackedRows],
    groups: tuple[Group, Group],
    depth: int,
    start: int,
    ruler: Ruler,
) -> Candidates:
    """Begin with no candidates, and with limits from what is of interest."""
    one, other = packed
    largest = float(one.error.max(initial=0.0)), float(other.error.max(initial=0.0))
    error = np.zeros(start + len(other.rows))
    error[: len(one.rows)], error[start:] = one.error + largest[1], other.error + largest[0]
    found = Candidates.none(error, _capacity(depth), start + len(other.norm))
    within = np.full(len(error), -1.0)  # of padding: nobody
    within[: len(one.rows)], within[start:] = groups[0].within, groups[1].within
    limit_lists(found, within, ruler)
    return found


def _collect(
    packed: tuple[PackedRows, PackedRows],
    everybody: References,
    shape: TileShape,
    ruler: Ruler,
    depth: int,
    start: int,
    panels_together: int,
    threads: int,
    found: Candidates,
) -> None:
    """Let blocks of both groups meet, each two of them once."""
    n_blocks = 1 if threads == 1 else _BLOCKS_PER_THREAD * threads
    blocks = [_blocks(len(of.rows), n_blocks, shape) for of in packed]
    locks = [[Lock() for _ in of] for of in blocks]
    queries = packed[0].queries._replace(base=everybody.base, rows=everybody.near)
    never = np.full(len(packed[1].norm), NONE, np.int32)

    def meet(pair: tuple[int, int]) -> None:
        rows, columns = blocks[0][pair[0]], blocks[1][pair[1]]
        tiles = tiles_between(*packed, rows, columns, shape)
        first = rows.start, start + columns.start
        with locks[0][pair[0]], locks[1][pair[1]]:
            collect_nearest(
                tiles, first, True, panels_together, 0, 0, never, ruler, depth, queries, everybody,
                room_for_hits(shape), found,
            )  # fmt: skip

    n_rows, n_columns = map(len, blocks)
    pairs = [(i, (i + turn) % n_columns) for turn in range(n_columns) for i in range(n_rows)]
    in_threads(meet, pairs, threads)


def _blocks(n: int, n_blocks: int, shape: TileShape) -> Sequence[range]:
    """Cut rows into blocks that begin with whole panels of either kind."""
    unit = math.lcm(shape.rows, shape.cols)
    size = math.ceil(n / n_blocks / unit) * unit
    return [range(start, min(start + size, n)) for start in range(0, n, size)]


def _measured(
    packed: PackedRows,
    others: References,
    found: Candidates,
    first: int,
    within: Floats,
    depth: int,
    ruler: Ruler,
    threads: int,
) -> Floats:
    """Measure the candidates of one group."""
    n = len(packed.rows)
    out, size = np.empty((n, depth)), math.ceil(n / threads)

    def measure(begin: int) -> None:
        part = slice(begin, min(begin + size, n))
        lists = found.part(slice(first + part.start, first + part.stop))
        queries = packed.queries._replace(rows=packed.rows[part], lengths=packed.lengths[part])
        nearest_within(queries, others, lists, within[part], depth, ruler, out[part])

    in_threads(measure, range(0, n, size), threads)
    return out
