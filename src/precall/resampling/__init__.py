"""Scores of random blocks of the samples."""

from precall.resampling.blocks import BlockPlan, BlockStatistics, measure_blocks
from precall.resampling.distance_table import DistanceTable
from precall.resampling.recomputed import (
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
