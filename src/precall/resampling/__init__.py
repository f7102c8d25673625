"""Scores of random blocks of the samples."""

from precall.resampling.blocks import BlockPlan, BlockStatistics, measure_blocks
from precall.resampling.recomputed import measure_blocks_again, n_in_blocks

__all__ = [
    "BlockPlan",
    "BlockStatistics",
    "measure_blocks",
    "measure_blocks_again",
    "n_in_blocks",
]
