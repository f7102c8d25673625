"""Precision and recall as a metric of torchmetrics."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from precall.data.feature_sets import FeatureSet
from precall.errors import InputError
from precall.evaluation.evaluate import evaluate
from precall.extraction.batches import BatchExtractor
from precall.extraction.extract import extract_all
from precall.extraction.settings import Features
from precall.results.evaluation import Evaluation
from precall.runtime.refusals import needed

torch = needed("torch", "precall.integrations.torchmetrics needs", "'precall[torchmetrics]'")
torchmetrics = needed(
    "torchmetrics", "precall.integrations.torchmetrics needs", "'precall[torchmetrics]'"
)

# After what says which libraries are missing.
from precall.integrations.gathering import (  # noqa: E402
    as_rows,
    gather_rows,
    in_canonical_order,
)

Tensor = Any
Metric: Any = torchmetrics.Metric

_OF_METRICS = {
    "compute_on_cpu", "compute_with_cache", "dist_sync_fn", "dist_sync_on_step",
    "distributed_available_fn", "process_group", "sync_on_compute",
}  # fmt: skip
_OF_EVALUATE = set(inspect.signature(evaluate).parameters)
_REFUSED = {"labels_real", "labels_generated"}


class PrecisionRecall(Metric):  # type: ignore[misc]
    """How a generative model fails, as a metric of torchmetrics.

    Features are collected on the device they are on, and evaluated there. Over several processes
    they are gathered once, and every process finds the same numbers, to the bit: those that a
    single process would find for the same samples.

    Parameters
    ----------
    features
        What makes features of batches: a module or function from a batch to a tensor (n, d), which
        stays on its device; or the name of an extractor or :class:`precall.Features`, which take
        batches as :func:`precall.extract` does (pictures: ``uint8``). By default batches are
        features already.
    real
        Real samples, if they are always the same: whatever :func:`precall.evaluate` takes. Then
        ``update`` is only for generated ones.
    reset_real_features
        Whether ``reset()`` forgets the real samples, too.
    n_real, n_generated
        How many different samples there are: leaves out those that a ``DistributedSampler`` repeats
        to give all processes as many. Or pass ``indices`` to ``update``.
    prefix
        What the names of all numbers begin with.
    **options
        Of :func:`precall.evaluate` (``scores``, ``estimators``, ``intervals``, ...) and of
        ``torchmetrics.Metric`` (``process_group``, ``compute_on_cpu``, ...).

    Examples
    --------
    >>> import torch
    >>> metric = PrecisionRecall(estimators=(), scores=["precision", "recall"])
    >>> noise = torch.Generator().manual_seed(0)
    >>> for _ in range(10):
    ...     metric.update(torch.randn(50, 4, generator=noise), real=True)
    ...     metric.update(torch.randn(50, 4, generator=noise), real=False)
    >>> metric.compute()
    {'precision': tensor(0.9...), 'recall': tensor(0.9...)}
    >>> metric.reset(real=False)  # before the next epoch
    """

    is_differentiable = False
    higher_is_better = None  # of several numbers
    full_state_update = False

    real_rows: list[Tensor]
    real_keys: list[Tensor]
    generated_rows: list[Tensor]
    generated_keys: list[Tensor]

    def __init__(
        self,
        features: object = None,
        *,
        real: object = None,
        reset_real_features: bool = True,
        n_real: int | None = None,
        n_generated: int | None = None,
        prefix: str = "",
        **options: Any,
    ) -> None:
        of_metric = {name: options.pop(name) for name in _OF_METRICS & options.keys()}
        super().__init__(**({"dist_sync_fn": gather_rows} | of_metric))
        for name in options:
            if name not in _OF_EVALUATE or name in _REFUSED:
                raise InputError(f"PrecisionRecall takes no option {name!r}; see precall.evaluate.")
        if features is not None and not callable(features):
            Features.of(features)  # checks it
        # In a tuple, so that a network's weights do not become part of this module's.
        self._features = (features,)
        self._fixed_real = (real,)
        self._made_of_real: Any = None
        self.reset_real_features = reset_real_features
        self.prefix = prefix
        self._options = options
        self._sizes = {"real": n_real, "generated": n_generated}
        self._extractor: BatchExtractor | None = None
        self._result: Evaluation | None = None
        for role in ("real", "generated"):
            self.add_state(f"{role}_rows", default=[], dist_reduce_fx="cat")
            self.add_state(f"{role}_keys", default=[], dist_reduce_fx="cat")

    @property
    def result(self) -> Evaluation:
        """The whole result of the last ``compute()``."""
        if self._result is None:
            raise InputError("there is no result yet; call compute() first.")
        return self._result

    def update(self, images_or_features: Any, real: bool, indices: Any = None) -> None:
        """Collect a batch.

        Parameters
        ----------
        images_or_features
            (n, d); or what ``features`` makes this of.
        real
            Whether these are real samples, or generated ones.
        indices
            Of the samples, (n,), integers of at least 0: each counts once, whichever process has
            it, and rows of the result are in their order.
        """
        role = "real" if real else "generated"
        if real and self._fixed_real[0] is not None:
            raise InputError("real samples were given with real=; update() with generated ones.")
        rows = self._rows(images_or_features, role)
        if len(rows) == 0:
            return
        known: list[Tensor] = getattr(self, f"{role}_rows")
        place = sum(len(batch) for batch in known)
        if known and known[0].shape[1] != rows.shape[1]:
            raise InputError(
                f"{role}: a batch has {rows.shape[1]} features, earlier ones {known[0].shape[1]}."
            )
        places = torch.arange(place, place + len(rows), device=rows.device)
        keys = torch.stack(
            [_as_indices(indices, rows, role), places, torch.full_like(places, _rank())], dim=1
        )
        # New lists: metrics of a collection may share theirs.
        setattr(self, f"{role}_rows", [*known, rows])
        setattr(self, f"{role}_keys", [*getattr(self, f"{role}_keys"), keys])

    def _rows(self, batch: Any, role: str) -> Tensor:
        (features,) = self._features
        if features is None:
            found = batch if isinstance(batch, torch.Tensor) else torch.as_tensor(batch)
        elif callable(features):
            found = _made_by(features, batch)
        else:
            if self._extractor is None:
                self._extractor = BatchExtractor(features, batch)
            device = batch.device if isinstance(batch, torch.Tensor) else self.device
            found = torch.from_numpy(self._extractor(batch)).to(device)
        if found.ndim != 2:
            advice = (
                ""
                if features is not None
                else (
                    " Of pictures, say how to make features of them: features='efficientnet-lite0'."
                )
            )
            raise InputError(
                f"{role} must have two dimensions (samples, features); got shape "
                f"{tuple(found.shape)}.{advice}"
            )
        return as_rows(found)

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        """Collect a batch; a single batch has no precision and recall, so that none is returned."""
        self.update(*args, **kwargs)
        return {}

    def compute(self) -> dict[str, Tensor]:
        """Evaluate all that was collected; ``result`` has everything, this the numbers."""
        generated = self._side("generated")
        result = evaluate(self.real_features(), generated, **self._options)
        if record := self._record():
            extraction = {"real": record, "generated": record}
            result = replace(result, protocol=replace(result.protocol, extraction=extraction))
        self._result = result
        flat = result.to_flat_dict(self.prefix)
        kind = torch.get_default_dtype()
        return {
            name: torch.tensor(value, dtype=kind, device=self.device)
            for name, value in flat.items()
        }

    def _side(self, role: str) -> Tensor:
        rows, keys = (getattr(self, f"{role}_{of}") for of in ("rows", "keys"))
        if isinstance(rows, list):
            rows, keys = (torch.cat(of) if of else torch.empty(0) for of in (rows, keys))
        if len(rows) == 0:
            call = f"update(..., real={role == 'real'})"
            raise InputError(f"there are no {role} samples; call {call} first.")
        return in_canonical_order(rows, keys, self._sizes[role], role)

    def real_features(self) -> Any:
        """Return the features of real: what was collected, or what was given, made once."""
        (fixed,), (features,) = self._fixed_real, self._features
        if fixed is None:
            return self._side("real")
        if self._made_of_real is None:
            if features is None or isinstance(fixed, FeatureSet):
                self._made_of_real = fixed
            elif callable(features):
                self._made_of_real = as_rows(_made_by(features, fixed))
            else:
                self._made_of_real = extract_all({"real": fixed}, features)["real"]
        return self._made_of_real

    def _record(self) -> Mapping[str, str]:
        """How features were made, as far as it is known."""
        (features,) = self._features
        if self._extractor is not None:
            return self._extractor.record
        if features is None:
            return {}
        name = getattr(features, "__qualname__", type(features).__qualname__)
        return {"model": f"own: {name}", "version": "unknown"}

    def reset(self, real: bool | None = None) -> None:
        """Forget what was collected.

        Parameters
        ----------
        real
            Whether real samples are forgotten, too; by default as ``reset_real_features`` says.
        """
        forgets = self.reset_real_features if real is None else real
        kept = None if forgets else (self.real_rows, self.real_keys)
        if kept is not None:
            self.real_rows, self.real_keys = [], []
        super().reset()
        if kept is not None:
            self.real_rows, self.real_keys = kept

    def plot(self, val: Any = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw the curves of the last result; return the figure and its axes."""
        drawn = self.result.plot(ax)
        return drawn.figure, drawn

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_extractor": None}  # is loaded again


def _made_by(network: Callable[[Any], Any], batch: Any) -> Tensor:
    """Let somebody's network make features, as it does when nobody trains it."""
    trains = bool(getattr(network, "training", False))
    if trains:
        network.eval()  # type: ignore[attr-defined]
    try:
        with torch.no_grad():
            made = network(batch)
    finally:
        if trains:
            network.train()  # type: ignore[attr-defined]
    return made if isinstance(made, torch.Tensor) else torch.as_tensor(made)


def _as_indices(indices: Any, rows: Tensor, role: str) -> Tensor:
    if indices is None:
        return torch.full((len(rows),), -1, dtype=torch.int64, device=rows.device)
    found = torch.as_tensor(indices, device=rows.device)
    is_whole = not found.dtype.is_floating_point and found.dtype != torch.bool
    if found.shape != (len(rows),) or not is_whole or bool((found < 0).any()):
        raise InputError(
            f"{role}: indices must be {len(rows)} integers of at least 0, one a sample; got shape "
            f"{tuple(found.shape)}, {found.dtype}."
        )
    return found.to(torch.int64)


def _rank() -> int:
    from torch import distributed

    is_there = distributed.is_available() and distributed.is_initialized()
    return int(distributed.get_rank()) if is_there else 0
