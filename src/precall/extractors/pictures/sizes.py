"""Pictures of one size, which decides numbers (Parmar et al. 2022): one documented way a model.

Features should not depend on how a picture was shrunk, so the default is Pillow's bicubic filter,
which averages over all pixels that a smaller one stands for. The ``legacy`` ways do not: they are
there to reproduce the numbers of programs that use them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError
from precall.extractors.protocol import Prepare

BICUBIC = "bicubic"
LEGACY = {
    "legacy-tensorflow": "bilinear without antialiasing, as TensorFlow 1 and torch-fidelity do",
    "legacy-pytorch": "bilinear without antialiasing, as pytorch-fid does",
}
WAYS = (BICUBIC, *LEGACY)


def check_way(resize: str) -> None:
    """Refuse a way that there is not."""
    if resize not in WAYS:
        raise InputError(f"resize must be one of {', '.join(WAYS)}; got {resize!r}.")


@dataclass(frozen=True, slots=True)
class SquarePicture(Prepare):
    """A picture as (side, side, 3): ``uint8`` from 0 to 255, floats after a legacy way.

    Parameters
    ----------
    side
        Pixels of the result.
    resize
        ``"bicubic"``, antialiased, by Pillow; or one of the legacy ways.
    crop
        Whether to scale the shorter side and cut out the middle; otherwise the whole picture is
        scaled, whatever its shape.
    """

    side: int
    resize: str = BICUBIC
    crop: bool = False

    def __call__(self, item: Any) -> NDArray[Any]:
        """Scale an RGB picture."""
        from PIL import Image

        width, height = item.size
        target = (self.side, self.side)
        if self.crop:
            scale = self.side / min(width, height)
            target = (max(self.side, round(width * scale)), max(self.side, round(height * scale)))
        if self.resize == BICUBIC:
            scaled = item if item.size == target else item.resize(target, Image.Resampling.BICUBIC)
            pixels = np.asarray(scaled)
        else:
            pixels = bilinear(np.asarray(item, np.float32), target[1], target[0], self.resize)
        top, left = (pixels.shape[0] - self.side) // 2, (pixels.shape[1] - self.side) // 2
        return np.ascontiguousarray(pixels[top : top + self.side, left : left + self.side])

    def __str__(self) -> str:
        how = "antialiased bicubic (Pillow)" if self.resize == BICUBIC else LEGACY[self.resize]
        what = "shorter side" if self.crop else "whole picture"
        middle = ", middle cut out" if self.crop else ""
        return f"{what} to {self.side} pixels, {how}{middle}"


def bilinear(pixels: NDArray[Any], height: int, width: int, way: str) -> NDArray[np.float32]:
    """Interpolate between the nearest pixels, as old programs do, at either of two grids."""
    rows = _weights(pixels.shape[0], height, way)
    columns = _weights(pixels.shape[1], width, way)
    low, high, share = rows
    tall = pixels[low] * (1 - share)[:, None, None] + pixels[high] * share[:, None, None]
    low, high, share = columns
    wide = tall[:, low] * (1 - share)[:, None] + tall[:, high] * share[:, None]
    return np.asarray(wide, np.float32)


def _weights(
    n: int, n_new: int, way: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """Return the two pixels that each new one lies between, and the share of the second."""
    places = np.arange(n_new, dtype=np.float32)
    scale = np.float32(n / n_new)
    if way == "legacy-tensorflow":  # pixels are points, the first at 0
        at = places * scale
    else:  # pixels have middles
        at = np.maximum((places + np.float32(0.5)) * scale - np.float32(0.5), 0)
    low = np.minimum(at.astype(np.intp), n - 1)
    return low, np.minimum(low + 1, n - 1), (at - low).astype(np.float32)
