"""Sums over a tile of the kernel matrix while it is in the cache."""

import numpy as np

from precall.runtime.compiling import njit


@njit(cache=True, nogil=True, allocates=False, fastmath={"reassoc", "contract", "nsz"})
def sum_of_cubes(products, of_rows, of_columns, constant, above_diagonal):
    """Sum (constant + u)³ − constant³ in float64, where u = products + of_rows + of_columns.

    If asked, only where row < column. Added in whatever order is fastest, which is the same
    whenever the shape is.
    """
    total = 0.0
    linear, quadratic = 3.0 * constant * constant, 3.0 * constant
    for i in range(products.shape[0]):
        last_left_out = i if above_diagonal else -1
        in_row = 0.0
        for j in range(products.shape[1]):
            u = np.float64(products[i, j]) + (of_rows[i] + of_columns[j])
            cube = u * (linear + u * (quadratic + u))
            # Chosen and not skipped: loops of different lengths are slow in SIMD.
            in_row += cube if j > last_left_out else 0.0
        total += in_row
    return total
