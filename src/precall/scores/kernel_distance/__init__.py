"""Kernel distance: what a cubic kernel can tell apart."""

from precall.scores.kernel_distance.blocks import kernel_distances_of_blocks
from precall.scores.kernel_distance.subsets import N_SUBSETS, KernelDistance, kernel_distance

__all__ = ["N_SUBSETS", "KernelDistance", "kernel_distance", "kernel_distances_of_blocks"]
