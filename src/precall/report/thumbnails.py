"""Small pictures of samples, from a folder, a manifest or an array, to be put into a page."""

import base64
import io
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError
from precall.inputs.pictures import ENDINGS, FORMATS, upright_rgb
from precall.runtime.refusals import refusing

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 96  # pixels, at most


class Preview(NamedTuple):
    """A sample as a page shows it."""

    kind: Literal["picture", "text", "sound"]
    content: str  # the text, or a data URI
    name: str = ""  # of its file, or where it stands


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnails:
    """Pictures of the samples of one side, by row."""

    pictures: Sequence[Path] | NDArray[Any]  # files, or pixels (n, height, width) and perhaps 3
    asked: dict[object, bool] = field(default_factory=dict)  # pictures, and whether they were read

    def show(self, row: int) -> Preview | None:
        """Return a small picture for the page; ``None`` if it cannot be read."""
        uri = self.data_uri(row)
        return None if uri is None else Preview("picture", uri)

    def data_uri(self, row: int) -> str | None:
        """Return a small picture for the ``src`` of an image; ``None`` if it cannot be read."""
        picture = self.pictures[row]
        if isinstance(picture, Path):
            uri = _read(picture) if picture.is_file() else None
        else:
            uri = _of_pixels(picture)
        self.asked[picture if isinstance(picture, Path) else row] = uri is not None
        return uri


class Previews(Protocol):
    """Samples of one side, to be shown by row."""

    @property
    def asked(self) -> dict[object, bool]:
        """What was shown, and whether it could be read."""

    def show(self, row: int) -> Preview | None:
        """Return a sample for the page; ``None`` if it cannot be read."""


def unreadable(sides: Iterable[Previews]) -> str:
    """Say how many of the pictures that were asked for cannot be read; nothing if all can."""
    asked: dict[object, bool] = {}
    for side in sides:
        asked |= side.asked
    unread = [picture for picture, was_read in asked.items() if not was_read]
    if not unread:
        return ""
    which = f"{', the first ' if len(unread) > 1 else ': '}{unread[0]}"
    return f"{len(unread)} of {len(asked)} pictures cannot be read{which}."


def as_thumbnails(source: object, n: int, role: str) -> Thumbnails | None:
    """Find the pictures of ``n`` samples; ``role`` names the argument in errors.

    In a folder, whose pictures in the order of their names are the rows; in a text file with the
    path of one picture a line, relative to itself; or in an array (n, height, width) or (n, height,
    width, 3), uint8 or floats from 0 to 1.
    """
    if source is None:
        return None
    if isinstance(source, str | Path):
        return Thumbnails(_files(Path(source), n, role))
    pixels = np.asarray(source)
    is_picture = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[-1] == 3)
    if not is_picture or len(pixels) != n or 0 in pixels.shape:
        raise InputError(
            f"{role} must be a folder, a manifest or an array ({n}, height, width) or ({n}, "
            f"height, width, 3); got shape {pixels.shape}."
        )
    if pixels.dtype != np.uint8 and pixels.dtype.kind != "f":
        raise InputError(f"{role} must be uint8, or floats from 0 to 1; got {pixels.dtype}.")
    return Thumbnails(pixels)


def _files(source: Path, n: int, role: str) -> Sequence[Path]:
    """Find the picture of each row."""
    with refusing(lambda error: f"{role}: cannot read {source}: {error}.", OSError, ValueError):
        if source.is_dir():
            found = [path for path in source.iterdir() if path.suffix.lower() in ENDINGS]
            paths, kind = sorted(found, key=lambda path: path.name), "pictures"
        else:
            lines = source.read_text(encoding="utf-8-sig").splitlines()
            paths = [source.parent / line.strip() for line in lines if line.strip()]
            kind = "lines"
    if len(paths) != n:
        raise InputError(
            f"{role}: {source} has {len(paths)} {kind}, but there are {n} samples; give one "
            "for each row, in the order of the rows."
        )
    missing = [path for path in paths if kind == "lines" and not path.is_file()]
    if missing:
        raise InputError(
            f"{role}: {source} lists {missing[0]}, which is no file; paths are relative to the "
            "list."
        )
    return paths


def _of_pixels(picture: NDArray[Any]) -> str:
    from PIL import Image

    if picture.dtype != np.uint8:
        picture = np.round(255 * np.clip(np.nan_to_num(picture), 0, 1)).astype(np.uint8)
    return encoded(Image.fromarray(np.ascontiguousarray(picture)).convert("RGB"))


def _read(path: Path) -> str | None:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=FORMATS) as image:
                image.draft("RGB", (2 * _SIDE, 2 * _SIDE))
                return encoded(upright_rgb(image))
    except Exception:  # whatever a decoder makes of a damaged file: one picture less
        return None


def encoded(image: "Image") -> str:
    """Shrink a picture and write it as a data URI: small ones exactly, others as JPEG."""
    is_small = max(image.size) <= _SIDE // 2
    image.thumbnail((_SIDE, _SIDE))
    buffer = io.BytesIO()
    kind = "png" if is_small else "jpeg"
    image.save(buffer, kind, quality=80)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
