"""Lists of different lengths, one behind the other: most rows have little to tell of a piece."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precall.engines.answers import Floats, Nearest

Lists = tuple[NDArray[np.uint8], Floats]  # how long each is, and what is in them


def listed(nearest: Nearest) -> Lists:
    """List what is known of each row."""
    is_known = np.isfinite(nearest.squared)
    sizes = np.count_nonzero(is_known, axis=1).astype(np.uint8)  # all workers hold many of these
    return sizes, nearest.squared[is_known]


def unlisted(lists: Lists, depth: int) -> Nearest:
    """Return lists of the same length again."""
    sizes, values = lists
    squared = np.full((len(sizes), depth), np.inf)
    squared[np.arange(depth) < sizes[:, None]] = values
    return Nearest(squared)


def merged(parts: Sequence[Lists], depth: int) -> Nearest:
    """Merge what the same rows found in several pieces."""
    return Nearest.among(
        np.concatenate([unlisted(part, depth).squared for part in parts], axis=1), depth
    )
