"""Features that stay in their files: an array by its shape, of which tiles are read when asked."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.archives import BFLOAT16, find_tensor
from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.npy import natural_order, read_header
from precall.data.stored.files import (
    as_name,
    files_in,
    is_folder,
    is_url,
    open_file,
    size_of,
    stamp_of,
)
from precall.data.stored.parquet_shards import ParquetShard
from precall.data.stored.shards import Places, RawShard, Shard, check_unchanged
from precall.data.stored.zarr_shards import ZarrShard
from precall.errors import InputError
from precall.runtime.refusals import refusing

_ROWS_AT_A_TIME = 4096
_ENDINGS = (".npy", ".parquet", ".safetensors")


@dataclass(frozen=True, slots=True, eq=False)
class StoredArray:
    """Rows of one file, or of several that follow each other; names and numbers only.

    What NumPy offers of it is read when it is asked for, and not kept.
    """

    shards: tuple[Any, ...]  # Shard
    n_features: int
    stored_dtype: str  # of the values in the files
    widened: str  # what tiles are converted to

    @classmethod
    def at(cls, path: str | os.PathLike[str], role: str) -> Self:
        """Look at a file, or at a folder of files, without reading its rows."""
        place = _location(as_name(path), role)
        name = as_name(place.path)
        with refusing(
            lambda e: f"{role}: cannot read {name}: {getattr(e, 'strerror', None) or e}.", OSError
        ):
            shards = _shards(name, place)
        widths = {_width(shard) for shard in shards}
        if len(widths) > 1:
            raise place.refuse("has files that do not fit together: " + _listed(shards))
        first = shards[0].rows(np.arange(min(1, shards[0].n_rows)))
        dtypes = [_dtype(shard, first) for shard in shards]
        dtype = str(np.result_type(*dtypes))
        return cls(tuple(shards), int(first.shape[1]), dtype, dtype)

    # As an array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, features."""
        return sum(shard.n_rows for shard in self.shards), self.n_features

    @property
    def ndim(self) -> int:
        """Two: samples and features."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the tiles that are read."""
        return np.dtype(self.widened)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: slice | Places) -> NDArray[Any]:
        if isinstance(at, slice):
            return self.read(np.arange(*at.indices(len(self))))
        places = np.asarray(at)
        ascending, back = np.unique(places, return_inverse=True)
        return self.read(ascending)[back]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or self.dtype, copy=False)

    def astype(self, dtype: Any, copy: bool = False) -> Self:
        """Return the same rows, converted when they are read."""
        return replace(self, widened=str(np.dtype(dtype)))

    def min(self) -> Any:
        """Return the smallest value, after a look at all of them."""
        return min(tile.min() for tile in self._tiles())

    def max(self) -> Any:
        """Return the largest value, after a look at all of them."""
        return max(tile.max() for tile in self._tiles())

    def _tiles(self) -> Iterator[NDArray[Any]]:
        for start in range(0, len(self), _ROWS_AT_A_TIME):
            yield self[start : start + _ROWS_AT_A_TIME]

    # Reading

    def read(self, places: Places) -> NDArray[Any]:
        """Read rows at ascending places; files that changed since they were looked at are named."""
        ends = np.cumsum([0, *(shard.n_rows for shard in self.shards)])
        found = np.empty((len(places), self.n_features), self.dtype)
        for shard, (start, stop) in zip(self.shards, pairwise(ends), strict=True):
            part = slice(*np.searchsorted(places, [start, stop]))
            if part.start == part.stop:
                continue
            check_unchanged(shard)
            rows = shard.rows(places[part] - start)
            if rows.shape[1:] != found.shape[1:]:
                raise InputError(
                    f"{shard.name} has rows of shape {rows.shape[1:]}, the files in front of it of "
                    f"shape {found.shape[1:]}."
                )
            found[part] = rows
            check_unchanged(shard)
        return found

    def names_of(self, start: int, stop: int) -> list[str]:
        """Return the files that some rows are in."""
        ends = np.cumsum([shard.n_rows for shard in self.shards])
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        return [shard.name for shard in self.shards[first : last + 1]]


def _location(name: str, role: str) -> ArrayLocation:
    """Tell ``features.parquet:column`` from a URL, which has a colon, too."""
    if not is_url(name):
        return ArrayLocation.of(name, role)
    file, _, key = name.rpartition(":")
    has_key = "://" in file and PurePath(file).suffix in (*_ENDINGS, ".zarr")
    return ArrayLocation(Path(file if has_key else name), key if has_key else None, role)


def _shards(name: str, place: ArrayLocation) -> list[Shard]:
    """Look at every file of a set, in the order of the numbers in their names."""
    if PurePath(name).suffix == ".zarr":
        return [ZarrShard.of(name, place)]
    if not is_folder(name):
        return [_shard(name, place)]
    for ending in _ENDINGS:
        if files := sorted(files_in(name, ending), key=lambda file: natural_order(PurePath(file))):
            of_file = [replace(place, path=Path(file)) for file in files]
            return [_shard(file, at) for file, at in zip(files, of_file, strict=True)]
    raise place.refuse(f"is a folder without {', '.join(_ENDINGS)} files.")


def _shard(name: str, place: ArrayLocation) -> Shard:
    """Look at one file."""
    ending = PurePath(name).suffix.lower()
    if ending == ".parquet":
        return ParquetShard.of(name, place)
    if ending == ".safetensors":
        return _safetensors(name, place)
    if ending != ".npy":
        raise place.refuse(
            "cannot be read by rows, as a cluster does; it reads .npy, .safetensors, .parquet, "
            ".zarr and folders of these. Convert it: precall convert."
        )
    with open_file(name) as file:
        header = read_header(place, file)
        offset = file.tell()
    return _raw(place, name, header.shape, header.order, header.dtype, offset)


def _safetensors(name: str, place: ArrayLocation) -> Shard:
    with open_file(name) as file:
        header, offset = find_tensor(place, file, size_of(name))
    shard = _raw(place, name, header.shape, header.order, header.dtype, offset)
    return replace(shard, is_bfloat16=header.dtype == BFLOAT16)


def _raw(
    place: ArrayLocation,
    name: str,
    shape: tuple[int, ...],
    order: str,
    dtype: np.dtype[Any],
    offset: int,
) -> RawShard:
    """Check that rows stand one behind the other, and that all of them are there."""
    if len(shape) != 2 or 0 in shape:
        raise place.refuse(f"has shape {shape}; expected samples and features.")
    if order == "F" and 1 not in shape:
        raise place.refuse(
            "is stored column by column; save it again with numpy.ascontiguousarray(features)."
        )
    promised, present = shape[0] * shape[1] * dtype.itemsize, size_of(name) - offset
    if promised > present:
        raise place.refuse(
            f"is truncated: its header promises {promised} bytes of data, {present} are there. "
            "Copy or save it again."
        )
    return RawShard(name, shape[0], stamp_of(name), shape[1], dtype.str, offset)


def _width(shard: Shard) -> int | None:
    return shard.n_features if isinstance(shard, RawShard) else None


def _dtype(shard: Shard, first: NDArray[Any]) -> np.dtype[Any]:
    if isinstance(shard, RawShard):
        return np.dtype(np.float32 if shard.is_bfloat16 else shard.dtype)
    return first.dtype


def _listed(shards: Sequence[Shard]) -> str:
    odd = next(shard for shard in shards if _width(shard) != _width(shards[0]))
    return (
        f"{PurePath(shards[0].name).name} has {_width(shards[0])} features, "
        f"{PurePath(odd.name).name} {_width(odd)}."
    )
