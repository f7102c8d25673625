"""One picture, whatever it is stored as, to 8 bits of red, green and blue.

Decided once, for features and for pages alike:

* turned as its camera was held (EXIF);
* transparent parts lie on white;
* 16 bits are scaled to 8, from 0 to 65 535; wider ones have no known range and are refused;
* palettes, CMYK, grey and black-and-white are converted by Pillow;
* of animations the first frame;
* more than 89 million pixels are refused before they are unpacked.
"""

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from precall.inputs.items import BrokenInputError, Raw, as_image

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
# None that calls other programs, whatever a file says it is.
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
_DEEP = 65535


def read_picture(raw: Raw) -> "Image":
    """Read a picture from a file, its bytes, an array of pixels or a PIL image."""
    from PIL import Image

    if isinstance(raw, np.ndarray):
        return of_pixels(raw)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            if (image := as_image(raw)) is not None:
                return upright_rgb(image)
            if isinstance(raw, Path) and not raw.is_file():  # a pipe would be waited for
                raise BrokenInputError("is no file")
            opened = raw if isinstance(raw, Path) else io.BytesIO(raw)
            with Image.open(opened, formats=FORMATS) as image:
                return upright_rgb(image)
    except BrokenInputError:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise BrokenInputError("has too many pixels to be unpacked safely") from error
    except Exception as error:  # whatever a decoder makes of a damaged file
        raise BrokenInputError(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    if type(error).__name__ == "UnidentifiedImageError":
        return "is not a picture of a known format"
    return f"is damaged: {str(error) or type(error).__name__:.100}"


def of_pixels(pixels: NDArray[Any]) -> "Image":
    """Make a picture of (height, width), (height, width, 3) or (3, height, width).

    Of ``uint8``, or of floats from 0 to 1.
    """
    from PIL import Image

    if pixels.ndim == 3 and pixels.shape[0] in (1, 3) and pixels.shape[2] not in (1, 3, 4):
        pixels = np.moveaxis(pixels, 0, 2)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))):
        raise BrokenInputError(f"has shape {pixels.shape}, which is no picture")
    if pixels.dtype.kind == "f":
        if not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 1):
            raise BrokenInputError("has values outside of 0 to 1; rescale them, or pass uint8")
        pixels = np.round(255 * pixels).astype(np.uint8)
    if pixels.dtype == bool:
        pixels = 255 * pixels.astype(np.uint8)
    if pixels.dtype != np.uint8:
        raise BrokenInputError(f"has pixels of type {pixels.dtype}; pass uint8, or floats to 1")
    return upright_rgb(Image.fromarray(np.ascontiguousarray(pixels)))


def upright_rgb(image: "Image") -> "Image":
    """Turn a picture as its camera was held, on white where it is transparent, in 8 bits."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):
        pixels = np.asarray(image, np.float64)
        return Pillow.fromarray(np.round(255 * pixels / _DEEP).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise BrokenInputError("has 32 bits a pixel, whose range is not known; save it in 8 or 16")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Pillow.new("RGBA", image.size, "white")
        return Pillow.alpha_composite(ground, image).convert("RGB")
    return image.convert("RGB")
