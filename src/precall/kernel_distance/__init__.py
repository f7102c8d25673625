"""Kernel distance: what a cubic kernel can tell apart."""

from precall.kernel_distance.subsets import KernelDistance, kernel_distance

__all__ = ["KernelDistance", "kernel_distance"]
