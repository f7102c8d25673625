"""A folder of .npy files, one after the other."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.choosing import Place
from precall.data.readers.npy import map_npy

__all__ = ["read_shards"]


def read_shards(place: Place) -> NDArray[Any]:
    """Put the .npy files of a folder together, in the order of the numbers in their names."""
    files = sorted(place.path.glob("*.npy"), key=_natural)
    if not files:
        raise place.refuse("is a folder without .npy files.")
    shards = [map_npy(replace(place, path=file, key=None)) for file in files]
    for file, shard in zip(files, shards, strict=True):
        if shard.ndim != 2 or shard.shape[1] != shards[0].shape[1]:
            raise place.refuse(
                f"has shards that do not fit together: {files[0].name} has shape "
                f"{shards[0].shape}, {file.name} {shard.shape}."
            )
    return shards[0] if len(shards) == 1 else np.concatenate(shards)


def _natural(file: Path) -> list[tuple[int, str]]:
    """Shard 2 before shard 10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", file.name)
    ]
