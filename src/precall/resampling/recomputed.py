"""Scores of blocks that are measured block by block, where no single sweep tells them all.

Of at most 2 000 samples a class, which bounds the time; a variance over N of n samples is that of
all times N/n as far as it is due to single samples, and (N/n)² as far as it is due to pairs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from precall.features import FeatureSet, Rows
from precall.neighbors import CrossPlan, NeighborStatistics
from precall.parallel import in_threads, single_threaded_libraries
from precall.resampling.distance_table import DistanceTable
from precall.resampling.partitions import Partitions

__all__ = ["RecomputedBlocks", "measure_blocks_again", "n_in_blocks"]

Sets = tuple[FeatureSet, FeatureSet]  # real, generated
Blocks = NDArray[np.float64]
Measure = Callable[[Sets, NeighborStatistics | None], Mapping[str, float]]

N_PARTITIONS = 32
_MOST_SAMPLES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class RecomputedBlocks:
    """A score of every block of every partition."""

    halves: Blocks  # (n_partitions, 2)
    quarters: Blocks  # (n_partitions, 4)


def n_in_blocks(n: int) -> int:
    """Samples of a class that are divided."""
    return min(n, _MOST_SAMPLES)


def measure_blocks_again(
    sets: Sets,
    plan: CrossPlan | None,
    measure: Measure,
    seed: int,
    threads: int,
    report: Callable[[int, int], None],
) -> dict[str, RecomputedBlocks]:
    """Measure scores of all halves and quarters of random partitions of both sets.

    Which samples are divided, and how, depends on the size of a set and the seed alone.

    Parameters
    ----------
    plan
        What to find out about every block, from one table of distances; None for nothing.
    measure
        Returns the scores of two sets by name, given what was found; called from several threads.
    report
        Called with the number of finished partitions and of all.
    """
    few = _few(sets[0], (seed, 8, 0)), _few(sets[1], (seed, 8, 1))
    drawn = [Partitions.draw(len(side), 1, (seed, c)) for c, side in enumerate(few)]
    labels = [partitions.labels() for partitions in drawn]  # each (n, 64): the quarter
    table = DistanceTable.of(few, threads) if plan is not None else None

    def of_block(s: int, b: int, *, quarters: bool) -> Mapping[str, float]:
        real, generated = (
            np.flatnonzero(of_class[:, s] % (4 if quarters else 2) == b) for of_class in labels
        )
        block = (
            replace(few[0], rows=few[0].select(real)),
            replace(few[1], rows=few[1].select(generated)),
        )
        return measure(block, table.statistics(real, generated, plan) if table and plan else None)

    def of_partition(s: int) -> list[list[Mapping[str, float]]]:
        found = [
            [of_block(s, b, quarters=quarters) for b in range(4 if quarters else 2)]
            for quarters in (False, True)
        ]
        report(s + 1, N_PARTITIONS)
        return found

    with single_threaded_libraries():
        found = in_threads(of_partition, range(N_PARTITIONS), threads)
    return {
        name: RecomputedBlocks(
            np.array([[of[name] for of in halves] for halves, _ in found]),
            np.array([[of[name] for of in quarters] for _, quarters in found]),
        )
        for name in found[0][0][0]
    }


def _few(side: FeatureSet, seed: tuple[int, ...]) -> FeatureSet:
    """Bring some of the samples, or all, into memory."""
    if len(side) <= _MOST_SAMPLES:
        return side
    chosen = np.random.default_rng(seed).choice(len(side), _MOST_SAMPLES, replace=False)
    return replace(side, rows=Rows(side.select(np.sort(chosen)).tile(0, _MOST_SAMPLES)))
