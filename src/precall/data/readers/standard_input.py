"""Features from standard input: a .npy file or a table of text, told apart by the first bytes."""

import io
import sys
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.npy import PICKLE_PROTOCOL_MARK, check_present, check_unnamed, read_header
from precall.data.readers.text_tables import read_text

_LOOKED_AT = 1024  # bytes


def read_standard_input(place: ArrayLocation) -> NDArray[Any]:
    """Read everything there is."""
    data = sys.stdin.buffer.read()
    if not data:
        raise place.refuse("is empty; it can be read only once, by one of the inputs.")
    if data.startswith((npy.MAGIC_PREFIX, PICKLE_PROTOCOL_MARK)):
        return _from_npy(place, data)
    if b"\0" in data[:_LOOKED_AT]:
        raise place.refuse("is neither a .npy file nor a table of text. Name the file instead.")
    return read_text(place, lambda: _text(data), None)


def _from_npy(place: ArrayLocation, data: bytes) -> NDArray[Any]:
    check_unnamed(place)
    file = io.BytesIO(data)
    header = read_header(place, file)
    check_present(place, header, len(data) - file.tell())
    values = np.frombuffer(data, np.uint8, header.n_bytes, file.tell()).view(header.dtype)
    return place.checked(values.reshape(header.shape, order=header.order))


def _text(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace")
