"""Small pictures of samples, from a folder, a manifest or an array, to be put into a page."""

import base64
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Thumbnails", "as_thumbnails"]

_SIDE = 96  # pixels, at most
_ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}


class Thumbnails(Protocol):
    """Pictures of the samples of one side, by row."""

    def data_uri(self, row: int) -> str | None:
        """Return a small picture for the ``src`` of an image; ``None`` if it cannot be read."""


def as_thumbnails(source: object, n: int, role: str) -> Thumbnails | None:
    """Find the pictures of ``n`` samples.

    Parameters
    ----------
    source
        A folder, whose pictures in the order of their names are the rows; a text file with the path
        of one picture a line, relative to itself; an array (n, height, width) or (n, height, width,
        3), uint8 or floats from 0 to 1; or ``None``.
    role
        Names the argument in errors.
    """
    if source is None:
        return None
    if isinstance(source, str | Path):
        return _Files.of(Path(source), n, role)
    return _Array.of(np.asarray(source), n, role)


@dataclass(frozen=True, slots=True)
class _Files:
    paths: tuple[Path, ...]

    @classmethod
    def of(cls, source: Path, n: int, role: str) -> Self:
        try:
            if source.is_dir():
                found = [path for path in source.iterdir() if path.suffix.lower() in _ENDINGS]
                paths = sorted(found, key=lambda path: path.name)
            else:
                lines = source.read_text(encoding="utf-8").splitlines()
                paths = [source.parent / line.strip() for line in lines if line.strip()]
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise InputError(f"{role}: cannot read {source}: {error}.") from error
        if len(paths) != n:
            kind = "pictures" if source.is_dir() else "lines"
            raise InputError(
                f"{role}: {source} has {len(paths)} {kind}, but there are {n} samples; give one "
                "for each row, in the order of the rows."
            )
        return cls(tuple(paths))

    def data_uri(self, row: int) -> str | None:
        from PIL import Image, UnidentifiedImageError

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(self.paths[row]) as image:
                    image.draft("RGB", (2 * _SIDE, 2 * _SIDE))
                    return _encoded(image.convert("RGB"))
        except (
            OSError,
            SyntaxError,
            ValueError,
            UnidentifiedImageError,
            Image.DecompressionBombError,
            Image.DecompressionBombWarning,
        ):
            return None


@dataclass(frozen=True, slots=True, eq=False)
class _Array:
    pixels: NDArray[Any]  # (n, height, width) or (n, height, width, 3)

    @classmethod
    def of(cls, pixels: NDArray[Any], n: int, role: str) -> Self:
        is_picture = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[-1] == 3)
        if not is_picture or len(pixels) != n or 0 in pixels.shape:
            raise InputError(
                f"{role} must be a folder, a manifest or an array ({n}, height, width) or ({n}, "
                f"height, width, 3); got shape {pixels.shape}."
            )
        if pixels.dtype != np.uint8 and pixels.dtype.kind != "f":
            raise InputError(f"{role} must be uint8, or floats from 0 to 1; got {pixels.dtype}.")
        return cls(pixels)

    def data_uri(self, row: int) -> str | None:
        from PIL import Image

        pixels = self.pixels[row]
        if pixels.dtype != np.uint8:
            pixels = np.round(255 * np.clip(np.nan_to_num(pixels), 0, 1)).astype(np.uint8)
        return _encoded(Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB"))


def _encoded(image: "Image") -> str:
    """Shrink a picture and write it as a data URI: small ones exactly, others as JPEG."""
    is_small = max(image.size) <= _SIDE // 2
    image.thumbnail((_SIDE, _SIDE))
    buffer = io.BytesIO()
    if is_small:
        image.save(buffer, "PNG")
    else:
        image.save(buffer, "JPEG", quality=80)
    kind = "png" if is_small else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
