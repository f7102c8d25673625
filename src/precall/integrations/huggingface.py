"""The interface of Hugging Face's evaluate: ``compute(references=..., predictions=...)``.

References are real samples and predictions are generated ones. Nothing of that library is needed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from precall.errors import InputError
from precall.evaluation.evaluate import evaluate
from precall.results.evaluation import Evaluation


def compute(*, references: object, predictions: object, **options: Any) -> dict[str, float]:
    """Evaluate generated samples, and return every number by its flat name.

    Parameters
    ----------
    references, predictions
        Features of real and of generated samples; or pictures, texts or sounds, if ``features=`` is
        among the options.
    **options
        Of :func:`precall.evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> from precall.integrations.huggingface import compute
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 500, 4))
    >>> compute(references=real, predictions=generated, estimators=(), scores=["coverage"])
    {'coverage': 0.962}
    """
    return evaluate(references, predictions, **options).to_flat_dict()


class PrecisionRecall:
    """Collects batches, and evaluates them all at once.

    Parameters
    ----------
    **options
        Of :func:`precall.evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> from precall.integrations.huggingface import PrecisionRecall
    >>> metric = PrecisionRecall(estimators=(), scores=["coverage"])
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(10):
    ...     metric.add_batch(
    ...         references=rng.normal(size=(50, 4)), predictions=rng.normal(size=(50, 4))
    ...     )
    >>> metric.compute()
    {'coverage': 0.9...}
    """

    name = "precall"

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._references: list[Any] = []
        self._predictions: list[Any] = []
        self._result: Evaluation | None = None

    @property
    def result(self) -> Evaluation:
        """The whole result of the last :meth:`compute`."""
        if self._result is None:
            raise InputError("there is no result yet; call compute() first.")
        return self._result

    def add_batch(self, *, references: object = None, predictions: object = None) -> None:
        """Collect several samples of either side, or of both; the sides need not be as many."""
        if references is not None:
            self._references.append(references)
        if predictions is not None:
            self._predictions.append(predictions)

    def add(self, *, reference: object = None, prediction: object = None) -> None:
        """Collect one sample of either side, or of both."""
        self.add_batch(
            references=None if reference is None else [reference],
            predictions=None if prediction is None else [prediction],
        )

    def compute(
        self, *, references: object = None, predictions: object = None, **options: Any
    ) -> dict[str, float]:
        """Evaluate all that was collected, which is then forgotten, and what is passed here.

        Parameters
        ----------
        **options
            Of :func:`precall.evaluate`, in place of those given before.
        """
        self.add_batch(references=references, predictions=predictions)
        sides = [_joined(self._references, "references"), _joined(self._predictions, "predictions")]
        self._result = evaluate(*sides, **(self._options | options))
        self._references, self._predictions = [], []
        return self._result.to_flat_dict()


def _joined(batches: Sequence[Any], name: str) -> object:
    """Put batches together: arrays one below the other, everything else in one list."""
    if not batches:
        raise InputError(f"there are no {name}; pass them to compute() or add_batch().")
    if len(batches) == 1:
        return batches[0]
    rows = [_as_rows(batch) for batch in batches]
    if all(isinstance(batch, np.ndarray) for batch in rows):
        return np.concatenate(rows)
    return [sample for batch in batches for sample in batch]


def _as_rows(batch: Any) -> Any:
    """Return a batch of numbers as an array, anything else as it is."""
    if hasattr(batch, "detach"):
        return batch.detach().cpu().numpy()
    if isinstance(batch, Sequence) and not isinstance(batch[0], Sequence | np.ndarray):
        return batch
    return np.asarray(batch) if not isinstance(batch[0], str) else batch
