"""Random partitions of a class into halves and quarters, as bits of words."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

WORD = 64
_AT_A_TIME = 4096  # samples whose bits are unpacked


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Many partitions at once; bit s of a sample's words says where partition s puts it.

    Quarters 0 and 2 make up the first half, 1 and 3 the second.
    """

    low: NDArray[np.uint64]  # (n, n_words) the lower bit of the quarter: the half
    high: NDArray[np.uint64]  # (n, n_words) the upper bit of the quarter

    @classmethod
    def draw(cls, n: int, n_words: int, seed: tuple[int, int]) -> Self:
        """Draw 64 balanced partitions a word."""
        rng = np.random.default_rng(seed)
        quarters = np.resize(np.arange(4, dtype=np.uint8), n)
        low, high = np.empty((2, n, n_words), np.uint64)
        for word in range(n_words):
            bits = np.stack([rng.permutation(quarters) for _ in range(WORD)], axis=1)
            low[:, word], high[:, word] = _pack(bits % 2)[:, 0], _pack(bits // 2)[:, 0]
        return cls(low, high)

    def share(self, flags: NDArray[np.uint64], *, quarters: bool) -> NDArray[np.float64]:
        """Share of each block with a bit set in ``flags`` (n, n_words): (n_partitions, 2 or 4)."""
        totals = np.zeros((WORD * flags.shape[1], 4 if quarters else 2), np.int64)
        for start in range(0, len(flags), _AT_A_TIME):
            rows = slice(start, start + _AT_A_TIME)
            is_set, labels = _unpack(flags[rows]), _unpack(self.low[rows])
            if quarters:
                labels = labels + 2 * _unpack(self.high[rows])
            for block in range(totals.shape[1]):
                totals[:, block] += np.sum(is_set * (labels == block), axis=0, dtype=np.int64)
        return totals / self.sizes(quarters=quarters)

    def labels(self) -> NDArray[np.uint8]:
        """Return the quarter of each sample in each partition, (n, n_partitions)."""
        return np.asarray(_unpack(self.low) + 2 * _unpack(self.high))

    def sizes(self, *, quarters: bool) -> NDArray[np.int64]:
        """Samples in each block; the same in every partition."""
        n = len(self.low)
        of_quarters = [len(range(q, n, 4)) for q in range(4)]
        if quarters:
            return np.array(of_quarters)
        return np.array([of_quarters[0] + of_quarters[2], of_quarters[1] + of_quarters[3]])


def _pack(bits: NDArray[Any]) -> NDArray[np.uint64]:
    packed = np.packbits(bits, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)


def _unpack(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    as_bytes = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(as_bytes, axis=1, bitorder="little")
