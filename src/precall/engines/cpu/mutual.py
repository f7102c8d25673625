"""How far rows are from their k-th nearest among themselves: each pair is looked at once.

The rows are cut into blocks, and two blocks meet once: what is found is a candidate of both. So the
lists of all rows must be kept at the same time, which is worth it as long as they are short.
"""

import math
from collections.abc import Callable
from threading import Lock

from precall.engines.cpu.candidates import (
    Candidates,
    collect_nearest,
    guess_limits,
    mark_unproven,
)
from precall.engines.cpu.kernel_choice import TileShape
from precall.engines.cpu.rows import PackedReferences, PackedRows
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.tiling.tile_functions import address_of
from precall.engines.cpu.tiling.tiles import Tiles, room_for_hits
from precall.runtime.threads import in_threads

_LEAST_CAPACITY = 40
_CAPACITY_PER_NEIGHBOR = 3
_MOST_BYTES = 64 * 2**20  # of all lists
_N_BLOCKS = 16  # at least; a block meets itself twice, so that few cost time
_BLOCKS_PER_THREAD = 4
_FEWEST = 8  # smallest blocks
_TEST = 32  # features that take as long as the test of a pair
_PER_NEIGHBOR = 8192  # products that take as long as keeping a neighbour twice
_PRODUCTS = 2 * 10**10  # of two blocks: under a second


def is_worth_it(n_rows: int, n_features: int, depth: int, shape: TileShape) -> bool:
    """Whether products take longer than lists, and the lists are not too long to keep."""
    is_large = n_rows >= _FEWEST * math.lcm(shape.rows, shape.cols)
    has_products = n_rows * (n_features + _TEST) >= _PER_NEIGHBOR * depth
    return is_large and has_products and 8 * n_rows * _capacity(depth) <= _MOST_BYTES


def collect_mutually(
    queries: PackedRows,
    references: PackedReferences,
    shape: TileShape,
    ruler: Ruler,
    depth: int,
    panels_together: int,
    threads: int,
    advance: Callable[[int], None],
) -> Candidates:
    """Collect for each row all others that may be among its ``depth`` nearest, itself included.

    Parameters
    ----------
    queries, references
        The same rows in the same order.
    panels_together
        Panels of queries that stay in the cache.
    """
    n = len(queries.rows)
    size = _block_size(n, queries.base.shape[1], shape, threads)
    n_blocks = math.ceil(n / size)
    blocks = [range(start, min(start + size, n)) for start in range(0, n, size)]
    error = queries.error + references.largest_error
    found = Candidates.none(error, _capacity(depth), n_blocks * size)
    n_met, locks = [0] * n_blocks, [Lock() for _ in blocks]
    rows, members = queries.queries, references.references

    def meet(pair: tuple[int, int]) -> None:
        one, other = blocks[pair[0]], blocks[pair[1]]
        is_mutual = pair[0] != pair[1]
        tiles = tiles_between(queries, references.packed, one, other, shape)
        n_guessed = 0 if is_mutual else math.ceil(n / shape.cols)
        with locks[pair[0]], locks[pair[1]] if is_mutual else Lock():
            collect_nearest(
                tiles, (one.start, other.start), is_mutual, panels_together, n_guessed, 0,
                references.never, ruler, depth, rows, members, room_for_hits(shape), found,
            )  # fmt: skip
            for block in set(pair):
                n_met[block] += 1
                at, share = blocks[block], n_met[block] / n_blocks
                if n_met[block] & (n_met[block] - 1) == 0:  # the first, second, fourth, …
                    guess_limits(found, at.start, at.stop, depth, share, ruler)
                if n_met[block] == n_blocks:
                    mark_unproven(found.part(slice(at.start, at.stop)), depth, n, ruler, False)
        advance(len(one) * len(other) * (1 + is_mutual))

    in_threads(meet, all_pairs(n_blocks), threads)
    return found


def _capacity(depth: int) -> int:
    return max(_LEAST_CAPACITY, _CAPACITY_PER_NEIGHBOR * depth)


def _block_size(n: int, n_features: int, shape: TileShape, threads: int) -> int:
    """Rows of a block: whole panels of queries and of references."""
    unit = math.lcm(shape.rows, shape.cols)
    size = min(n / max(_N_BLOCKS, _BLOCKS_PER_THREAD * threads), math.sqrt(_PRODUCTS / n_features))
    return max(1, math.ceil(size / unit)) * unit


def all_pairs(n_blocks: int) -> list[tuple[int, int]]:
    """Every pair of blocks: each with itself, then rounds in which everybody meets one other.

    So all blocks see the others evenly, and those who meet at the same time are not the same: a
    tournament in which one place is held and the others move on (with an odd number, it is empty).
    They move by half of all places, so that nearly everybody meets the next one in each round:
    where two classes take turns, both have their share all along. In each round those come first
    whose last meeting is longest ago: it is over.
    """
    n_places = n_blocks + n_blocks % 2
    pairs = [(i, i) for i in range(n_blocks)]
    latest = list(range(n_places))
    for turn in range(n_places - 1):
        shift = turn * (n_places // 2)
        others = [(shift + place) % (n_places - 1) for place in range(n_places - 1)]
        meeting = [(n_places - 1, others[0])]
        meeting += [(others[i], others[-i]) for i in range(1, n_places // 2)]
        meeting.sort(key=lambda pair: max(latest[pair[0]], latest[pair[1]]))
        for at, pair in enumerate(meeting):
            latest[pair[0]] = latest[pair[1]] = at
        pairs += [(min(pair), max(pair)) for pair in meeting if max(pair) < n_blocks]
    return pairs


def tiles_between(
    queries: PackedRows, references: PackedRows, one: range, other: range, shape: TileShape
) -> Tiles:
    """The tiles of some queries and some references, which begin with whole panels."""
    first, last = one.start // shape.rows, math.ceil(one.stop / shape.rows)
    left, right = other.start // shape.cols, math.ceil(other.stop / shape.cols)
    return Tiles(
        address_of(shape),
        queries.panels[first:last],
        references.panels[left:right],
        queries.norm[first * shape.rows : last * shape.rows],
        references.norm[left * shape.cols : right * shape.cols],
        len(one),
        len(other),
    )
