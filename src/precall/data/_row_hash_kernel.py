"""The loop that hashes rows; what it computes is said in ``row_hashes``."""

import numpy as np

from precall.runtime.compiling import njit


@njit(cache=True, nogil=True)
def hash_words(words, factors):
    """Sum mixed words of each row, each weighted by an odd factor of its column, modulo 2**64."""
    half = np.uint64(32)
    hashes = np.zeros(len(words), np.uint64)
    for i in range(len(words)):
        total = np.uint64(0)
        for j in range(words.shape[1]):
            mixed = (words[i, j] ^ (words[i, j] >> half)) * factors[j]
            mixed = (mixed ^ (mixed >> half)) * np.uint64(0xD6E8FEB86659FD93)
            total += mixed ^ (mixed >> half)
        hashes[i] = total
    return hashes
