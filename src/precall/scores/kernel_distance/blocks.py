"""Kernel distances of many blocks of the same samples, from one kernel matrix."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.engines.protocol import Session
from precall.runtime.threads import in_threads, single_threaded_libraries
from precall.scores.kernel_distance.subsets import along, central

Floats = NDArray[np.float64]
Members = tuple[NDArray[np.intp], NDArray[np.intp]]  # of real, of generated

_ROWS_AT_A_TIME = 128


def kernel_distances_of_blocks(
    session: Session, sets: tuple[FeatureSet, FeatureSet], blocks: Sequence[Members]
) -> Floats:
    """Unbiased MMD² with the kernel (xᵀy/d + 1)³ of each block, (n_blocks,).

    With B the matrix that says which sample is in which block, the kernel K of all samples sums to
    the diagonal of BᵀKB over the pairs of each block.
    """
    d = sets[0].n_features
    center = central(*(side.rows for side in sets))
    constant = float(center @ center) + d
    sides = [session.operand(side.rows, center, np.float64) for side in sets]
    offsets = [along(side.rows, center) for side in sets]
    members = []
    for c, side in enumerate(sides):
        of_class = np.zeros((len(side), len(blocks)))
        for b, block in enumerate(blocks):
            of_class[block[c], b] = 1.0
        members.append(of_class)

    def sums(c: int, other: int) -> Floats:
        """Sum the kernel, less what cancels, over pairs of different samples in each block."""

        def of_rows(start: int) -> Floats:
            part = slice(start, start + _ROWS_AT_A_TIME)
            kernel = session.products(sides[c], part, sides[other])
            kernel += offsets[c][part, None] + offsets[other]
            kernel *= kernel * (kernel + 3.0 * constant) + 3.0 * constant**2
            if c == other:
                kernel[np.arange(len(kernel)), np.arange(start, start + len(kernel))] = 0.0
            return np.asarray(np.einsum("ib,ib->b", kernel @ members[other], members[c][part]))

        parts = in_threads(of_rows, range(0, len(sides[c]), _ROWS_AT_A_TIME), session.threads)
        return np.asarray(np.sum(parts, axis=0))

    sizes = [of_class.sum(axis=0) for of_class in members]
    with single_threaded_libraries():
        within = [sums(c, c) / (sizes[c] * (sizes[c] - 1)) for c in (0, 1)]
        between = sums(0, 1) / (sizes[0] * sizes[1])
    return np.asarray((within[0] + within[1] - 2 * between) / float(d) ** 3)
