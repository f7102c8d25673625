"""Pixels as they are, for toy data: pictures as vectors, scaled to one size."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from precall.extractors.pictures.sizes import SquarePicture
from precall.extractors.protocol import Extractor, FloatRows, Network, Prepared

_SIDE = 32


def _rows(batch: Sequence[Prepared]) -> FloatRows:
    return np.stack(batch).reshape(len(batch), -1).astype(np.float32) / np.float32(255)


def _load(_path: Path | None, _device: str) -> Network:
    return _rows


def pixels(side: int = _SIDE) -> Extractor:
    """Pixels from 0 to 1 of pictures of ``side`` × ``side``."""
    return Extractor(
        name="pixels" if side == _SIDE else f"pixels:{side}",
        kind="pictures",
        dimension=3 * side * side,
        version="1",
        prepare=SquarePicture(side),
        load=_load,
        batch_size=256,
        summary=f"pixels of {side} × {side}, from 0 to 1 (pixels:N for another size)",
        needs=("PIL",),
        extra="images",
    )
