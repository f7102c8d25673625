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

_SIDE = 96  # pixels, at most
_ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
# None that calls other programs, whatever a file says it is.
_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")


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
                paths, missing = sorted(found, key=lambda path: path.name), []
            else:
                lines = source.read_text(encoding="utf-8-sig").splitlines()
                paths = [source.parent / line.strip() for line in lines if line.strip()]
                missing = [path for path in paths if not path.is_file()]
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise InputError(f"{role}: cannot read {source}: {error}.") from error
        if len(paths) != n:
            kind = "pictures" if source.is_dir() else "lines"
            raise InputError(
                f"{role}: {source} has {len(paths)} {kind}, but there are {n} samples; give one "
                "for each row, in the order of the rows."
            )
        if missing:
            raise InputError(
                f"{role}: {source} lists {missing[0]}, which is no file; paths are relative to the "
                "list."
            )
        return cls(tuple(paths))

    def data_uri(self, row: int) -> str | None:
        from PIL import Image

        path = self.paths[row]
        if not path.is_file():
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(path, formats=_FORMATS) as image:
                    image.draft("RGB", (2 * _SIDE, 2 * _SIDE))
                    return _encoded(_upright_rgb(image))
        except Exception:  # whatever a decoder makes of a damaged file: one picture less
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


def _upright_rgb(image: "Image") -> "Image":
    """Turn a picture as its camera was held, on white where it is transparent, in 8 bits."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode[0] in "IF":  # more than 8 bits: from 0 to the largest value there is
        pixels = np.clip(np.nan_to_num(np.asarray(image, np.float64)), 0, None)
        largest = 65535.0 if image.mode.startswith("I;16") else max(float(pixels.max()), 1.0)
        return Pillow.fromarray(np.round(255 * pixels / largest).astype(np.uint8)).convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Pillow.new("RGBA", image.size, "white")
        return Pillow.alpha_composite(ground, image).convert("RGB")
    return image.convert("RGB")


def _encoded(image: "Image") -> str:
    """Shrink a picture and write it as a data URI: small ones exactly, others as JPEG."""
    is_small = max(image.size) <= _SIDE // 2
    image.thumbnail((_SIDE, _SIDE))
    buffer = io.BytesIO()
    kind = "png" if is_small else "jpeg"
    image.save(buffer, kind, quality=80)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
