"""Somebody's own function from a batch of inputs to an array."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from precall.errors import InputError
from precall.extractors.protocol import Extractor, FloatRows, Network, Prepare, Prepared
from precall.inputs.items import Kind


def own_extractor(function: Callable[[list[Any]], object], kind: Kind) -> Extractor:
    """Wrap a function of lists of PIL images, texts, or pairs of samples and rate.

    What it computes cannot be told from its name, so its features are not kept, unless it has
    attributes ``name`` and ``version``.
    """
    name, version = getattr(function, "name", None), getattr(function, "version", None)
    is_fixed = isinstance(name, str) and version is not None
    plain = getattr(function, "__qualname__", type(function).__qualname__)

    def rows(batch: Sequence[Prepared]) -> FloatRows:
        return _checked(function(list(batch)), len(batch), plain)

    def load(_path: Path | None, _device: str) -> Network:
        return rows

    return Extractor(
        name=str(name) if is_fixed else f"own: {plain}",
        kind=kind,
        dimension=None,
        version=str(version) if is_fixed else "unknown",
        prepare=Prepare(),
        load=load,
        summary="your own function",
        is_fixed=is_fixed,
    )


def _checked(returned: Any, n: int, name: str) -> FloatRows:
    if hasattr(returned, "detach"):
        returned = returned.detach().cpu().float().numpy()
    rows = np.asarray(returned)
    if rows.ndim != 2 or len(rows) != n or rows.dtype.kind not in "fiu":
        raise InputError(
            f"features: {name} was given {n} inputs and returned an array of shape {rows.shape}, "
            f"{rows.dtype}; expected ({n}, n_features) of numbers."
        )
    return rows.astype(np.float32, copy=False)
