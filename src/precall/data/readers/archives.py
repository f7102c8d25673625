"""Files with several named arrays: .npz and .safetensors."""

import json
import math
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.npy import read_header

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError)
_CHUNK = 16 * 2**20
_LONGEST_HEADER = 100 * 10**6  # of .safetensors, as its own library limits it
_SAFETENSORS_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",  # the upper half of a float32
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}


def read_npz(place: ArrayLocation) -> NDArray[Any]:
    """Read one array of a .npz archive."""
    try:
        with zipfile.ZipFile(place.path) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            info = archive.getinfo(members[place.choose(members)])
            with archive.open(info) as file:
                header = read_header(place, file)
                data = bytearray()  # grows with what is there, and no further than is promised
                while len(data) <= header.n_bytes and (chunk := file.read(_CHUNK)):
                    data += chunk
    except _DAMAGED as error:
        raise place.refuse(f"is not a valid .npz archive: {error}.") from error
    if len(data) != header.n_bytes:
        raise place.refuse(
            f"is damaged: its header promises {header.n_bytes} bytes of data, {len(data)} were "
            "read. Copy or save it again."
        )
    array = np.frombuffer(bytes(data), header.dtype).reshape(header.shape, order=header.order)
    return place.checked(array)


def read_safetensors(place: ArrayLocation) -> NDArray[Any]:
    """Memory-map one tensor of a .safetensors file."""
    size = place.path.stat().st_size
    with place.path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise place.refuse(
                "is not a valid .safetensors file: its header is longer than the file."
            )
        try:
            entries = json.loads(file.read(length))
            entries.pop("__metadata__", None)
            tensors = {str(name): _Tensor(entry) for name, entry in entries.items()}
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise place.refuse(f"has a damaged .safetensors header: {error!r:.100}.") from error
    key = place.choose(tensors)
    tensor = tensors[key]
    if tensor.start + tensor.n_bytes != tensor.stop or 8 + length + tensor.stop > size:
        raise place.refuse(f"is truncated or damaged: {key!r} does not fit into it.")
    if tensor.n_bytes == 0:
        return np.empty(tensor.shape, tensor.dtype)
    offset = 8 + length + tensor.start
    array: NDArray[Any] = np.memmap(place.path, tensor.dtype, "r", offset, tensor.shape)
    if tensor.is_bfloat16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return place.checked(array)


class _Tensor:
    """An entry of a .safetensors header."""

    def __init__(self, entry: Any) -> None:
        self.is_bfloat16 = entry["dtype"] == "BF16"
        self.dtype = np.dtype(_SAFETENSORS_TYPES[entry["dtype"]])
        self.shape = tuple(entry["shape"])
        self.start, self.stop = entry["data_offsets"]
        numbers = (*self.shape, self.start, self.stop)
        if not all(type(number) is int and 0 <= number < 2**48 for number in numbers):
            raise ValueError("sizes must be whole numbers")
        self.n_bytes = math.prod(self.shape) * self.dtype.itemsize
