"""What an extractor is: a record of how one kind of input becomes rows of features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.extractors.weights import Weights
from precall.inputs.items import Kind

Prepared = Any  # what a worker process makes of one input: pixels of one size, a text, samples
FloatRows = NDArray[np.float32]
Network = Callable[[Sequence[Prepared]], FloatRows]  # a batch -> (n, d)


@dataclass(frozen=True, slots=True)
class Prepare:
    """Of one input what the network takes: what worker processes do, so it can be pickled."""

    def __call__(self, item: Any) -> Prepared:
        """Return the input as it is."""
        return item

    def __str__(self) -> str:
        return "as it is"


@dataclass(frozen=True, slots=True)
class Extractor:
    """A model that makes features of one kind of input.

    ``version`` changes whenever the same input and weights would give other features: with
    ``name``, ``prepare`` and the checksum of the weights it is what cached features are known by.
    """

    name: str
    kind: Kind
    dimension: int | None  # None: that of the input
    version: str
    prepare: Prepare
    load: Callable[[Path | None, str], Network]  # weights, device -> what makes rows of a batch
    weights: Weights | None = None
    batch_size: int = 64
    summary: str = ""  # one line
    licence: str = ""  # of the weights
    needs: tuple[str, ...] = ()  # modules
    extra: str = ""  # of precall, which installs them
    is_fixed: bool = True  # whether the same name and weights mean the same features
    fit: Callable[[Mapping[str, FeatureSet]], dict[str, FeatureSet]] | None = None  # on the first
