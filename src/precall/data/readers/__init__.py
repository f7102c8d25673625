"""Feature files to arrays. Nothing here, or anywhere else, unpickles a file."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from precall.data.readers.archives import read_npz, read_safetensors, read_torch
from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.hierarchies import read_hdf5, read_zarr
from precall.data.readers.npy import PICKLED, map_npy, read_shards
from precall.data.readers.standard_input import read_standard_input
from precall.data.readers.tables import read_arrow, read_parquet
from precall.data.readers.text_tables import read_csv, read_tsv, read_txt
from precall.errors import InputError

FORMATS: dict[str, Callable[[ArrayLocation], NDArray[Any]]] = {  # by ending
    ".npy": map_npy,
    ".npz": read_npz,
    ".safetensors": read_safetensors,
    ".pt": read_torch,
    ".pth": read_torch,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".txt": read_txt,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".zarr": read_zarr,
}
PICKLES = {".pkl", ".pickle", ".joblib"}
_TABLES = {read_parquet, read_arrow, read_csv, read_tsv, read_txt}
TABLES = tuple(ending for ending, reader in FORMATS.items() if reader in _TABLES)


def read(path: str | os.PathLike[str], role: str, *, takes_pictures: bool = False) -> NDArray[Any]:
    """Read the array in a file, or the ``.npy`` shards in a folder; one ``.npy`` is memory-mapped.

    ``features.npz:key`` names one of several arrays, ``features.csv:x,y`` columns of a table, and
    ``-`` is standard input; ``role`` is the input's name in errors. Pictures are refused unless
    they are wanted: they are no features.
    """
    shown = str(path)[:200]
    try:
        place = replace(ArrayLocation.of(path, role), takes_pictures=takes_pictures)
        shown = place.shown
        return _read(place)
    except InputError:
        raise
    except MemoryError as error:
        raise _too_large(shown, role) from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        if getattr(error, "errno", None) == errno.ENOMEM:
            raise _too_large(shown, role) from error
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{role}: cannot read {shown[:200]}: {reason}.") from error


def _read(place: ArrayLocation) -> NDArray[Any]:
    if place.is_standard_input:
        return read_standard_input(place)
    place.path.stat()  # a missing file is missed in the same words whatever its format
    ending = place.path.suffix.lower()
    if ending in PICKLES:
        raise place.refuse(PICKLED)
    reader = FORMATS.get(ending, map_npy)
    if place.path.is_dir() and reader is not read_zarr:
        return read_shards(place)
    return reader(place)


def _too_large(shown: str, role: str) -> InputError:
    return InputError(
        f"{role}: there is not enough memory to read {shown}. Free some, or save the features as "
        ".npy, of which only the part at work is read."
    )
