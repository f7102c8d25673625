"""Scores of all blocks of all partitions, from one look at the distances.

A sample y is in the k-ball of x within a block if both are in it and fewer than k of x's nearer
neighbours are. So the neighbours of x, and for each y how many of them are nearer, tell the scores
of every block; no distance is computed twice. Unlike the scores themselves these need no exact
decision on ties, so that plain matrix products serve.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.common_mean import centred, float32_tells_neighbors_apart
from precall.data.feature_sets import FeatureSet
from precall.neighbors.blocks.partitions import Partitions
from precall.runtime.threads import in_threads, single_threaded_libraries

__all__ = ["BlockPlan", "BlockStatistics", "measure_blocks"]

Role = Literal["real", "generated"]
Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Words = NDArray[np.uint64]

_TILE_BYTES = 8 * 2**20
_SPARE_DEVIATIONS = 4.0
_QUARTER = 0.25
_CHUNKS_PER_THREAD = 4


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """What is wanted of every block."""

    ks: frozenset[int] = frozenset()  # of own balls: who holds, and is held by, whom
    densities: frozenset[int] = frozenset()  # of real balls whose samples are counted
    covers: frozenset[tuple[int, int]] = frozenset()  # k′ of the ball, k that it has to hold

    @classmethod
    def union(cls, plans: Sequence[Self]) -> Self:
        """Return one plan that answers all."""
        return cls(
            frozenset[int]().union(*(plan.ks for plan in plans)),
            frozenset[int]().union(*(plan.densities for plan in plans)),
            frozenset[tuple[int, int]]().union(*(plan.covers for plan in plans)),
        )

    @property
    def every_k(self) -> list[int]:
        """Each k of a ball, smallest first."""
        return sorted(self.ks | self.densities | {k for k, _ in self.covers})

    def without_densities(self) -> Self:
        """Return the plan for generated balls: density counts real ones alone."""
        return replace(self, ks=self.ks or self.densities, densities=frozenset())

    def depth(self, n: int) -> int:
        """Neighbours of n samples to keep, so that a quarter of them nearly always has k."""
        k, p = max(self.every_k), _QUARTER
        return min(n - 1, math.ceil(k / p + _SPARE_DEVIATIONS * math.sqrt(k * (1 - p)) / p))

    def fits(self, n: int, m: int) -> bool:
        """Whether every quarter has more samples than neighbours are asked for."""
        return min(n, m) // 4 > max(self.every_k) + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """What the own balls of one class found, in lanes: halves, then quarters."""

    holds: dict[int, Words]  # k -> (n, lanes)
    held: dict[int, Words]  # k -> (n of the other class, lanes)
    cover: dict[tuple[int, int], Words]  # -> (n, lanes)
    totals: dict[int, NDArray[np.int64]]  # k -> (lanes, 64, 4)


@dataclass(frozen=True, slots=True, eq=False)
class BlockStatistics:
    """Scores of every block; each an array (n_partitions, 2) of halves or (n_partitions, 4)."""

    partitions: tuple[Partitions, Partitions]  # of real, of generated
    sides: tuple[_Side, _Side]  # balls of real, of generated

    def held(self, of: Role, k: int, *, quarters: bool) -> NDArray[np.float64]:
        """Share of a class that is in some k-ball of the other."""
        c = int(of == "generated")
        return self._share(c, self.sides[1 - c].held[k], quarters=quarters)

    def holds(self, of: Role, k: int, *, quarters: bool) -> NDArray[np.float64]:
        """Share of a class whose k-ball holds some sample of the other."""
        c = int(of == "generated")
        return self._share(c, self.sides[c].holds[k], quarters=quarters)

    def cover(self, of: Role, k_prime: int, k: int, *, quarters: bool) -> NDArray[np.float64]:
        """Share of a class whose k′-ball holds k samples of the other."""
        c = int(of == "generated")
        return self._share(c, self.sides[c].cover[k_prime, k], quarters=quarters)

    def density(self, k: int, *, quarters: bool) -> NDArray[np.float64]:
        """Mean over generated of the real k-balls around it, over k."""
        lanes = self._lanes(quarters=quarters)
        totals = self.sides[0].totals[k][lanes].reshape(-1, 4)[:, : 4 if quarters else 2]
        return np.asarray(totals / self.partitions[1].sizes(quarters=quarters) / k)

    def _share(self, c: int, words: Words, *, quarters: bool) -> NDArray[np.float64]:
        return self.partitions[c].share(words[:, self._lanes(quarters=quarters)], quarters=quarters)

    def _lanes(self, *, quarters: bool) -> slice:
        n_words = self.partitions[0].low.shape[1]
        return slice(n_words, 2 * n_words) if quarters else slice(0, n_words)


def measure_blocks(
    sets: Sets, plan: BlockPlan, *, n_words: int, seed: int, threads: int
) -> BlockStatistics:
    """Score all blocks of 64 ``n_words`` random partitions of both sets.

    The partitions of a set depend on its size and the seed alone, so that two evaluations with the
    same real samples divide them alike.
    """
    partitions = tuple(
        Partitions.draw(len(side), n_words, (seed, c)) for c, side in enumerate(sets)
    )
    rows = _rows(sets)
    sides = [
        _measure_side(rows[c], rows[1 - c], partitions[c], partitions[1 - c], side_plan, threads)
        for c, side_plan in enumerate((plan, plan.without_densities()))
    ]
    return BlockStatistics((partitions[0], partitions[1]), (sides[0], sides[1]))


def _rows(sets: Sets) -> list[NDArray[Any]]:
    """Both sets around their common mean, in float32 if that tells neighbours apart."""
    n = len(sets[0])
    is_double = "float64" in (sets[0].dtype, sets[1].dtype)
    rows = centred(sets, np.float32)
    if is_double and not float32_tells_neighbors_apart(rows):
        rows = centred(sets, np.float64)
    return [rows[:n], rows[n:]]


def _measure_side(
    own: NDArray[Any],
    other: NDArray[Any],
    own_partitions: Partitions,
    other_partitions: Partitions,
    plan: BlockPlan,
    threads: int,
) -> _Side:
    from precall.neighbors.blocks.sweep_kernels import Told, Wanted, nearest_of_rows, relate_blocks

    ks, covers = plan.every_k, sorted(plan.covers)
    depth = plan.depth(len(own))
    n_lanes = 2 * own_partitions.low.shape[1]
    holds = np.zeros((len(ks), len(own), n_lanes), np.uint64)
    cover = np.zeros((len(covers), len(own), n_lanes), np.uint64)
    wanted = Wanted(
        np.array(ks),
        np.array([k in plan.ks for k in ks]),
        np.array([k in plan.densities for k in ks]),
        np.array([(ks.index(k), n) for k, n in covers], np.int64).reshape(-1, 2),
    )
    words = tuple((p.low, p.high) for p in (own_partitions, other_partitions))
    own_norms, other_norms = (np.einsum("ij,ij->i", a, a) for a in (own, other))

    def work(parts: Sequence[slice]) -> tuple[Words, NDArray[np.int64]]:
        held = np.zeros((len(ks), len(other), n_lanes), np.uint64)
        totals = np.zeros((len(ks), n_lanes, 64, 4), np.int64)
        height = max(part.stop - part.start for part in parts)
        products = np.empty((height, max(len(own), len(other))), own.dtype)  # used again and again
        for part in parts:
            rows = own[part]
            places = np.empty((len(rows), depth), np.int64)
            distances = np.empty((len(rows), depth), own.dtype)
            dots = np.matmul(rows, own.T, out=products[: len(rows), : len(own)])
            nearest_of_rows(dots, own_norms, part.start, depth, places, distances)
            dots = np.matmul(rows, other.T, out=products[: len(rows), : len(other)])
            relate_blocks(
                dots, other_norms, part.start, places, distances, *words,
                wanted, Told(holds[:, part], held, cover[:, part], totals),
            )  # fmt: skip
        return held, totals

    parts = list(_parts(len(own), max(len(own), len(other)), own.dtype))
    n_chunks = min(len(parts), _CHUNKS_PER_THREAD * threads)
    chunks = [parts[i::n_chunks] for i in range(n_chunks)]
    with single_threaded_libraries():
        found = in_threads(work, chunks, threads)
    held = functools.reduce(np.bitwise_or, (part for part, _ in found))
    totals = np.sum([part for _, part in found], axis=0)
    return _Side(
        dict(zip(ks, holds, strict=True)),
        dict(zip(ks, held, strict=True)),
        dict(zip(covers, cover, strict=True)),
        dict(zip(ks, totals, strict=True)),
    )


def _parts(n: int, n_columns: int, dtype: np.dtype[Any]) -> Iterator[slice]:
    size = max(1, _TILE_BYTES // (n_columns * dtype.itemsize))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
