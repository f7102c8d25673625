"""Samples that are in memory, or in one array: pixels, PIL images, tensors, texts, recordings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.inputs.items import Inputs, Raw


@dataclass(frozen=True, slots=True, eq=False)
class InMemory(Inputs):
    """A sequence of samples, each of which is at hand."""

    samples: Sequence[Any] | NDArray[Any]  # perhaps memory-mapped
    read: Callable[[Any], Raw] | None = None  # to make of one what can be stored and sent
    stored: str | None = None  # names the file they are in, as it was

    def __len__(self) -> int:
        return len(self.samples)

    def name(self, row: int) -> str:
        """Where it stands."""
        return f"{self.source}, {self.kind[:-1]} {row}"

    def raw(self, row: int) -> Raw:
        """The sample."""
        sample = self.samples[row]
        return sample if self.read is None else self.read(sample)

    def listing(self) -> str | None:
        """Of what stands in a file: that file."""
        return self.stored


def tensor_pixels(sample: Any) -> NDArray[Any]:
    """Read one picture of a tensor or an array."""
    if hasattr(sample, "detach"):
        sample = sample.detach().cpu().numpy()
    return np.asarray(sample)
