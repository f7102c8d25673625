"""NumPy's own format: a header, then the numbers."""

import math
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from precall.data.readers.choosing import Place
from precall.errors import InputError

__all__ = ["Header", "map_npy", "pickled", "read_header"]

_PICKLE_PROTOCOL_MARK = b"\x80"
_ZIP_MARK = b"PK\x03\x04"


class Header(NamedTuple):
    """What a .npy file says of itself."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Bytes of data that it promises."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def order(self) -> Literal["C", "F"]:
        """Order of the numbers."""
        return "F" if self.fortran_order else "C"


def map_npy(place: Place) -> NDArray[Any]:
    """Memory-map a .npy file."""
    with place.path.open("rb") as file:
        header = read_header(place, file)
        present = place.path.stat().st_size - file.tell()
        if header.n_bytes > present:
            raise place.refuse(
                f"is truncated: its header promises {header.n_bytes} bytes of data, "
                f"{present} are there. Copy or save it again."
            )
        if header.n_bytes == 0:
            return np.empty(header.shape, header.dtype)
        start, shape, order = file.tell(), header.shape, header.order
        array: NDArray[Any] = np.memmap(place.path, header.dtype, "r", start, shape, order)
        return place.checked(array)


def read_header(place: Place, file: BinaryIO | Any) -> Header:
    """Read and check the header at the start of a file, which is left where the data begins."""
    magic = file.read(len(npy.MAGIC_PREFIX))
    if not magic:
        raise place.refuse("is empty (0 bytes).")
    if magic.startswith(_PICKLE_PROTOCOL_MARK):
        raise InputError(pickled(place))
    if magic.startswith(_ZIP_MARK):
        raise place.refuse("is a zip archive: give it the ending .npz, or .pt if torch wrote it.")
    if magic != npy.MAGIC_PREFIX:
        raise place.refuse("is not a .npy file. Save the features with numpy.save(path, features).")
    file.seek(0)
    try:
        header = Header(*_parse(file))
    except (ValueError, EOFError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise place.refuse("has a damaged .npy header. Save it again.") from error
    if header.dtype.hasobject:
        raise InputError(pickled(place))
    if not _is_plausible(header):
        raise place.refuse("has a damaged .npy header. Save it again.")
    return header


def _parse(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    return npy.read_array_header_2_0(file)


def _is_plausible(header: Header) -> bool:
    sizes_fit = all(type(size) is int and 0 <= size < 2**48 for size in header.shape)
    return sizes_fit and len(header.shape) <= 8 and header.dtype.itemsize > 0


def pickled(place: Place) -> str:
    """Say why a pickle is not read."""
    return (
        f"{place.role}: {place.path} holds pickled Python objects, which can run any code when "
        "loaded; precall never unpickles. Save the features as a plain numeric array: "
        "numpy.save(path, numpy.asarray(features, dtype='float32'))."
    )
