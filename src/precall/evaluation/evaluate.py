"""evaluate(): the whole road from two sets of samples to a result."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from precall.data.feature_sets import FeatureSet, caveats, check_same_features
from precall.data.labels import Labels
from precall.data.splits import CrossFit, RepeatedHoldOut, Split, as_split
from precall.engines import Engine, Progress, choose_engine
from precall.errors import InputError, PrecallWarning, check_integer
from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator, as_estimator
from precall.evaluation.ceilings import with_ceiling
from precall.evaluation.job import Job
from precall.evaluation.weighing import Sets
from precall.findings.modes import find_modes
from precall.results.evaluation import Evaluation
from precall.results.sample_size import wide_intervals
from precall.runtime.progress import progress_bar
from precall.runtime.written_calls import python_call
from precall.scores.conventions import as_convention
from precall.scores.records import as_score_requests

__all__ = ["evaluate"]


def evaluate(
    real: object,
    generated: object,
    *,
    estimators: Sequence[str | Estimator] = tuple(NEIGHBOR_ESTIMATORS),
    scores: Sequence[str] | str | None = None,
    score_k: int | Sequence[int] | None = None,
    split: bool | float | Split | Literal["auto"] | None = "auto",
    seed: int = 0,
    engine: str | Engine = "auto",
    convention: str = "precall",
    labels_real: object = None,
    labels_generated: object = None,
    intervals: bool = False,
    confidence: float = 0.95,
    ceiling: object = False,
    modes: int | Literal["auto"] | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Evaluation:
    """Measure how a generative model fails: precision–recall curves, scores, single samples.

    Parameters
    ----------
    real, generated
        Features of both sets of samples, one row a sample: arrays, tensors, columns of vectors, or
        paths; see :class:`precall.FeatureSet`. The two may differ in length.
    estimators
        Names (``"ipr"``, ``"coverage"``, ``"knn"``, ``"parzen"``, ``"classifier"``,
        ``"clusters"``) or objects such as ``precall.KNN(k=100)`` and
        ``precall.Trained("forest")``. Names stand for the defaults, ``k="sqrt"`` among them. By
        default the four that look at neighbours; in many dimensions add the classifier.
    scores
        Names of scalar scores, ``"all"``, or ``()`` for none. By default precision, recall,
        density, coverage and the two covers, or what the chosen convention's program prints.
    score_k
        Number of neighbours of the scores, or several; by default each score's own.
    split
        Who fits the classifiers and who is evaluated by them: ``"auto"`` is ``CrossFit(2)``, which
        uses every sample on both sides, never at once, and with intervals ``RepeatedHoldOut(4)``;
        ``True`` is the paper's single 50 % split, a float another share to fit on,
        ``precall.CoinFlip()`` the pairs of 003, ``False`` no split at all.
    seed
        Of all chance: the split, trained classifiers, the subsets of ``kernel_distance``.
    engine
        ``"auto"`` or the name of an engine. Every engine returns the same numbers.
    convention
        Whose definitions the scores follow: ``"precall"``, or a program to reproduce, such as
        ``"prdc"`` or ``"torch-fidelity"``.
    labels_real, labels_generated
        The class of each sample, integers or text, of either side or both: then every score and
        curve is also measured class by class. A side without labels stays whole.
    intervals
        Whether to tell how uncertain scores, and with a ``RepeatedHoldOut`` curves, are.
    confidence
        Of the intervals.
    ceiling
        ``True`` to tell beside each score what a perfect generator would reach, which is what half
        of real reaches against the other half; or the features of other real samples to take its
        place.
    modes
        Number of modes to look for in the union, or ``"auto"``: which of them are dropped,
        invented, over- or under-produced; see :func:`precall.find_modes`.
    threads
        Number of threads; ``None`` for one a core. Never changes a number.
    progress
        Whether to show a progress bar on standard error.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, generated = rng.normal(0, 1, (1000, 8)), rng.normal(0.5, 1, (1200, 8))
    >>> result = precall.evaluate(real, generated, estimators=["knn"])
    >>> result.protocol.k["knn"], result.protocol.split
    (32, 'cross-fit 2')
    >>> round(result.curves["knn"].f_score(), 2)
    0.52
    >>> result.scores["coverage"].value, round(result.scores["coverage"].expected_if_equal, 3)
    (0.807, 0.981)
    """
    call = python_call(evaluate, locals())
    check_integer("seed", seed, 0)
    if threads is not None:
        check_integer("threads", threads, 1)
    chosen = as_convention(convention)
    job = Job(
        _as_estimators(estimators),
        as_score_requests(scores, score_k, chosen),
        scores is not None,
        _as_split(split, intervals=intervals),
        int(seed),
        choose_engine(engine),
        chosen,
        _as_confidence(confidence) if intervals else None,
        threads,
        call,
    )
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    beside = _Beside.of(ceiling if job.scores else False, modes, _as_confidence(confidence), sets)
    labels = Labels.of(labels_real, labels_generated, sets)
    subsets = {label: labels.select(label, sets) for label in labels.classes()}
    evaluated = {label: subset for label, subset in subsets.items() if subset is not None}
    job.check(sets)

    n_parts = job.n_parts * (1 + len(evaluated)) + beside.n_parts
    with progress_bar(n_parts, shown=progress) as next_progress:
        result = beside.add_to(job.run(sets, next_progress), job, sets, next_progress)
        classes, skipped = _run_classes(job, evaluated, next_progress)
    one_sided = [
        f"class {label!r} is not evaluated: only one side has it."
        for label, subset in subsets.items()
        if subset is None
    ]
    wide = wide_intervals(result.scores, sets)
    doubts = (*caveats(*sets), *job.caveats(sets), *wide, *one_sided, *skipped)
    for text in doubts:
        warnings.warn(text, PrecallWarning, stacklevel=2)
    shares = {label: labels.share(label) for label in subsets}
    return replace(result, warnings=doubts, classes=classes, class_shares=shares)


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """What is wanted beside curves and scores."""

    ceiling: bool
    held_out: FeatureSet | None  # for the ceiling; None to halve real
    modes: int | Literal["auto"] | None
    confidence: float

    @classmethod
    def of(
        cls, ceiling: object, modes: int | Literal["auto"] | None, confidence: float, sets: Sets
    ) -> Self:
        """Check what is wanted before any work is done."""
        if modes is not None and modes != "auto":
            check_integer("modes", modes, 2)
        wanted = ceiling is not False and ceiling is not None
        held_out = None if ceiling is True or not wanted else FeatureSet.of(ceiling, "ceiling")
        if held_out is not None:
            check_same_features(sets[0], held_out)
        return cls(wanted, held_out, modes, confidence)

    @property
    def n_parts(self) -> int:
        """Parts that progress is reported in."""
        return self.ceiling + (self.modes is not None)

    def add_to(
        self, result: Evaluation, job: Job, sets: Sets, next_progress: Callable[[], Progress]
    ) -> Evaluation:
        """Measure it."""
        if self.ceiling:
            result = with_ceiling(result, job, sets, self.held_out, next_progress())
        if self.modes is not None:
            modes = find_modes(*sets, n_modes=self.modes, confidence=self.confidence, seed=job.seed)
            result = replace(result, modes=modes)
            next_progress()(1, 1)
        return result


def _run_classes(
    job: Job, subsets: dict[str, Sets], next_progress: Callable[[], Progress]
) -> tuple[dict[str, Evaluation], list[str]]:
    """Evaluate class by class; say which classes, or scores of them, there is too little for."""
    classes: dict[str, Evaluation] = {}
    skipped: list[str] = []
    for label, subset in subsets.items():
        try:
            job.check(subset)
        except InputError as error:
            skipped.append(f"class {label!r} is not evaluated: {error}")
            continue
        found = tuple(job.caveats(subset))
        skipped += [f"class {label!r}: {text}" for text in found]
        classes[label] = replace(job.run(subset, next_progress), samples=None, warnings=found)
    return classes, skipped


def _as_split(split: bool | float | Split | str | None, *, intervals: bool) -> Split:
    if isinstance(split, str) and split == "auto":
        return RepeatedHoldOut() if intervals else CrossFit(2)
    return as_split(split)  # type: ignore[arg-type]


def _as_confidence(confidence: float) -> float:
    if not isinstance(confidence, float) or not 0.5 <= confidence < 1:
        raise InputError(f"confidence must lie between 0.5 and 1; got {confidence!r}.")
    return confidence


def _as_estimators(estimators: Sequence[str | Estimator]) -> list[Estimator]:
    if isinstance(estimators, str) or not isinstance(estimators, Sequence):
        raise InputError(
            f"estimators must be a list of names or estimator objects; got {estimators!r}."
        )
    return [as_estimator(estimator) for estimator in estimators]
