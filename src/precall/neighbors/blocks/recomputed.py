"""Scores of blocks that are measured block by block, where no single sweep tells them all.

Of at most 2 000 samples a class, which bounds the time; a variance over N of n samples is that of
all times N/n as far as it is due to single samples, and (N/n)² as far as it is due to pairs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.neighbors.blocks.partitions import Partitions
from precall.runtime.threads import in_threads, single_threaded_libraries

__all__ = ["Division", "RecomputedBlocks", "measure_blocks_again", "n_in_blocks"]

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Members = tuple[NDArray[np.intp], NDArray[np.intp]]  # of real, of generated

N_PARTITIONS = 32
_MOST_SAMPLES = 2000
_HALVES = 2
_QUARTERS = 4


@dataclass(frozen=True, slots=True, eq=False)
class RecomputedBlocks:
    """A score of every block of every partition."""

    halves: NDArray[np.float64]  # (n_partitions, 2)
    quarters: NDArray[np.float64]  # (n_partitions, 4)


def n_in_blocks(n: int) -> int:
    """Samples of a class that are divided."""
    return min(n, _MOST_SAMPLES)


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """Some samples of both sets, and the halves and quarters that random partitions make of them.

    Which samples, and how they are divided, depends on the size of a set and the seed alone.
    """

    sets: Sets
    blocks: list[Members]  # of each partition two halves, then four quarters

    @classmethod
    def draw(cls, sets: Sets, seed: int) -> Self:
        """Choose the samples and divide them."""
        few = _few(sets[0], (seed, 8, 0)), _few(sets[1], (seed, 8, 1))
        drawn = [Partitions.draw(len(side), 1, (seed, c)) for c, side in enumerate(few)]
        real, generated = (partitions.labels() for partitions in drawn)  # (n, 64): the quarter
        blocks = [
            (np.flatnonzero(real[:, s] % n == b), np.flatnonzero(generated[:, s] % n == b))
            for s in range(N_PARTITIONS)
            for n in (_HALVES, _QUARTERS)
            for b in range(n)
        ]
        return cls(few, blocks)

    def samples(self, members: Members) -> Sets:
        """Return those of a block."""
        real, generated = (
            replace(side, rows=side.select(chosen))
            for side, chosen in zip(self.sets, members, strict=True)
        )
        return real, generated


def measure_blocks_again(
    division: Division,
    measure: Callable[[int], Mapping[str, float]],
    threads: int,
    report: Callable[[int, int], None],
) -> dict[str, RecomputedBlocks]:
    """Measure scores of all blocks.

    Parameters
    ----------
    measure
        Returns the scores of a block by name; called from several threads.
    report
        Called with the number of finished blocks and of all.
    """
    n_blocks = len(division.blocks)

    def of_block(b: int) -> Mapping[str, float]:
        found = measure(b)
        report(b + 1, n_blocks)
        return found

    with single_threaded_libraries():
        found = in_threads(of_block, range(n_blocks), threads)
    values = {
        name: np.array([of[name] for of in found]).reshape(N_PARTITIONS, _HALVES + _QUARTERS)
        for name in found[0]
    }
    return {
        name: RecomputedBlocks(of_all[:, :_HALVES], of_all[:, _HALVES:])
        for name, of_all in values.items()
    }


def _few(side: FeatureSet, seed: tuple[int, ...]) -> FeatureSet:
    """Bring some of the samples, or all, into memory."""
    if len(side) <= _MOST_SAMPLES:
        return side
    chosen = np.random.default_rng(seed).choice(len(side), _MOST_SAMPLES, replace=False)
    return replace(side, rows=Rows(side.select(np.sort(chosen)).tile(0, _MOST_SAMPLES)))
