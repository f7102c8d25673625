"""Scores of all blocks of all partitions, from one look at the distances.

A sample y is in the k-ball of x within a block if both are in it and fewer than k of x's nearer
neighbours are. So the neighbours of x, and for each y how many of them are nearer, tell the scores
of every block; no distance is computed twice. Unlike the scores themselves these need no exact
decision on ties, so that plain matrix products serve.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.data.frames import Frame
from precall.engines.answers import Vicinity
from precall.engines.protocol import Operand, Session
from precall.neighbors.blocks.partitions import Partitions
from precall.neighbors.statistics import ROLES, CrossPlan, Role
from precall.runtime.threads import in_threads, single_threaded_libraries

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Words = NDArray[np.uint64]
Shares = NDArray[np.float64]  # (n_partitions, 2) of halves or (n_partitions, 4) of quarters

_N_WORDS = 2  # of 64 partitions
_SPARE_DEVIATIONS = 4.0
_QUARTER = 0.25
_CHUNKS_PER_THREAD = 4


@dataclass(frozen=True, slots=True, eq=False)
class _BallsFound:
    """What the own balls of one class found, in lanes: halves, then quarters."""

    holds: dict[int, Words]  # k -> (n, lanes)
    held: dict[int, Words]  # k -> (n of the other class, lanes)
    cover: dict[tuple[int, int], Words]  # -> (n, lanes)
    totals: dict[int, NDArray[np.int64]]  # k -> (lanes, 64, 4)
    filled: dict[int, NDArray[np.int64]]  # k -> (lanes, 64, 4)


@dataclass(frozen=True, slots=True, eq=False)
class BlockStatistics:
    """What scores of every block are read off, either of halves or of quarters."""

    partitions: tuple[Partitions, Partitions]  # of real, of generated
    found: tuple[_BallsFound, _BallsFound]  # by balls of real, of generated
    is_quartered: bool = False

    @property
    def quarters(self) -> Self:
        """The same of quarters."""
        return replace(self, is_quartered=True)

    def held(self, role: Role, k: int) -> Shares:
        """Share of a class that is in some k-ball of the other."""
        c = ROLES.index(role)
        return self._share(c, self.found[1 - c].held[k])

    def holds(self, role: Role, k: int) -> Shares:
        """Share of a class whose k-ball holds some sample of the other."""
        c = ROLES.index(role)
        return self._share(c, self.found[c].holds[k])

    def cover(self, role: Role, k_prime: int, k: int) -> Shares:
        """Share of a class whose k′-ball holds k samples of the other."""
        c = ROLES.index(role)
        return self._share(c, self.found[c].cover[k_prime, k])

    def balls_around(self, role: Role, k: int) -> Shares:
        """Mean over a class of the other's k-balls around each sample."""
        c = ROLES.index(role)
        return self._mean(c, self.found[1 - c].totals[k])

    def filling(self, role: Role, k: int) -> Shares:
        """Mean over a class of the other's samples in each k-ball, at most k, over k."""
        c = ROLES.index(role)
        return self._mean(c, self.found[c].filled[k]) / k

    def _mean(self, c: int, totals: NDArray[np.int64]) -> Shares:
        """Totals of every block over its size."""
        by_block = totals[self._lanes].reshape(-1, 4)
        sizes = self.partitions[c].sizes(quarters=self.is_quartered)
        return np.asarray(by_block[:, : 4 if self.is_quartered else 2] / sizes)

    def _share(self, c: int, words: Words) -> Shares:
        return self.partitions[c].share(words[:, self._lanes], quarters=self.is_quartered)

    @property
    def _lanes(self) -> slice:
        n_words = self.partitions[0].low.shape[1]
        return slice(n_words, 2 * n_words) if self.is_quartered else slice(0, n_words)


def fits_in_blocks(plan: CrossPlan, n: int, m: int) -> bool:
    """Whether every quarter has more samples than neighbours are asked for."""
    return min(n, m) // 4 > max(plan.every_k) + 1


def measure_blocks(session: Session, sets: Sets, plan: CrossPlan, seed: int) -> BlockStatistics:
    """Measure all blocks of 128 random partitions of both sets.

    The partitions of a set depend on its size and the seed alone, so that two evaluations with the
    same real samples divide them alike.
    """
    partitions = in_threads(
        lambda c: Partitions.draw(len(sets[c]), _N_WORDS, (seed, c)), range(2), session.threads
    )
    sides = _sides(session, sets)
    found = [
        _measure_balls(
            session, sides[c], sides[1 - c], partitions[c], partitions[1 - c], plan, role
        )
        for c, role in enumerate(ROLES)
    ]
    return BlockStatistics((partitions[0], partitions[1]), (found[0], found[1]))


@dataclass(slots=True, eq=False)
class _Side:
    """The samples of one class; ready for products once somebody needs them."""

    rows: Rows
    itemsize: int
    make: Callable[[], Operand]
    _operand: Operand | None = None
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def operand(self) -> Operand:
        """For products."""
        with self._lock:
            if self._operand is None:
                self._operand = self.make()
            return self._operand


def _sides(session: Session, sets: Sets) -> list[_Side]:
    frame = Frame.around(sets, session.threads)
    is_double = "float64" in (sets[0].dtype, sets[1].dtype)
    is_fine = not is_double or frame.float32_tells_neighbors_apart(sets)
    dtype = np.float32 if is_fine else np.float64
    return [
        _Side(
            side.rows,
            np.dtype(dtype).itemsize,
            partial(session.operand, side.rows, frame.center, dtype, frame.exponent),
        )
        for side in sets
    ]


