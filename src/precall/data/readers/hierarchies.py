"""Trees of arrays: .h5 and .zarr."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.errors import InputError

# Codecs that turn bytes into numbers and nothing else; "pickle" is not among them.
_HARMLESS_CODECS = {
    "adler32", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian",
    "fixedscaleoffset", "fletcher32", "gzip", "lz4", "lzma", "packbits", "pcodec", "quantize",
    "sharding_indexed", "shuffle", "transpose", "zfpy", "zlib", "zstd",
}  # fmt: skip


def read_hdf5(place: ArrayLocation) -> NDArray[Any]:
    """Read one dataset of an HDF5 file."""
    h5py = place.library("h5py")
    try:
        with h5py.File(place.path, "r") as file:
            found: dict[str, Any] = {}

            def visit(name: str, item: Any) -> None:
                if isinstance(item, h5py.Dataset) and item.ndim >= 1:
                    found[name] = item

            file.visititems(visit)
            dataset = found[place.choose(found)]
            if dataset.dtype.hasobject:
                raise place.refuse("holds text or objects where numbers should be.")
            if dataset.external or dataset.is_virtual:
                raise place.refuse("keeps its numbers in other files; copy them into this one.")
            if dataset.size and dataset.id.get_storage_size() == 0:
                raise place.refuse("is damaged: it promises numbers but holds none.")
            return place.checked(np.asarray(dataset[()]))
    except (OSError, RuntimeError, KeyError) as error:
        raise place.refuse(f"is not a valid HDF5 file: {error!s:.200}.") from error


def read_zarr(place: ArrayLocation) -> NDArray[Any]:
    """Read one array of a Zarr folder."""
    _check_codecs(place)
    zarr = place.library("zarr")
    try:
        node = zarr.open(str(place.path), mode="r")
        if isinstance(node, zarr.Array):
            return place.checked(np.asarray(node[...]))
        arrays = dict(sorted(node.arrays()))
        return place.checked(np.asarray(arrays[place.choose(arrays)][...]))
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        raise place.refuse(f"is not a valid Zarr folder: {error!s:.200}.") from error


def _check_codecs(place: ArrayLocation) -> None:
    """Refuse codecs that could run code, before anything is decoded."""
    metadata = [
        file for name in (".zarray", "zarr.json") for file in sorted(Path(place.path).rglob(name))
    ]
    if not metadata:
        raise place.refuse("is not a Zarr folder: it has neither .zarray nor zarr.json.")
    for file in metadata:
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise place.refuse(f"has damaged metadata in {file.name}.") from error
        for codec in _codecs(document):
            if codec not in _HARMLESS_CODECS:
                raise place.refuse(
                    f"uses the codec {codec!r}, which precall does not trust; save it with another "
                    "one, such as blosc."
                )


def _codecs(document: Any) -> list[str]:
    """Names of all codecs in the metadata of an array, of either version of the format."""
    found = []
    if isinstance(document, dict):
        listed = [document.get("compressor"), *(document.get("filters") or [])]
        listed += document.get("codecs") or []
        for codec in listed:
            if isinstance(codec, dict):
                name = str(codec.get("id", codec.get("name", "")))
                found.append(name.removeprefix("numcodecs."))
                found += _codecs(codec.get("configuration"))
    return found
