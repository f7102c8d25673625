"""Numbers that tell rows, and whole sets, apart: the same in every process and for any shards.

A row's hash depends on its values alone, as float64, so that equal rows of float32 and of float64
have the same. A set's fingerprint is a sum over its rows, each mixed with its place: shards add up,
in any order. Neither is meant to withstand somebody who constructs collisions.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_LANES = (0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7)
_WORD = 2**64


def hash_rows(rows: NDArray[Any]) -> Hashes:
    """Hash each row of a tile: equal where all values are, and else only by a freak of chance."""
    from precall.data._row_hash_kernel import hash_words

    values = rows.astype(np.float64, order="C") + 0.0  # -0.0 and 0.0 are one value
    return np.asarray(hash_words(values.view(np.uint64), column_factors(rows.shape[1])))


def column_factors(d: int) -> Hashes:
    """Return the odd numbers that the words of each column are multiplied by, (d,)."""
    columns = np.arange(1, d + 1, dtype=np.uint64)
    return _mix(columns * np.uint64(_GOLDEN)) | np.uint64(1)


def sum_words(rows: NDArray[Any]) -> Hashes:
    """Sum the words of each row: enough to notice at every reading that a file has changed."""
    words = np.ascontiguousarray(rows).view(np.uint32)
    return np.asarray(words.sum(axis=1, dtype=np.uint64))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a set of rows, in their order, is known by."""

    n: int
    lanes: tuple[int, int]  # sums of mixed hashes, modulo 2**64

    @classmethod
    def of(cls, hashes: Hashes, first: int = 0) -> Self:
        """Take the fingerprint of rows whose first one stands at place ``first``."""
        places = np.arange(first, first + len(hashes), dtype=np.uint64)
        lanes = (
            int(np.sum(_mix(hashes + _mix(places * np.uint64(_GOLDEN) + np.uint64(lane)))))
            for lane in _LANES
        )
        return cls(len(hashes), tuple(lanes))  # type: ignore[arg-type]

    def merge(self, other: Self) -> Self:
        """Combine with the fingerprint of other rows of the same set."""
        lanes = ((a + b) % _WORD for a, b in zip(self.lanes, other.lanes, strict=True))
        return type(self)(self.n + other.n, tuple(lanes))  # type: ignore[arg-type]

    def text(self, n_features: int, dtype: str) -> str:
        """Write it down, together with the shape and the precision of the rows."""
        lanes = "".join(f"{lane:016x}" for lane in self.lanes)
        return hashlib.sha256(f"{self.n}x{n_features} {dtype} {lanes}".encode()).hexdigest()[:32]


def _mix(words: Hashes) -> Hashes:
    """Spread every bit over the whole word (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
