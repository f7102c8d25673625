"""Features of batches that come one after the other, as in a training loop."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError
from precall.extraction.reading import prepare_batch
from precall.extraction.record import Record
from precall.extraction.settings import Features, located_weights
from precall.extractors.catalog import find_extractor
from precall.extractors.protocol import FloatRows, Network
from precall.inputs.memory import tensor_pixels
from precall.inputs.sources import kind_of, open_inputs


class BatchExtractor:
    """A model that stays loaded and makes features of one batch after the other.

    The same features as :func:`precall.extract` makes; nothing is cached.

    Parameters
    ----------
    features
        As in :func:`precall.extract`; what is fitted on whole sets (``"pca:..."``) is refused.
    example
        Inputs, to tell pictures, texts and sounds apart where the model does not.

    Examples
    --------
    >>> pictures = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), dtype=np.uint8)
    >>> model = BatchExtractor("pixels:8", pictures)
    >>> model(pictures[:4]).shape, model.record["model"]
    ((4, 192), 'pixels:8')
    """

    def __init__(self, features: object, example: object) -> None:
        settings = Features.of(features)
        extractor = find_extractor(
            settings.model, lambda: kind_of(example, "inputs"), settings.resize
        )
        if extractor.fit is not None:
            raise InputError(
                f"{extractor.name} is fitted on all real samples, so that it cannot make features "
                "batch by batch; extract them with precall.extract() and pass features."
            )
        path, sha256 = located_weights(extractor, settings)
        self._extractor = extractor
        self._network: Network = extractor.load(path, settings.device)
        self._batch_size = settings.batch_size or extractor.batch_size
        self.record = Record.of(extractor, sha256).flat()

    def __call__(self, batch: Any) -> NDArray[np.float32]:
        """Return the features of a batch, one row a sample."""
        rows: list[FloatRows] = []
        kind, n = self._extractor.kind, len(batch)
        if hasattr(batch, "shape"):
            batch = tensor_pixels(batch)
        if n == 1:  # one input is no set, but a batch all the same
            batch = np.concatenate([batch, batch]) if hasattr(batch, "shape") else [*batch, *batch]
        inputs = open_inputs(batch, kind, "the batch")
        for start in range(0, n, self._batch_size):
            chosen = range(start, min(start + self._batch_size, n))
            raws = [inputs.raw(row) for row in chosen]
            read = prepare_batch(start, raws, kind, self._extractor.prepare)
            for place, why in read.broken.items():
                raise InputError(f"the batch: sample {start + place} {why}.")
            rows.append(np.asarray(self._network(read.items), np.float32))
        return np.concatenate(rows)
