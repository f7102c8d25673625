"""NumPy's own format: a header, then the numbers. One file, or a folder of them."""

import math
import re
from dataclasses import replace
from pathlib import PurePath
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation

PICKLED = (
    "holds pickled Python objects, which can run any code when loaded; precall never unpickles. "
    "Save the features as a plain numeric array: "
    "numpy.save(path, numpy.asarray(features, dtype='float32'))."
)
PICKLE_PROTOCOL_MARK = b"\x80"
_ZIP_MARK = b"PK\x03\x04"
_LONGEST_HEADER = 10_000  # as NumPy limits it, though only once all of it is read
_DAMAGED = ValueError, EOFError, TypeError, SyntaxError, MemoryError, RecursionError


class Header(NamedTuple):
    """What a file says of an array in it."""

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Bytes of data that it promises."""
        return math.prod(self.shape) * self.dtype.itemsize


def are_sizes(*numbers: object) -> bool:
    """Whether these are whole numbers, of which none is absurd."""
    return all(type(number) is int and 0 <= number < 2**48 for number in numbers)


def map_npy(place: ArrayLocation) -> NDArray[Any]:
    """Memory-map a .npy file."""
    check_unnamed(place)
    with place.path.open("rb") as file:
        header = read_header(place, file)
        check_present(place, header, place.path.stat().st_size - file.tell())
        if header.n_bytes == 0:
            return np.empty(header.shape, header.dtype)
        start, shape, order = file.tell(), header.shape, header.order
        return place.checked(np.memmap(place.path, header.dtype, "r", start, shape, order))


def check_unnamed(place: ArrayLocation) -> None:
    """Refuse a name of an array where there are none."""
    if place.key is not None:
        raise place.refuse(f"holds one array, which has no name; leave :{place.key} away.")


def check_present(place: ArrayLocation, header: Header, present: int) -> None:
    """Refuse a file that is shorter than its header says."""
    if header.n_bytes > present:
        raise place.refuse(
            f"is truncated: its header promises {header.n_bytes} bytes of data, "
            f"{present} are there. Copy or save it again."
        )


def read_shards(place: ArrayLocation) -> NDArray[Any]:
    """Put the .npy files of a folder together, in the order of the numbers in their names."""
    check_unnamed(place)
    files = sorted(place.path.glob("*.npy"), key=natural_order)
    if not files:
        raise place.refuse(
            "is a folder without .npy files. If it holds pictures, texts or sounds, add "
            "--features auto, or features='auto'."
        )
    shards = [map_npy(replace(place, path=file)) for file in files]
    for file, shard in zip(files, shards, strict=True):
        if shard.ndim != 2 or shard.shape[1] != shards[0].shape[1]:
            raise place.refuse(
                f"has shards that do not fit together: {files[0].name} has shape "
                f"{shards[0].shape}, {file.name} {shard.shape}."
            )
    return shards[0] if len(shards) == 1 else np.concatenate(shards)


def natural_order(file: PurePath) -> list[tuple[int, str]]:
    """Shard 2 before shard 10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", file.name)
    ]


def read_header(place: ArrayLocation, file: BinaryIO | Any) -> Header:
    """Read and check the header at the start of a file, which is left where the data begins."""
    magic = file.read(len(npy.MAGIC_PREFIX))
    if not magic:
        raise place.refuse("is empty (0 bytes).")
    if magic.startswith(PICKLE_PROTOCOL_MARK):
        raise place.refuse(PICKLED)
    if magic.startswith(_ZIP_MARK):
        raise place.refuse("is a zip archive: give it the ending .npz, or .pt if torch wrote it.")
    if magic != npy.MAGIC_PREFIX:
        raise place.refuse("is not a .npy file. Save the features with numpy.save(path, features).")
    file.seek(0)
    with place.refusing("has a damaged .npy header. Save it again.", *_DAMAGED):
        is_first = npy.read_magic(file) == (1, 0)
        length = int.from_bytes(file.read(2 if is_first else 4), "little")
        if length > _LONGEST_HEADER:
            raise ValueError("no header is that long")
        file.seek(npy.MAGIC_LEN)
        read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
        header = Header(shape, "F" if is_fortran else "C", dtype)
        if header.dtype.hasobject:
            raise place.refuse(PICKLED)
        if not are_sizes(*header.shape) or len(header.shape) > 8 or header.dtype.itemsize == 0:
            raise ValueError("no array is like that")
    return header
