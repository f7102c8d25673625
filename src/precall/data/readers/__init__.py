"""Feature files to arrays. Nothing here, or anywhere else, unpickles a file."""

import os
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from precall.data.readers.archives import read_npz, read_safetensors, read_torch
from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.hierarchies import read_hdf5, read_zarr
from precall.data.readers.npy import PICKLED, map_npy, read_shards
from precall.data.readers.tables import read_arrow, read_csv, read_parquet
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
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".zarr": read_zarr,
}
_PICKLES = {".pkl", ".pickle", ".joblib"}


def read(path: str | os.PathLike[str], role: str) -> NDArray[Any]:
    """Read the array in a file, or the ``.npy`` shards in a folder; one ``.npy`` is memory-mapped.

    ``features.npz:key`` names one of several arrays; ``role`` is the input's name in errors.
    """
    try:
        place = ArrayLocation.of(path, role)
        if place.path.suffix.lower() in _PICKLES:
            raise place.refuse(PICKLED)
        reader = FORMATS.get(place.path.suffix.lower())
        if place.path.is_dir() and reader is not read_zarr:
            return read_shards(place)
        return (reader or map_npy)(place)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{role}: cannot read {str(path)[:200]}: {reason}.") from error
