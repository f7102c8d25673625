"""How features are extracted: the model, and everything around it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precall.errors import InputError, check_integer
from precall.extractors.protocol import Extractor
from precall.extractors.weights import locate
from precall.runtime.refusals import check_installed

Model = str | Callable[[list[Any]], object]


@dataclass(frozen=True, slots=True)
class Features:
    """Which features to extract, and how.

    Parameters
    ----------
    model
        Name of an extractor (``precall features`` lists them), ``"auto"`` for the default of what
        the inputs are, or a function from a list of PIL images, texts, or pairs of samples and
        rate to an array (n, n_features).
    weights
        A file with the network's weights, where they do not come with a package.
    resize
        How pictures are scaled: by default as is documented for the model; ``"legacy-tensorflow"``
        and ``"legacy-pytorch"`` reproduce other programs.
    device
        ``"auto"`` (a GPU if there is one), ``"cpu"``, ``"cuda"``, ...
    batch_size
        Inputs at once; by default the model's own. Changes no feature by more than rounding.
    workers
        Processes that read and decode; by default one a core, but no more than eight; 0 for none.
    skip_broken
        Whether to leave out what cannot be read, and say so, instead of refusing it.
    download
        Whether missing weights may be downloaded.
    cache
        Whether to keep features, and read again what was kept; or the folder to keep them in.

    Examples
    --------
    >>> import numpy as np, precall
    >>> pictures = np.random.default_rng(0).integers(0, 256, (20, 16, 16, 3), dtype=np.uint8)
    >>> how = precall.Features("pixels:4", cache=False)
    >>> np.asarray(precall.extract(pictures, how)).shape
    (20, 48)
    """

    model: Model = "auto"
    weights: str | os.PathLike[str] | None = None
    resize: str | None = None
    device: str = "auto"
    batch_size: int | None = None
    workers: int | None = None
    skip_broken: bool = False
    download: bool = False
    cache: bool | str | os.PathLike[str] = True

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) and not callable(self.model):
            raise InputError(
                "features must be the name of an extractor, a function or precall.Features(...); "
                f"got {self.model!r:.100}."
            )
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, 1)
        if self.workers is not None:
            check_integer("workers", self.workers, 0)

    @classmethod
    def of(cls, features: object) -> "Features":
        """Read what a caller passed as ``features=``."""
        return features if isinstance(features, cls) else cls(features)  # type: ignore[arg-type]


def located_weights(extractor: Extractor, settings: Features) -> tuple[Path | None, str | None]:
    """Return the weights of an extractor and their checksum, or refuse what is not there."""
    for module in extractor.needs:
        check_installed(module, f"{extractor.name} needs", f"'precall[{extractor.extra}]'")
    if extractor.weights is None:
        if settings.weights is not None:
            raise InputError(f"{extractor.name} has no weights; leave weights= away.")
        return None, None
    given = None if settings.weights is None else Path(settings.weights)
    return locate(
        extractor.name, extractor.extra, extractor.weights, given, download=settings.download
    )
