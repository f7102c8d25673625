"""Whatever a caller holds its features in, to one NumPy array.

Tensors and data frames are recognised by what they offer, so that none of their libraries is ever
imported here.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.device_arrays import DeviceArray
from precall.data.readers import read
from precall.data.readers.archives import tensor_to_array
from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.row_numbers import features_among
from precall.errors import InputError
from precall.runtime.refusals import refusing

_EXACT_INTEGERS = 2**53
_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow"}
_ACCEPTED = (
    "a NumPy array, a tensor (anything with __array__ or __dlpack__), a pandas, polars or pyarrow "
    "column of vectors, or the path of a file"
)
_EQUAL = "every sample needs the same number of features."


def to_array(data: object, role: str) -> tuple[Any, str]:
    """Return the values of ``data`` as an array, and a short name of where they came from.

    What is on a device stays there.
    """
    if isinstance(data, str | os.PathLike):
        place = ArrayLocation.of(data, role)
        return read(data, role), place.shown if place.is_standard_input else os.fspath(data)
    source = f"{type(data).__module__.split('.')[0]}.{type(data).__qualname__}"
    # Whatever a foreign object raises when it is asked for its values.
    with refusing(lambda error: f"{role} is a {source} that cannot be read: {error}", Exception):
        array = _from_object(data, source, role)
    if array is None:
        raise InputError(f"{role} is a {source}; expected {_ACCEPTED}.")
    return array, source


def _from_object(data: object, source: str, role: str) -> NDArray[Any] | DeviceArray | None:
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise InputError(
            f"{role} is a masked array with {int(np.sum(data.mask))} masked values; drop the rows "
            "that hold them."
        )
    if isinstance(data, np.ndarray):
        return np.asarray(data)
    if source.split(".")[0] in _FRAME_LIBRARIES:
        return _from_frame(data, role)
    if (on_device := DeviceArray.of(data)) is not None:
        return on_device
    if hasattr(data, "detach"):
        return tensor_to_array(data)
    if hasattr(data, "__array__"):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        elsewhere = "Is it on another device? Move it to the CPU first."
        message = f"{role}: this object's DLPack buffer cannot be read: "
        with refusing(lambda e: f"{message}{e}. {elsewhere}", BufferError, RuntimeError, TypeError):
            return np.from_dlpack(data)
    if isinstance(data, Sequence) and not isinstance(data, bytes):
        ragged = f"{role} is a {type(data).__name__} whose rows have different lengths; {_EQUAL}"
        with refusing(lambda _: ragged, ValueError):
            return np.asarray(data)
    return None


def _from_frame(data: Any, role: str) -> NDArray[Any]:
    """Read one column of vectors, or several columns of numbers, one a feature."""
    columns = _columns(data)
    if columns is None:  # a single column
        return _read_column(data, role)
    arrays = [_read_column(column, role) for column in columns]
    if len(arrays) == 1:
        return arrays[0].reshape(len(arrays[0]), -1)
    if any(array.ndim != 1 for array in arrays):
        raise InputError(
            f"{role} has {len(arrays)} columns, some of them vectors; pass the one column that "
            "holds the features."
        )
    if any(array.dtype.kind not in "fiub" for array in arrays):
        raise InputError(
            f"{role} has columns that are not numeric; pass only the columns that are features."
        )
    if not arrays:
        return np.empty((0, 0))
    advice = "To keep them all, pass the columns as one array."
    kept = features_among(arrays, _names(data), role, f"the {type(data).__name__}", advice)
    return np.column_stack([arrays[place] for place in kept])


def _names(data: Any) -> list[str]:
    """Names of the columns of a frame."""
    is_arrow = not hasattr(data, "get_columns") and not hasattr(data, "iloc")
    return list(map(str, data.schema.names if is_arrow else data.columns))


def _columns(data: Any) -> list[Any] | None:
    if hasattr(data, "get_columns"):  # polars
        return list(data.get_columns())
    columns = getattr(data, "columns", None)
    if columns is None:
        return None
    if hasattr(data, "iloc"):  # pandas, where ``columns`` holds the names
        return [data.iloc[:, i] for i in range(len(columns))]
    return list(columns)  # pyarrow


def _read_column(column: Any, role: str) -> NDArray[Any]:
    library = type(column).__module__.split(".")[0]
    values = column.to_numpy(zero_copy_only=False) if library == "pyarrow" else column.to_numpy()
    values = np.asarray(values)
    return _stack_vectors(values, role) if values.dtype == object else values


def _length(vector: Any) -> int:
    """Length of a vector; −1 of anything else."""
    try:
        return len(vector) if np.ndim(vector) == 1 else -1
    except ValueError:  # a ragged nest of lists
        return -1


def _stack_vectors(vectors: NDArray[Any], role: str) -> NDArray[Any]:
    """Turn an object array of equally long vectors into a matrix."""
    lengths = [_length(vector) for vector in vectors]
    for row, length in enumerate(lengths):
        if length < 0:
            raise InputError(
                f"{role}: row {row} of the column is {vectors[row]!r:.40}, not a vector of numbers."
            )
        if length != lengths[0]:
            raise InputError(
                f"{role}: the vector in row {row} has {length} values, the one in row 0 has "
                f"{lengths[0]}; {_EQUAL}"
            )
    return np.stack([np.asarray(vector) for vector in vectors]) if lengths else np.empty((0, 0))


def to_labels(data: object, name: str) -> NDArray[np.str_]:
    """Return one text label a sample, from an array, a tensor, a column, a list or a file.

    Integers, text and whole floats are labels. Files are .npy, or text with one label a line.
    """
    with refusing(lambda error: f"{name} cannot be read as labels: {error}", Exception):
        values = _label_values(data, name)
    if values.ndim != 1:
        raise InputError(
            f"{name} must hold one label per sample; got an array of shape {values.shape}."
        )
    if values.dtype.kind == "f":
        if np.isnan(values).any():
            raise InputError(f"{name} has {int(np.isnan(values).sum())} missing labels (NaN).")
        if ((values == np.rint(values)) & (np.abs(values) < _EXACT_INTEGERS)).all():
            values = values.astype(np.int64)
    if values.dtype.kind == "O":
        n_missing = sum(not isinstance(value, str | int | np.integer) for value in values)
        if n_missing:
            raise InputError(f"{name} has {n_missing} labels that are neither integers nor text.")
    elif values.dtype.kind not in "iubU":
        raise InputError(f"{name} must be integers or text; got values of type {values.dtype}.")
    return values.astype(np.str_)


def _label_values(data: object, name: str) -> NDArray[Any]:
    if isinstance(data, str | os.PathLike):
        return _read_labels(Path(data), name)
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise InputError(f"{name} has {int(np.sum(data.mask))} masked labels.")
    if hasattr(data, "detach"):
        return tensor_to_array(data)
    if type(data).__module__.split(".")[0] == "pyarrow":
        return np.asarray(data.to_pylist(), dtype=object)  # type: ignore[attr-defined]
    if hasattr(data, "to_numpy"):
        return np.asarray(data.to_numpy())
    return np.asarray(data)


def _read_labels(path: Path, name: str) -> NDArray[Any]:
    if path.suffix == ".npy":
        return read(path, name)
    with (
        refusing(lambda e: f"{name}: cannot read {path}: {_reason(e)}.", OSError, ValueError),
        path.open(encoding="utf-8-sig") as file,  # with or without a byte-order mark
    ):
        return np.array([line.rstrip("\n") for line in file], dtype=np.str_)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is neither .npy nor text in UTF-8"
    return str(getattr(error, "strerror", None) or error)
