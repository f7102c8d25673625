"""Files with several named arrays: .npz, .safetensors, and what torch saved."""

import json
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.npy import Header, are_sizes, read_header

_DAMAGED = zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError
_NOT_A_HEADER = ValueError, TypeError, AttributeError, KeyError, RecursionError
_CHUNK = 16 * 2**20
_LONGEST_HEADER = 100 * 10**6  # of .safetensors, as its own library limits it
_SAFE_TORCH = (2, 10)  # the first version whose weights_only loading has no known hole
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
    with (
        place.refusing("is not a valid .npz archive: {}.", *_DAMAGED),
        zipfile.ZipFile(place.path) as archive,
    ):
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        with archive.open(members[place.choose(members)]) as file:
            header = read_header(place, file)
            data = bytearray()  # grows with what is there, and no further than is promised
            while len(data) <= header.n_bytes and (chunk := file.read(_CHUNK)):
                data += chunk
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
        with place.refusing("has a damaged .safetensors header: {!r:.100}.", *_NOT_A_HEADER):
            entries = json.loads(file.read(length))
            entries.pop("__metadata__", None)
            tensors = {str(name): _parse(entry) for name, entry in entries.items()}
    key = place.choose(tensors)
    tensor, start, stop = tensors[key]
    if start + tensor.n_bytes != stop or 8 + length + stop > size:
        raise place.refuse(f"is truncated or damaged: {key!r} does not fit into it.")
    if tensor.n_bytes == 0:
        return np.empty(tensor.shape, tensor.dtype)
    offset = 8 + length + start
    array: NDArray[Any] = np.memmap(place.path, tensor.dtype, "r", offset, tensor.shape)
    if tensor.dtype == _SAFETENSORS_TYPES["BF16"]:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return place.checked(array)


def _parse(entry: Any) -> tuple[Header, int, int]:
    """Return what a .safetensors header says of a tensor, and where it starts and stops."""
    dtype, shape = np.dtype(_SAFETENSORS_TYPES[entry["dtype"]]), tuple(entry["shape"])
    start, stop = entry["data_offsets"]
    if not are_sizes(*shape, start, stop):
        raise ValueError("sizes must be whole numbers")
    return Header(shape, "C", dtype), start, stop


def read_torch(place: ArrayLocation) -> NDArray[Any]:
    """Read one tensor of a .pt or .pth file, with torch's loader that runs no code."""
    torch = place.library("torch", install="torch")
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _SAFE_TORCH:
        raise place.refuse(
            f"can only be read safely by torch {_SAFE_TORCH[0]}.{_SAFE_TORCH[1]} or newer; this is "
            f"{torch.__version__}. Save it as .npy or .safetensors."
        )
    try:
        loaded = torch.load(place.path, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, none of them ours
        reason = " ".join(str(error).split())
        raise place.refuse(f"cannot be read without running code in it: {reason:.200}") from error
    if isinstance(loaded, torch.Tensor):
        return place.checked(tensor_to_array(loaded))
    if isinstance(loaded, dict):
        tensors = {str(key): value for key, value in loaded.items() if torch.is_tensor(value)}
        return place.checked(tensor_to_array(tensors[place.choose(tensors)]))
    raise place.refuse(f"holds a {type(loaded).__name__}; expected a tensor or a dict of tensors.")


def tensor_to_array(tensor: Any) -> NDArray[Any]:
    """Read a torch-like tensor: off the graph, off the device, bfloat16 widened."""
    tensor = tensor.detach()
    if hasattr(tensor, "cpu"):
        tensor = tensor.cpu()
    if str(tensor.dtype).endswith("bfloat16"):  # NumPy has no such type
        tensor = tensor.float()
    return np.asarray(tensor.numpy())
