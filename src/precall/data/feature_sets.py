"""FeatureSet: the samples of one side, checked once and read tile by tile ever after."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.extraction_notes import read_beside
from precall.data.inputs import to_array
from precall.data.readers.notes import noted
from precall.data.row_hashes import Fingerprint, Hashes
from precall.data.stored.arrays import StoredArray
from precall.data.value_checks import ValueCheck
from precall.errors import InputError

FloatRows = NDArray[np.float32] | NDArray[np.float64]

_EXACT_INTEGERS = 2**53
_TILE_BYTES = 2**20  # of float64: a tile stays in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A selection of rows, gathered only when a tile of them is read."""

    array: Any  # (n_stored, d) FloatRows, possibly memory-mapped, a DeviceArray, or a StoredArray
    selection: NDArray[np.intp] | None = None  # (n,), None for every row

    def __len__(self) -> int:
        return len(self.array) if self.selection is None else len(self.selection)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @property
    def stored(self) -> NDArray[np.intp]:
        """Where each row stands in the array, (n,)."""
        return np.arange(len(self.array)) if self.selection is None else self.selection

    def is_same_as(self, other: "Rows") -> bool:
        """Whether these are the same rows of the same array."""
        return self.array is other.array and np.array_equal(self.stored, other.stored)

    def places_of(self, stored: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where rows, given by where they stand in the array, stand in this sorted selection."""
        return stored if self.selection is None else np.searchsorted(self.selection, stored)

    def select(self, indices: NDArray[np.intp]) -> Self:
        """Return a lazy view of some of the rows."""
        return type(self)(self.array, self.stored[indices])

    def tile(self, start: int, stop: int) -> FloatRows:
        """Return rows ``start`` to ``stop`` of the selection, in the stored precision."""
        chosen = slice(start, stop) if self.selection is None else self.selection[start:stop]
        found: FloatRows = self.array[chosen]
        return found

    def tiles(self, size: int) -> Iterator[FloatRows]:
        """Iterate over all rows, ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self.tile(start, start + size)


class Keeper(Protocol):
    """Whoever holds rows says where, and looks at their values there."""

    def keep(self, rows: Rows) -> Rows:
        """Return rows where they are to be read from."""
        ...

    def check_values(self, rows: Rows, check: ValueCheck) -> None:
        """Show every row to ``check``."""
        ...


class OnHost:
    """Keeps rows in the memory of this process."""

    def keep(self, rows: Rows) -> Rows:
        """Return rows off any device."""
        if isinstance(rows.array, np.ndarray):
            return rows
        return Rows(np.asarray(rows.array), rows.selection)

    def check_values(self, rows: Rows, check: ValueCheck) -> None:
        """Look at one tile after the other."""
        for tile in rows.tiles(max(1, _TILE_BYTES // (8 * rows.n_features))):
            check.add(tile)


@dataclass(frozen=True, slots=True, eq=False)
class ReadFeatures:
    """Features as they were read and widened; no value was looked at yet."""

    rows: Rows
    role: str
    source: str
    input_dtype: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, data: object, role: str, *, stays_in_files: bool = False
    ) -> "ReadFeatures | FeatureSet":
        """Read ``data``; what was checked already stays so.

        Parameters
        ----------
        stays_in_files
            Whether rows in files are left there, to be read by others when they are needed.
        """
        if isinstance(data, FeatureSet):
            return replace(data, role=role)
        with noted() as notes:
            if stays_in_files and isinstance(data, str | os.PathLike) and str(data) != "-":
                array, source = StoredArray.at(data, role), os.fspath(data)
            else:
                array, source = to_array(data, role)
        rows = Rows(_widen(_check_shape(array, role), role))
        return cls(rows, role, source, str(array.dtype), tuple(note.text for note in notes))


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSet:
    """The features of one set of samples, one row a sample.

    Parameters
    ----------
    data
        A NumPy array, a tensor (``__array__`` or DLPack; no tensor library is imported), a pandas,
        polars or pyarrow column of vectors, or the path of a ``.npy`` file, which stays
        memory-mapped. Half precision and integers are widened without loss; float32 and float64
        stay as they are.
    role
        ``"real"`` or ``"generated"``: the name that error messages use.

    Examples
    --------
    >>> features = FeatureSet.of([[0.0, 1.0], [2.0, 3.0]], "real")
    >>> len(features), features.n_features, features.dtype
    (2, 2, 'float64')
    """

    rows: Rows
    role: str
    source: str
    row_hashes: Hashes  # (n,)
    n_constant: int  # features with one value throughout; of a subset: throughout the whole set
    n_copied: int  # features that vary, but always as an earlier one does; likewise
    input_dtype: str  # before it was widened
    notes: tuple[str, ...] = ()  # what was taken for granted when it was read
    extraction: Mapping[str, str] = field(default_factory=dict)  # how they were made, if known
    inputs: Any = None  # the pictures, texts or sounds they were made of, if at hand

    @classmethod
    def of(cls, data: object, role: str) -> Self:
        """Read, check and widen ``data``."""
        if isinstance(data, cls):
            return replace(data, role=role)
        return cls.checked(ReadFeatures.of(data, role), OnHost())

    @classmethod
    def checked(cls, read: "ReadFeatures | FeatureSet", keeper: "Keeper") -> Self:
        """Check what was read, where it is to be kept."""
        if isinstance(read, cls):
            return read
        rows, check = keeper.keep(read.rows), ValueCheck(read.role)
        keeper.check_values(rows, check)
        check.finish()
        found = cls(
            rows,
            read.role,
            read.source,
            check.row_hashes,
            check.n_constant,
            check.n_copied,
            read.input_dtype,
            read.notes,
        )
        return replace(found, extraction=read_beside(Path(read.source), found.fingerprint))

    def __len__(self) -> int:
        return len(self.rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        rows = self.rows.tile(0, len(self))
        return np.array(rows, dtype) if copy else np.asarray(rows, dtype)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.n_features

    @property
    def dtype(self) -> str:
        """Precision that the values are kept in: ``"float32"`` or ``"float64"``."""
        return str(self.rows.array.dtype)

    @property
    def fingerprint(self) -> str:
        """What shape, precision and values are known by."""
        return Fingerprint.of(self.row_hashes).text(self.n_features, self.dtype)

    def select(self, indices: NDArray[np.intp]) -> Rows:
        """Return a lazy view of some of the rows."""
        return self.rows.select(indices)

    def subset(self, indices: NDArray[np.intp], label: str) -> Self:
        """Return some samples, in the order they stand in, as a set of their own."""
        kept = np.sort(indices)
        source, row_hashes = f"{self.source}, {label}", self.row_hashes[kept]
        inputs = None if self.inputs is None else self.inputs.select(kept)
        rows = self.select(kept)
        return replace(self, rows=rows, source=source, row_hashes=row_hashes, inputs=inputs)


def check_same_features(real: FeatureSet, generated: FeatureSet) -> None:
    """Raise unless both sets live in the same space."""
    if real.n_features != generated.n_features:
        raise InputError(
            f"{real.role} and {generated.role} must have the same number of features; "
            f"got {real.n_features} and {generated.n_features}. "
            "Were both extracted with the same network?"
        )


def _check_shape(array: Any, role: str) -> Any:
    if array.ndim != 2:
        advice = {
            1: f"For samples with one feature each, pass {role}.reshape(-1, 1).",
            4: "These look like images: extract features first.",
        }.get(array.ndim, f"Flatten each sample: {role}.reshape(len({role}), -1).")
        raise InputError(
            f"{role} must have two dimensions (samples, features); got shape {array.shape}. "
            f"{advice}"
        )
    if 0 in array.shape:
        raise InputError(
            f"{role} is empty: its shape is {array.shape}. Pass at least two samples and one "
            "feature."
        )
    return array


def _widen(array: Any, role: str) -> FloatRows:
    """Convert to float32 or float64 in native byte order, never losing a digit."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if array.dtype == object:
        raise InputError(
            f"{role} has dtype object: its rows are Python objects, not numbers. Build one numeric "
            f"array: numpy.array({role}.tolist(), dtype='float32')."
        )
    is_bfloat16 = array.dtype.name == "bfloat16"
    if not is_bfloat16 and (kind not in "fiub" or size > 8):
        raise InputError(
            f"{role} has dtype {array.dtype}, which is not numeric here; expected float16, "
            "bfloat16, float32, float64 or integers."
        )
    if kind in "iu" and size == 8 and max(-int(array.min()), int(array.max())) > _EXACT_INTEGERS:
        raise InputError(
            f"{role} holds integers beyond 2**53, which float64 cannot tell apart; subtract an "
            "offset or rescale."
        )
    target = np.float32 if is_bfloat16 else np.result_type(array.dtype, np.float32)
    widened: FloatRows = array.astype(target, copy=False)
    return widened
