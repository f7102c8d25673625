"""Scores of random blocks of the samples."""

from precall.neighbors.blocks.distance_table import DistanceTable
from precall.neighbors.blocks.one_sweep import BlockPlan, BlockStatistics, measure_blocks
from precall.neighbors.blocks.recomputed import (
    Division,
    RecomputedBlocks,
    measure_blocks_again,
    n_in_blocks,
)

__all__ = [
    "BlockPlan",
    "BlockStatistics",
    "DistanceTable",
    "Division",
    "RecomputedBlocks",
    "measure_blocks",
    "measure_blocks_again",
    "n_in_blocks",
]
