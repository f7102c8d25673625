"""Files with several named arrays: .npz, .safetensors, and what torch saved."""

import json
import math
import warnings
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.npy import Header, are_sizes, read_header

_DAMAGED = zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError
_NOT_A_HEADER = ValueError, TypeError, AttributeError, KeyError, RecursionError
_CHUNK = 16 * 2**20
_MOST_UNPACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}  # bytes of one packed byte
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
BFLOAT16 = np.dtype(_SAFETENSORS_TYPES["BF16"])  # no other tensor is read as such


def read_npz(place: ArrayLocation) -> NDArray[Any]:
    """Read one array of a .npz archive."""
    with (
        place.refusing("is not a valid .npz archive: {}.", *_DAMAGED),
        zipfile.ZipFile(place.path) as archive,
    ):
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        entry = archive.getinfo(members[place.choose(members)])
        with archive.open(entry) as file:
            header = read_header(place, file)
            _check_entry(place, header, entry, file.tell())
            data = np.empty(header.n_bytes, np.uint8)
            filled = _fill(data.data, file)
    if filled != header.n_bytes:
        raise place.refuse(
            f"is damaged: its header promises {header.n_bytes} bytes of data, {filled} were "
            "read. Copy or save it again."
        )
    return place.checked(data.view(header.dtype).reshape(header.shape, order=header.order))


def _check_entry(place: ArrayLocation, header: Header, entry: zipfile.ZipInfo, start: int) -> None:
    """Refuse, before anything is unpacked, what the archive's directory shows to be impossible."""
    if entry.file_size != start + header.n_bytes:
        raise place.refuse(
            f"is damaged: its header promises {header.n_bytes} bytes of data, the archive's "
            f"directory {entry.file_size - start}. Copy or save it again."
        )
    packed = min(entry.compress_size, place.path.stat().st_size)
    if entry.file_size > packed * _MOST_UNPACKED.get(entry.compress_type, math.inf):
        raise place.refuse(
            f"is damaged: it promises {header.n_bytes} bytes of data, more than {packed} packed "
            "bytes can hold. Copy or save it again."
        )


def _fill(target: memoryview, file: IO[bytes]) -> int:
    """Read no more than there is room for; return how much there was."""
    filled = 0
    while filled < len(target) and (chunk := file.read(min(_CHUNK, len(target) - filled))):
        target[filled : filled + len(chunk)] = chunk
        filled += len(chunk)
    return filled


def holds_moments(place: ArrayLocation) -> bool:
    """Whether an .npz archive holds ``mu`` or ``sigma``, as the tools for FID write it."""
    if place.key is not None or place.path.suffix.lower() != ".npz":
        return False
    try:
        with zipfile.ZipFile(place.path) as archive:
            return not {"mu.npy", "sigma.npy"}.isdisjoint(archive.namelist())
    except (OSError, *_DAMAGED):  # whoever reads it says what is wrong
        return False


def read_safetensors(place: ArrayLocation) -> NDArray[Any]:
    """Memory-map one tensor of a .safetensors file."""
    with place.path.open("rb") as file:
        tensor, offset = find_tensor(place, file, place.path.stat().st_size)
    if tensor.n_bytes == 0:
        return np.empty(tensor.shape, tensor.dtype)
    array: NDArray[Any] = np.memmap(place.path, tensor.dtype, "r", offset, tensor.shape)
    if tensor.dtype == BFLOAT16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return place.checked(array)


def find_tensor(place: ArrayLocation, file: IO[bytes] | Any, size: int) -> tuple[Header, int]:
    """Return what the header of a .safetensors file says of a tensor, and where that begins."""
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise place.refuse("is not a valid .safetensors file: its header is longer than the file.")
    with place.refusing("has a damaged .safetensors header: {!r:.100}.", *_NOT_A_HEADER):
        entries = json.loads(file.read(length))
        entries.pop("__metadata__", None)
        tensors = {str(name): _parse(entry) for name, entry in entries.items()}
    key = place.choose(tensors)
    tensor, start, stop = tensors[key]
    if start + tensor.n_bytes != stop or 8 + length + stop > size:
        raise place.refuse(f"is truncated or damaged: {key!r} does not fit into it.")
    return tensor, 8 + length + start


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
        with warnings.catch_warnings(action="ignore"):  # of its own, about what it refuses
            loaded = torch.load(place.path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # of many kinds; what torch advises is to switch its safety off
        raise place.refuse(
            "is damaged, or cannot be read without running code in it, which precall never does. "
            "Save the features as .npy or .safetensors."
        ) from error
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
