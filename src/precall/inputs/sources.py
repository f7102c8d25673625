"""Whatever a caller holds its pictures, texts or sounds in, as inputs to be read one at a time."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers import read
from precall.data.readers.array_location import ArrayLocation
from precall.errors import InputError
from precall.inputs import pictures, sounds, texts
from precall.inputs.files import endings_in, list_archive, list_folder
from precall.inputs.items import Inputs, Kind, Raw, Sound, as_image, hashed_listing, stamp
from precall.inputs.memory import InMemory, tensor_pixels
from precall.inputs.tables import kind_of_table, list_table

ENDINGS: dict[Kind, set[str]] = {
    "pictures": pictures.ENDINGS,
    "texts": texts.ENDINGS,
    "sounds": sounds.ENDINGS,
}
READERS: dict[Kind, Callable[[Raw], Any]] = {
    "pictures": pictures.read_picture,
    "texts": texts.read_text,
    "sounds": sounds.read_sound,
}
_ARCHIVES = {".zip", ".tar"}
_TABLES = {".parquet", ".arrow", ".feather"}
_ARRAYS = {".npy", ".npz"}
_ACCEPTED: dict[Kind, str] = {
    "pictures": "a folder, a .zip or .tar of pictures, a column of a .parquet or .arrow file, an "
    "array (n, height, width, 3) of uint8, a list of PIL images or tensors",
    "texts": "a .txt file with one text a line, a .jsonl file, a column of a .parquet or .arrow "
    "file, a folder of .txt files, a list of texts",
    "sounds": "a folder, a .zip or .tar of .wav, .flac or .ogg files, a column of a .parquet or "
    ".arrow file, a list of pairs (samples, rate)",
}


def open_inputs(data: object, kind: Kind, role: str) -> Inputs:
    """Find the samples of a kind in files, or in what is in memory."""
    if isinstance(data, str | os.PathLike):
        found = _at_path(ArrayLocation.of(data, role), kind)
    else:
        found = _in_memory(data, kind, role)
    if len(found) < 2:
        raise InputError(f"{role} holds {len(found)} of {kind}; pass at least two.")
    return found


def kind_of(data: object, role: str) -> Kind:
    """Tell pictures, texts and sounds apart, where nobody says which these are."""
    if isinstance(data, str | os.PathLike):
        place = ArrayLocation.of(data, role)
        ending = place.path.suffix.lower()
        if place.path.is_dir() or ending in _ARCHIVES:
            return _kind_of_files(place)
        if ending in _TABLES and place.path.exists():
            return kind_of_table(place)
        if ending in (".txt", ".jsonl"):
            return "texts"
        return "rows" if ending in (".csv", ".tsv") else "pictures"
    if isinstance(data, Sequence) and len(data) and not isinstance(data, bytes):
        if isinstance(data[0], str):
            return "texts"
        if isinstance(data[0], tuple):
            return "sounds"
    return "pictures"


def _kind_of_files(place: ArrayLocation) -> Kind:
    """Tell what a folder or an archive holds; texts beside pictures or sounds are notes on them."""
    if not place.path.exists():
        return "pictures"  # refused when it is opened
    every = endings_in(place.path, place.role)
    kinds: list[Kind] = [kind for kind, endings in ENDINGS.items() if every & endings]
    if len(kinds) > 1 and "texts" in kinds:
        kinds.remove("texts")
    if len(kinds) > 1:
        raise place.refuse(f"holds {' and '.join(kinds)}; name a model for one kind.")
    return kinds[0] if kinds else "pictures"


def _at_path(place: ArrayLocation, kind: Kind) -> Inputs:
    if not place.path.exists():
        raise InputError(f"{place.role}: cannot read {place.shown}: No such file or directory.")
    ending = place.path.suffix.lower()
    if place.path.is_dir():
        return list_folder(place.path, kind, ENDINGS[kind], place.role)
    if ending in _ARCHIVES:
        return list_archive(place.path, kind, ENDINGS[kind], place.role)
    if ending in _TABLES:
        return list_table(place, kind)
    if kind == "texts" and ending in (".txt", ".jsonl"):
        return texts.list_lines(place) if ending == ".txt" else texts.list_jsonl(place)
    if kind == "pictures" and ending in _ARRAYS:
        return _pixels_in_file(place)
    raise place.refuse(f"holds no {kind} that precall can read; expected {_ACCEPTED[kind]}.")


def _pixels_in_file(place: ArrayLocation) -> Inputs:
    shown = str(place.path) if place.key is None else f"{place.path}:{place.key}"
    pixels = read(shown, place.role, takes_pictures=True)
    stored = hashed_listing([place.path.resolve(), place.key, *stamp(place.path)])
    return InMemory("pictures", shown, (), _checked_pixels(pixels, place.role), stored=stored)


def _checked_pixels(pixels: NDArray[Any], role: str) -> NDArray[Any]:
    is_picture = pixels.ndim == 3 or (
        pixels.ndim == 4 and (pixels.shape[3] in (1, 3, 4) or pixels.shape[1] in (1, 3))
    )
    if not is_picture or 0 in pixels.shape:
        raise InputError(
            f"{role} holds no pictures: its shape is {pixels.shape}. Expected (n, height, width) "
            "or (n, height, width, 3); features that were extracted already need no features=."
        )
    if pixels.dtype.kind != "f" and pixels.dtype not in (np.uint8, np.bool_):
        raise InputError(
            f"{role} holds pixels of type {pixels.dtype}; expected uint8, or floats from 0 to 1."
        )
    return pixels


def _in_memory(data: Any, kind: Kind, role: str) -> Inputs:
    source = f"{type(data).__module__.partition('.')[0]}.{type(data).__qualname__}"
    if hasattr(data, "to_pylist") or (hasattr(data, "tolist") and kind == "texts"):
        data = data.to_pylist() if hasattr(data, "to_pylist") else data.tolist()
    is_array = hasattr(data, "shape") and hasattr(data, "__getitem__")
    if kind == "pictures" and is_array:
        pixels = tensor_pixels(data)
        return InMemory("pictures", source, (), _checked_pixels(pixels, role))
    if not isinstance(data, Sequence) or isinstance(data, bytes) or len(data) == 0:
        raise InputError(f"{role} is a {source}; expected {_ACCEPTED[kind]}.")
    for row, sample in enumerate(data):
        if not _is_one(sample, kind):
            raise InputError(
                f"{role}: entry {row} is a {type(sample).__qualname__}, none of {kind}; expected "
                f"{_ACCEPTED[kind]}."
            )
    return InMemory(kind, source, (), data, _READ.get(kind))


def _is_one(sample: object, kind: Kind) -> bool:
    if kind == "texts":
        return isinstance(sample, str)
    if kind == "pictures":
        return as_image(sample) is not None or hasattr(sample, "shape")
    return isinstance(sample, Sound) or (isinstance(sample, tuple) and len(sample) == 2)


def _as_sound(sample: Any) -> Sound:
    samples, rate = sample
    values = tensor_pixels(samples)
    if values.dtype.kind in "iu":
        values = values / -float(np.iinfo(values.dtype).min or -np.iinfo(values.dtype).max)
    if values.ndim == 2:  # channels: as many as there are fewer of
        values = values.mean(axis=int(np.argmin(values.shape)))
    return Sound(np.asarray(values, np.float32), int(rate))


def _as_picture(sample: Any) -> Any:
    return sample if as_image(sample) is not None else tensor_pixels(sample)


_READ: dict[Kind, Callable[[Any], Raw]] = {"pictures": _as_picture, "sounds": _as_sound}
