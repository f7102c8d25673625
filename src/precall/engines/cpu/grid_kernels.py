"""The loops that write rows on a grid; what they compute is said in ``grid``."""

import math

import numpy as np

from precall.runtime.compiling import njit

_ROUNDING = 2.0**-53


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def row_lengths(rows, center):
    """‖x − c‖ of each row."""
    n, d = rows.shape
    lengths = np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(d):
            offset = np.float64(rows[i, j]) - center[j]
            total += offset * offset
        lengths[i] = math.sqrt(total)
    return lengths


@njit(cache=True, nogil=True)
def place_rows(rows, center, step, longest, is_exact_step, q, norm, error, is_far, lengths):
    """Write each row as c + s·q + e, and bound ‖e‖.

    Parameters
    ----------
    longest
        Length in steps up to which rows fit; longer ones are shrunk to it and marked as far.
    is_exact_step
        Whether c and s·q, and so their sums, are multiples of the step that float64 adds without
        rounding.
    q, norm, error, is_far, lengths
        Output: (n, d), and (n,) each; the error in steps, rounded up.
    """
    n, d = rows.shape
    lengths_of_rows, offsets = row_lengths(rows, center), np.empty(d)
    for i in range(n):
        lengths[i] = lengths_of_rows[i]
        length = lengths[i] / step
        is_far[i] = not length <= longest
        shrink = longest / length if is_far[i] else 1.0
        squared_norm, squared_error, exact = 0, 0.0, is_exact_step
        for j in range(d):
            offsets[j] = (np.float64(rows[i, j]) - center[j]) / step
        for j in range(d):
            rounded = np.rint(offsets[j] * shrink)
            q[i, j] = np.int16(rounded)
            squared_norm += np.int64(rounded * rounded)
            squared_error += (offsets[j] - rounded) * (offsets[j] - rounded)
            exact &= np.float64(rows[i, j]) == center[j] + step * rounded
        norm[i] = squared_norm
        if exact:
            error[i] = 0.0
            continue
        # Rounding of the offset and of this very sum, and whatever underflowed in them.
        error[i] = math.sqrt(squared_error) * (1.0 + (d + 8) * _ROUNDING)
        error[i] += 4.0 * _ROUNDING * length + math.sqrt(d) * 2.0**-500
