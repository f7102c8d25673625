"""Scores of random blocks of the samples, all from one look at the distances."""

from precall.resampling.blocks import BlockPlan, BlockStatistics, measure_blocks
from precall.resampling.partitions import Partitions

__all__ = ["BlockPlan", "BlockStatistics", "Partitions", "measure_blocks"]
