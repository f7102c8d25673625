"""Mapped files: what was read of one stays in the memory of the process until somebody lets go."""

import mmap
from typing import Any

import numpy as np


def release_pages(array: Any) -> None:
    """Let go of what was read of a file; the system reads it again when it is needed.

    Only of files that are mapped for reading: pages that were written to would be lost. Other
    arrays are left alone, and so are those of systems that cannot be told.
    """
    is_mapped = isinstance(array, np.memmap) and array.mode == "r"
    if is_mapped and isinstance(array.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.base.madvise(mmap.MADV_DONTNEED)