def _depth(plan: CrossPlan, n: int) -> int:
    """Neighbours of n samples to keep, so that a quarter of them nearly always has k."""
    k, p = max(plan.every_k), _QUARTER
    return min(n - 1, math.ceil(k / p + _SPARE_DEVIATIONS * math.sqrt(k * (1 - p)) / p))


def _measure_balls(
    session: Session,
    own: _Side,
    other: _Side,
    own_partitions: Partitions,
    other_partitions: Partitions,
    plan: CrossPlan,
    role: Role,
) -> _BallsFound:
    """Find whom the balls of one class hold, in every block."""
    from precall.neighbors.blocks.sweep_kernels import FoundInBlocks

    ks = list(plan.counted_ks(role))
    if not ks:
        return _BallsFound({}, {}, {}, {}, {})
    covers = sorted((k_prime, k) for of, k_prime, k in plan.covers if of == role)
    depth = _depth(plan, len(own))
    n_lanes = 2 * own_partitions.low.shape[1]
    holds = np.zeros((len(own), len(ks), n_lanes), np.uint64)
    cover = np.zeros((len(own), len(covers), n_lanes), np.uint64)
    wanted = _wanted(plan, role, ks, covers)
    words = tuple((p.low, p.high) for p in (own_partitions, other_partitions))

    held = np.zeros((len(ks), len(other), n_lanes), np.uint64)
    counted = np.zeros((2, len(ks), n_lanes, 64, 4), np.int64)
    lock = Lock()

    def work(parts: Sequence[slice]) -> None:
        held_by_parts, counted_of_parts = np.zeros_like(held), np.zeros_like(counted)
        look = _Look(session, own, other, depth)
        for part in parts:
            found = FoundInBlocks(holds[part], held_by_parts, cover[part], *counted_of_parts)
            look.relate(part, words, wanted, found)
            session.advance((part.stop - part.start) * (len(own) + len(other)))
        with lock:
            np.bitwise_or(held, held_by_parts, out=held)
            np.add(counted, counted_of_parts, out=counted)

    height = session.height(max(len(own), len(other)), own.itemsize)
    starts = range(0, len(own), height)
    parts = [slice(start, min(start + height, len(own))) for start in starts]
    n_chunks = min(len(parts), _CHUNKS_PER_THREAD * session.threads)
    chunks = [parts[i::n_chunks] for i in range(n_chunks)]
    with single_threaded_libraries():
        in_threads(work, chunks, session.threads)
    of_balls = holds.swapaxes(0, 1), held, *counted
    by_k = (dict(zip(ks, of_each, strict=True)) for of_each in of_balls)
    holds_by_k, held_by_k, totals, filled = by_k
    covered = dict(zip(covers, cover.swapaxes(0, 1), strict=True))
    return _BallsFound(holds_by_k, held_by_k, covered, totals, filled)


def _wanted(plan: CrossPlan, role: Role, ks: list[int], covers: list[tuple[int, int]]) -> Any:
    """What the kernels are to find."""
    from precall.neighbors.blocks.sweep_kernels import Wanted

    return Wanted(
        np.array(ks),
        np.array([(role, k) in plan.balls for k in ks]),
        np.array([(role, k) in plan.densities for k in ks]),
        np.array([(role, k) in plan.fillings for k in ks]),
        np.array([ks.index(k) for k, _ in covers], np.int64),
        np.array([n for _, n in covers], np.int64),
    )


class _Look:
    """Looks at one part of a class after the other, in room that is used again and again."""

    def __init__(self, session: Session, own: _Side, other: _Side, depth: int) -> None:
        self.session, self.own, self.other, self.depth = session, own, other, depth
        self._room: NDArray[Any] | None = None

    def relate(self, part: slice, words: Any, wanted: Any, found: Any) -> None:
        """Find whom the balls of a part hold."""
        from precall.neighbors.blocks.sweep_kernels import relate_blocks, relate_listed

        around = self._around(part)
        if around is not None:
            relate_listed(
                around.starts, around.columns, around.far, part.start,
                around.places, around.distances, *words, wanted, found,
            )  # fmt: skip
            return
        places, distances = self._nearest(part)
        dots, norms = self._products(part, self.other), self.other.operand.norms
        relate_blocks(dots, norms, part.start, places, distances, *words, wanted, found)

    def _around(self, part: slice) -> Vicinity | None:
        """Who is around a part, if that was found before or a device finds it."""
        known = self.session.listed(self.own.rows, part, self.other.rows, self.depth)
        if known is not None:
            return known
        return self.session.vicinity(self.own.operand, part, self.other.operand, self.depth)

    def _products(self, part: slice, others: _Side) -> NDArray[Any]:
        n, own = part.stop - part.start, self.own.operand
        if self._room is None:  # the first part is the tallest
            width = max(len(self.own), len(self.other))
            self._room = np.empty((n, width), own.norms.dtype)
        room = self._room[:n, : len(others)]
        return self.session.products(own, part, others.operand, out=room)

    def _nearest(self, part: slice) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The nearest others in their class, and how far these are less a constant."""
        from precall.neighbors.blocks.sweep_kernels import nearest_of_rows

        dots = self._products(part, self.own)
        shape = len(dots), self.depth
        places, distances = np.empty(shape, np.int64), np.empty(shape, dots.dtype)
        nearest_of_rows(dots, self.own.operand.norms, part.start, self.depth, places, distances)
        return places, distances
