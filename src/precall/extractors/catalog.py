"""The extractors there are, by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from precall.errors import InputError
from precall.extractors.fitted import columns, principal_components
from precall.extractors.own import own_extractor
from precall.extractors.pictures import efficientnet, inception, vgg, vision_transformers
from precall.extractors.pictures.pixels import pixels
from precall.extractors.pictures.sizes import SquarePicture, check_way
from precall.extractors.protocol import Extractor
from precall.extractors.sounds import resemblyzer
from precall.extractors.texts import sentences, word_table
from precall.extractors.texts.sentences import saved_model
from precall.inputs.items import Kind

_MODULES = (
    efficientnet,
    inception,
    vision_transformers,
    vgg,
    sentences,
    word_table,
    resemblyzer,
)
_EVERY: list[Extractor] = [one for module in _MODULES for one in module.EXTRACTORS]
EXTRACTORS = {one.name: one for one in (*_EVERY, pixels(), columns())}
DEFAULTS: dict[Kind, str] = {
    "pictures": "efficientnet-lite0",
    "texts": "minilm",
    "sounds": "resemblyzer",
    "rows": "columns",
}
ALIASES = {
    "dinov2": "dinov2-vitl14",  # as dgm-eval has it
    "clip": "clip-vit-b32",
    "inception": "inception-fid",
    "efficientnet": "efficientnet-lite0",
}


def find_extractor(
    model: str | Callable[[list[Any]], object], kind: Callable[[], Kind], resize: str | None = None
) -> Extractor:
    """Return the extractor of a name, or one around a function.

    Parameters
    ----------
    model
        A name, ``"auto"`` for the default of the kind of input, a name with a parameter such as
        ``"pixels:64"``, or a function.
    kind
        Tells what the inputs are, where the model does not.
    resize
        Another way to scale pictures.
    """
    found = _named(model, kind) if isinstance(model, str) else own_extractor(model, kind())
    if resize is None:
        return found
    check_way(resize)
    prepare = found.prepare
    if not isinstance(prepare, SquarePicture):
        raise InputError(f"resize is for pictures; {found.name} scales none.")
    return replace(found, prepare=replace(prepare, resize=resize))


def _named(name: str, kind: Callable[[], Kind]) -> Extractor:
    if name == "auto":
        name = DEFAULTS[kind()]
    name = ALIASES.get(name, name)
    if name in EXTRACTORS:
        return EXTRACTORS[name]
    head, colon, parameter = name.partition(":")
    if head in _WITH_PARAMETER and colon and parameter:
        return _WITH_PARAMETER[head](name, parameter, kind)
    raise InputError(
        f"there is no extractor {name!r}; choose from {', '.join(EXTRACTORS)}, or auto. "
        "precall features lists them."
    )


def _number(name: str, parameter: str, *, most: int) -> int:
    if not (parameter.isascii() and parameter.isdigit() and 0 < int(parameter) <= most):
        raise InputError(f"{name!r} needs a number from 1 to {most} after the colon.")
    return int(parameter)


def _pixels(name: str, parameter: str, _kind: Callable[[], Kind]) -> Extractor:
    return pixels(_number(name, parameter, most=1024))


def _components(name: str, parameter: str, kind: Callable[[], Kind]) -> Extractor:
    return principal_components(name, _number(name, parameter, most=4096), kind())


def _saved(name: str, parameter: str, _kind: Callable[[], Kind]) -> Extractor:
    return saved_model(name, parameter)


_WITH_PARAMETER: dict[str, Callable[[str, str, Callable[[], Kind]], Extractor]] = {
    "pixels": _pixels,
    "pca": _components,
    "sentence-transformers": _saved,
}
