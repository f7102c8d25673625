"""Rows of a Zarr array, by its chunks."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.hierarchies import check_codecs, check_codecs_in
from precall.data.stored.files import filesystem_of, is_url
from precall.data.stored.shards import Places

_NOT_ZARR = OSError, RuntimeError, KeyError, ValueError, TypeError
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True)
class ZarrShard:
    """One array of a Zarr folder."""

    name: str
    n_rows: int
    stamp: str
    place: ArrayLocation
    key: str | None

    @classmethod
    def of(cls, name: str, place: ArrayLocation) -> Self:
        """Choose an array, and remember what its metadata says."""
        if is_url(name):
            check_codecs_in(place, _metadata(name))
        else:
            check_codecs(place)
        zarr = place.library("zarr")
        with place.refusing("is not a valid Zarr folder: {!s:.200}.", *_NOT_ZARR):
            node, key = zarr.open(name, mode="r"), None
            if not isinstance(node, zarr.Array):
                key = place.choose(dict(sorted(node.arrays())))
                node = node[key]
        return cls(name, int(node.shape[0]), _stamp(node), place, key)

    def rows(self, places: Places) -> NDArray[Any]:
        """Read the rows between the first and the last of some places, a part at a time."""
        found = []
        with self.place.refusing("cannot be read: {!s:.200}.", *_NOT_ZARR):
            node = self.array()
            for start in range(0, len(places), _ROWS_AT_A_TIME):
                part = places[start : start + _ROWS_AT_A_TIME]
                first, last = int(part[0]), int(part[-1])
                is_whole = last - first + 1 == len(part)
                read = node[first : last + 1] if is_whole else node.oindex[part]
                found.append(np.asarray(read))
        return np.concatenate(found)

    def array(self) -> Any:
        """Open the array."""
        node = self.place.library("zarr").open(self.name, mode="r")
        return node if self.key is None else node[self.key]

    def current_stamp(self) -> str:
        """Return what the metadata says now."""
        return _stamp(self.array())


def _stamp(node: Any) -> str:
    return f"{node.shape} {node.dtype}"


def _metadata(name: str) -> dict[str, str]:
    """Read the metadata of all arrays of a folder elsewhere, by their names."""
    filesystem, inside = filesystem_of(name)
    files = [file for file in filesystem.find(inside) if file.endswith(("zarr.json", ".zarray"))]
    return {file: filesystem.cat_file(file).decode("utf-8", "replace") for file in sorted(files)}
