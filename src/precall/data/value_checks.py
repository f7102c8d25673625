"""What every value of a set is checked for, in one pass over its tiles."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.row_hashes import Hashes, hash_rows
from precall.errors import InputError

# Squared distances are summed in float64: beyond this magnitude they could overflow.
_LARGEST_MAGNITUDE = 1e150
# Values from here on are multiples of 2**-511, and so are their differences, whose squares are
# normal numbers: none vanishes, and none loses a digit. Values of float32 never come near.
SMALLEST_MAGNITUDE = 2.0**-459


@dataclass(slots=True, eq=False)
class ValueCheck:
    """What was seen of a set so far."""

    role: str
    _hashes: list[Hashes] = field(default_factory=list)
    _of_large: list[Hashes] = field(default_factory=list)  # of rows without their tiny values
    _first: NDArray[Any] | None = None
    _varies: NDArray[np.bool_] | None = None
    _alike: list[list[int]] = field(default_factory=list)  # features that were equal so far
    _n_rows: int = 0
    _n_bad: int = 0
    _first_bad: int = -1
    _largest: float = 0.0
    _largest_tiny: float = 0.0

    def add(self, tile: NDArray[Any]) -> None:
        """Look at more rows."""
        finite = np.isfinite(tile)
        if not finite.all():
            if self._n_bad == 0:
                self._first_bad = self._n_rows + int(np.argmin(finite.all(axis=1)))
            self._n_bad += int(np.count_nonzero(~finite))
        if self._first is None or self._varies is None:
            self._first, self._varies = tile[0], np.zeros(tile.shape[1], dtype=bool)
            self._alike = [list(range(tile.shape[1]))]
        self._alike = [part for group in self._alike for part in _equal_columns(tile, group)]
        self._varies |= (tile != self._first).any(axis=0)
        self._largest = max(self._largest, float(tile.max()), -float(tile.min()))
        hashes = hash_rows(tile)
        self._hashes.append(hashes)
        self._of_large.append(self._without_tiny(tile, hashes))
        self._n_rows += len(tile)

    @property
    def looks_at_columns(self) -> bool:
        """Whether some features were equal so far, so that more rows have to be seen."""
        return bool(self._alike) or self._n_rows == 0

    def add_known(self, hashes: Hashes, varies: NDArray[np.bool_], largest: float) -> None:
        """Take over what was found elsewhere of more rows: all finite, none of them tiny.

        Parameters
        ----------
        hashes
            As :func:`hash_rows` computes them.
        varies
            (d,) whether a feature differs from that of the first row of all.
        """
        self._hashes.append(hashes)
        self._of_large.append(hashes)
        self._varies = varies if self._varies is None else self._varies | varies
        self._largest = max(self._largest, largest)
        self._n_rows += len(hashes)

    def merge(self, other: Self) -> None:
        """Take over what another check has seen of the rows that follow."""
        if other._first is None or other._varies is None:
            return
        if self._first is None or self._varies is None:
            self._first, self._varies, self._alike = other._first, other._varies, other._alike
        else:
            self._varies = self._varies | other._varies | (other._first != self._first)
            group_of = {j: number for number, of in enumerate(other._alike) for j in of}
            self._alike = [
                part
                for of in self._alike
                for number in dict.fromkeys(group_of[j] for j in of if j in group_of)
                if len(part := [j for j in of if group_of.get(j) == number]) > 1
            ]
        if other._n_bad and not self._n_bad:
            self._first_bad = self._n_rows + other._first_bad
        self._n_bad += other._n_bad
        self._hashes += other._hashes
        self._of_large += other._of_large
        self._largest = max(self._largest, other._largest)
        self._largest_tiny = max(self._largest_tiny, other._largest_tiny)
        self._n_rows += other._n_rows

    def _without_tiny(self, tile: NDArray[Any], hashes: Hashes) -> Hashes:
        """Hash rows as if values too small to square were 0."""
        if tile.dtype == np.float32:
            return hashes
        is_tiny = (np.abs(tile) < SMALLEST_MAGNITUDE) & (tile != 0)
        if not is_tiny.any():
            return hashes
        self._largest_tiny = max(self._largest_tiny, float(np.abs(tile[is_tiny]).max()))
        return hash_rows(np.where(is_tiny, 0.0, tile))

    def finish(self) -> None:
        """Refuse values that distances cannot be computed of."""
        if self._n_bad:
            values_are = "value that is" if self._n_bad == 1 else "values that are"
            raise InputError(
                f"{self.role} holds {self._n_bad} {values_are} NaN or infinite, the first in row "
                f"{self._first_bad}. Drop these rows or mend the extractor."
            )
        if self._largest > _LARGEST_MAGNITUDE:
            raise InputError(
                f"{self.role} holds values up to {self._largest:.3g}; above "
                f"{_LARGEST_MAGNITUDE:g} squared distances overflow. Rescale the features."
            )
        if not self._largest_tiny:
            return
        n_alike = len(np.unique(self.row_hashes)) - len(np.unique(np.concatenate(self._of_large)))
        if n_alike:
            raise InputError(
                f"{self.role} holds {n_alike + 1} rows that differ only in values below "
                f"{SMALLEST_MAGNITUDE:.1g}, whose squared distances underflow to 0. "
                f"{self._how_to_rescale()}"
            )

    def _how_to_rescale(self) -> str:
        """Name a scale that small values do not vanish in, nor large ones overflow."""
        scale = max(self._largest_tiny, 10 * self._largest / _LARGEST_MAGNITUDE)
        if self._largest_tiny / scale < 1e6 * SMALLEST_MAGNITUDE:
            return (
                f"Beside values up to {self._largest:.3g} no scale suits them; leave out one or "
                "the other."
            )
        power = 10.0 ** math.floor(math.log10(scale))
        return f"Divide all features, of every set, by {power:.0e}, say."

    @property
    def row_hashes(self) -> Hashes:
        """One number a row, (n,)."""
        return np.concatenate(self._hashes)

    @property
    def n_constant(self) -> int:
        """Number of features with one value throughout."""
        return 0 if self._varies is None else int(np.count_nonzero(~self._varies))

    @property
    def n_copied(self) -> int:
        """Number of features that vary, but always as an earlier one does."""
        varies = self._varies
        return sum(len(of) - 1 for of in self._alike if varies is not None and varies[of[0]])


def _equal_columns(tile: NDArray[Any], columns: list[int]) -> Iterable[list[int]]:
    """Return groups of two or more columns that are equal in a tile."""
    groups: Iterable[list[int]] = [columns]
    for rows in (tile[:1], tile):  # nearly all differ in the first row already
        groups = [part for group in groups for part in _grouped(rows, group)]
    return groups


def _grouped(rows: NDArray[Any], columns: list[int]) -> Iterable[list[int]]:
    """Return groups of two or more columns that are equal in some rows."""
    groups: dict[bytes, list[int]] = {}
    for j in columns:
        groups.setdefault((rows[:, j] + 0).tobytes(), []).append(j)  # -0.0 and 0.0 are one value
    return (group for group in groups.values() if len(group) > 1)
