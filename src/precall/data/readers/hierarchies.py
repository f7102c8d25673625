"""Trees of arrays: .h5 and .zarr."""

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation

# Codecs that turn bytes into numbers and nothing else; "pickle" is not among them.
_HARMLESS_CODECS = {
    "adler32", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian",
    "fixedscaleoffset", "fletcher32", "gzip", "lz4", "lzma", "packbits", "pcodec", "quantize",
    "sharding_indexed", "shuffle", "transpose", "zfpy", "zlib", "zstd",
}  # fmt: skip
_NOT_ZARR = OSError, RuntimeError, KeyError, ValueError, TypeError


def read_hdf5(place: ArrayLocation) -> NDArray[Any]:
    """Read one dataset of an HDF5 file."""
    h5py = place.library("h5py")
    damaged = place.refusing(
        "is not a valid HDF5 file: {!s:.200}.", OSError, RuntimeError, KeyError
    )
    with damaged, h5py.File(place.path, "r") as file:
        items: dict[str, Any] = {}
        file.visititems(items.__setitem__)
        arrays = {k: v for k, v in items.items() if isinstance(v, h5py.Dataset) and v.ndim >= 1}
        dataset = arrays[place.choose(arrays)]
        if dataset.dtype.hasobject:
            raise place.refuse("holds text or objects where numbers should be.")
        if dataset.external or dataset.is_virtual:
            raise place.refuse("keeps its numbers in other files; copy them into this one.")
        if dataset.size and dataset.id.get_storage_size() == 0:
            raise place.refuse("is damaged: it promises numbers but holds none.")
        return place.checked(np.asarray(dataset[()]))


def read_zarr(place: ArrayLocation) -> NDArray[Any]:
    """Read one array of a Zarr folder."""
    check_codecs(place)
    zarr = place.library("zarr")
    with place.refusing("is not a valid Zarr folder: {!s:.200}.", *_NOT_ZARR):
        node = zarr.open(str(place.path), mode="r")
        if not isinstance(node, zarr.Array):
            arrays = dict(sorted(node.arrays()))
            node = arrays[place.choose(arrays)]
        return place.checked(np.asarray(node[...]))


def check_codecs(place: ArrayLocation) -> None:
    """Refuse codecs that could run code, before anything is decoded."""
    files = [*sorted(place.path.rglob(".zarray")), *sorted(place.path.rglob("zarr.json"))]
    texts = {}
    for file in files:
        with place.refusing(f"has damaged metadata in {file.name}.", ValueError):
            texts[str(file)] = file.read_text(encoding="utf-8")
    check_codecs_in(place, texts)


def check_codecs_in(place: ArrayLocation, metadata: Mapping[str, str]) -> None:
    """Refuse codecs that could run code, which the texts of metadata name."""
    if not metadata:
        raise place.refuse("is not a Zarr folder: it has neither .zarray nor zarr.json.")
    for file, text in metadata.items():
        name = PurePath(file).name
        with place.refusing(f"has damaged metadata in {name}.", ValueError, RecursionError):
            document = json.loads(text)
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
