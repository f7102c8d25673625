"""Feature files to arrays. Nothing here, or anywhere else, unpickles a file."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from precall.errors import InputError

__all__ = ["read"]

_PICKLE_PROTOCOL_MARK = b"\x80"


def read(path: Path, role: str) -> NDArray[Any]:
    """Memory-map the array in a ``.npy`` file.

    Parameters
    ----------
    path
        An existing ``.npy`` file.
    role
        What to call the input in error messages: ``"real"`` or ``"generated"``.
    """
    try:
        if path.is_dir():
            raise InputError(f"{role}: {path} is a folder; expected a .npy file.")
        with path.open("rb") as file:
            return _map_npy(path, file, role)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{role}: cannot read {str(path)[:200]}: {reason}.") from error


def _map_npy(path: Path, file: Any, role: str) -> NDArray[Any]:
    magic = file.read(len(npy.MAGIC_PREFIX))
    if not magic:
        raise InputError(f"{role}: {path} is empty (0 bytes).")
    if magic.startswith(_PICKLE_PROTOCOL_MARK):
        raise InputError(_pickled(path, role))
    if magic != npy.MAGIC_PREFIX:
        raise InputError(
            f"{role}: {path} is not a .npy file. Save the features with numpy.save(path, features)."
        )
    file.seek(0)
    try:
        shape, fortran_order, dtype = _read_header(file)
    except (ValueError, EOFError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(f"{role}: {path} has a damaged .npy header. Save it again.") from error
    if dtype.hasobject:
        raise InputError(_pickled(path, role))
    if not _is_plausible(shape, dtype):
        raise InputError(f"{role}: {path} has a damaged .npy header. Save it again.")
    n_bytes = math.prod(shape) * dtype.itemsize
    present = path.stat().st_size - file.tell()
    if n_bytes > present:
        raise InputError(
            f"{role}: {path} is truncated: its header promises {n_bytes} bytes of data, "
            f"{present} are there. Copy or save it again."
        )
    if n_bytes == 0:
        return np.empty(shape, dtype)
    order: Literal["C", "F"] = "F" if fortran_order else "C"
    return np.memmap(path, dtype, mode="r", offset=file.tell(), shape=shape, order=order)


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    return npy.read_array_header_2_0(file)


def _is_plausible(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    sizes_fit = all(type(size) is int and 0 <= size < 2**48 for size in shape)
    return sizes_fit and len(shape) <= 8 and dtype.itemsize > 0


def _pickled(path: Path, role: str) -> str:
    return (
        f"{role}: {path} holds pickled Python objects, which can run any code when loaded; "
        "precall never unpickles. Save the features as a plain numeric array: "
        "numpy.save(path, numpy.asarray(features, dtype='float32'))."
    )
