"""Scores of blocks that are measured block by block, where no single sweep tells them all.

Of at most 4 000 samples together, which bounds the time, as many of each class as their sizes are
to each other; a variance over N of n samples is that of all times N/n as far as it is due to single
samples, and (N/n)² as far as it is due to pairs.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.neighbors.blocks.partitions import Partitions

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Halves = NDArray[np.float64]  # (n_partitions, 2)
Quarters = NDArray[np.float64]  # (n_partitions, 4)
Members = tuple[NDArray[np.intp], NDArray[np.intp]]  # of real, of generated

N_PARTITIONS = 32
_MOST_SAMPLES = 4000  # of both classes
_HALVES = 2
_QUARTERS = 4


def n_in_blocks(n: int, m: int) -> tuple[int, int]:
    """Return how many samples of each class are divided."""
    share = min(1.0, _MOST_SAMPLES / (n + m))  # scores depend on n/m
    return max(1, round(share * n)), max(1, round(share * m))


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
        sizes = n_in_blocks(*map(len, sets))
        few = _few(sets[0], sizes[0], (seed, 8, 0)), _few(sets[1], sizes[1], (seed, 8, 1))
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


def by_partition(values: NDArray[np.float64]) -> tuple[Halves, Quarters]:
    """Arrange a value of every block by partitions."""
    blocks = values.reshape(N_PARTITIONS, _HALVES + _QUARTERS)
    return blocks[:, :_HALVES], blocks[:, _HALVES:]


def _few(side: FeatureSet, size: int, seed: tuple[int, ...]) -> FeatureSet:
    """Choose some of the samples, or all."""
    if len(side) <= size:
        return side
    chosen = np.random.default_rng(seed).choice(len(side), size, replace=False)
    return replace(side, rows=side.select(np.sort(chosen)))
