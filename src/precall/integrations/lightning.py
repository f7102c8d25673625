"""A callback of Lightning: evaluates a generative model every few epochs, and logs how it fails."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from precall.errors import InputError, check_integer
from precall.integrations.loggers import Exhibits, show
from precall.monitoring.checkpoints import ResultFolder
from precall.report.watch_page import write_watch_page
from precall.results.evaluation import Evaluation
from precall.results.flat_numbers import compared_summary, flat_numbers
from precall.runtime.refusals import needed

torch = needed("torch", "precall.integrations.lightning needs", "'precall[lightning]'")
lightning = needed(
    "lightning.pytorch", "precall.integrations.lightning needs", "'precall[lightning]'"
)
# After what says which libraries are missing.
from precall.integrations.torchmetrics import PrecisionRecall  # noqa: E402

Callback: Any = lightning.Callback

Generate = Callable[[Any, int], Any]  # a module, how many -> that many samples

_LOGGED_OF_CURVE = ("f_1_8", "f_8", "f_1", "area", "total_variation")


class PrecisionRecallCallback(Callback):  # type: ignore[misc]
    """Evaluates a model every few epochs against real samples that it was not trained on.

    Logs the scores and what sums up the curve as numbers, for any logger and for callbacks such as
    ``ModelCheckpoint(monitor="precall/recall_at_half")``; the picture of the curve and the report
    where the logger takes them. Every result is kept as ``epoch-N.json`` in a folder, with a page
    ``watch.html`` that follows them. What is random here has a seed of its own: training goes on as
    if there had been no evaluation.

    Parameters
    ----------
    real
        Real samples: whatever :func:`precall.evaluate` takes; or inputs of ``features``.
    generate
        From the module and a number to that many samples; by default its method ``sample``.
    features
        As of :class:`precall.integrations.torchmetrics.PrecisionRecall`; by default samples are
        features.
    n_generated
        How many samples to generate; by default as many as there are real ones.
    batch_size
        How many at a time, on each process.
    every_n_epochs
        Evaluate after every so many epochs.
    folder
        For results and pages; by default ``precall`` in the trainer's folder of logs.
    report
        Whether loggers are handed a page of every result (about 5 MB each).
    prefix
        What the names of logged numbers begin with.
    seed
        Of the generated samples, and of the evaluation.
    intervals
        Whether to tell how uncertain numbers are, without which nothing can be said about chance.
    **options
        Of :func:`precall.evaluate`.
    """

    def __init__(
        self,
        real: object,
        generate: Generate | None = None,
        *,
        features: object = None,
        n_generated: int | None = None,
        batch_size: int = 256,
        every_n_epochs: int = 1,
        folder: str | PathLike[str] | None = None,
        report: bool = True,
        prefix: str = "precall/",
        seed: int = 0,
        intervals: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        for name, value in (("batch_size", batch_size), ("every_n_epochs", every_n_epochs)):
            check_integer(name, value, 1)
        check_integer("seed", seed, 0)
        if n_generated is not None:
            check_integer("n_generated", n_generated, 2)
        self.metric = PrecisionRecall(
            features, real=real, seed=seed, intervals=intervals, **options
        )
        self.generate, self.n_generated, self.batch_size = generate, n_generated, batch_size
        self.every_n_epochs, self.prefix, self.seed = every_n_epochs, prefix, seed
        self.report = report
        self._folder = None if folder is None else Path(folder)
        self._results: ResultFolder | None = None

    @property
    def result(self) -> Evaluation:
        """The whole result of the last evaluation."""
        return self.metric.result

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Evaluate, if it is time to."""
        if (trainer.current_epoch + 1) % self.every_n_epochs == 0:
            self.evaluate(trainer, pl_module)

    def evaluate(self, trainer: Any, pl_module: Any) -> Evaluation:
        """Generate samples on every process, evaluate them together, log and keep the result."""
        self.metric.to(pl_module.device)
        self.metric.reset()
        n = self.n_generated or len(self.metric.real_features())
        for batch in self._samples(trainer, pl_module, n):
            self.metric.update(batch, real=False)
        self.metric.compute()
        result = self.metric.result
        numbers = {f"{self.prefix}{name}": value for name, value in logged_numbers(result).items()}
        # All processes have the same; their mean is what it was.
        pl_module.log_dict(numbers, sync_dist=trainer.world_size > 1)
        if trainer.is_global_zero:
            self._keep(trainer, result)
        return result

    def _samples(self, trainer: Any, pl_module: Any, n: int) -> Iterator[Any]:
        """Generate this process's share, without the module or torch noticing afterwards."""
        generate = self.generate or _sample_method(pl_module)
        rank, world = trainer.global_rank, trainer.world_size
        mine = n // world + (rank < n % world)
        seed = np.random.SeedSequence((self.seed, trainer.current_epoch, rank)).generate_state(1)
        with _not_training(pl_module), _own_chance(pl_module.device, int(seed[0])):
            for start in range(0, mine, self.batch_size):
                size = min(self.batch_size, mine - start)
                batch = generate(pl_module, size)
                if (made := len(batch)) != size:
                    raise InputError(f"generate was asked for {size} samples and made {made}.")
                yield batch

    def _keep(self, trainer: Any, result: Evaluation) -> None:
        """Write the result and the page that follows it; hand pictures and pages to loggers."""
        if self._results is None:
            folder = self._folder or Path(trainer.log_dir or trainer.default_root_dir) / "precall"
            folder.mkdir(parents=True, exist_ok=True)
            self._results = ResultFolder(folder)
        name = f"epoch-{trainer.current_epoch}"
        result.to_json(self._results.folder / f"{name}.json")
        found, _ = self._results.look()
        write_watch_page(self._results.folder / "watch.html", found.results, refused=found.refused)
        if trainer.loggers:
            with tempfile.TemporaryDirectory(prefix="precall-") as folder_of_exhibits:
                exhibits = Exhibits.of(result, Path(folder_of_exhibits), name, report=self.report)
                for logger in trainer.loggers:
                    show(logger, exhibits, self.prefix, trainer.global_step)


def logged_numbers(result: Evaluation) -> dict[str, float]:
    """Return all scores, and what sums up the curve that models are compared by."""
    wanted = {*result.scores, *(compared_summary(result, key) for key in _LOGGED_OF_CURVE)}
    numbers = flat_numbers(result)
    return {name: float(number.value) for name, number in numbers.items() if name in wanted}


def _sample_method(pl_module: Any) -> Generate:
    if not callable(getattr(pl_module, "sample", None)):
        raise InputError(
            f"{type(pl_module).__name__} has no method sample(n); pass generate=, a function from "
            "the module and a number to that many samples."
        )
    return lambda module, n: module.sample(n)


@contextmanager
def _not_training(pl_module: Any) -> Iterator[None]:
    was_training = {part: part.training for part in pl_module.modules()}
    pl_module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, trains in was_training.items():
            part.training = trains


@contextmanager
def _own_chance(device: Any, seed: int) -> Iterator[None]:
    """Draw from generators of torch that start from a seed, and are put back afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
