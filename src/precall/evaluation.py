"""evaluate(): the whole road from two sets of samples to a result."""

import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from precall.curve import PRCurve
from precall.engines import Progress, choose_engine
from precall.error_rates import ErrorRates
from precall.errors import InputError, PrecallWarning
from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator, Evidence, as_estimator
from precall.features import FeatureSet, caveats, check_same_features
from precall.neighbors import NeighborPlan
from precall.results import Evaluation, Protocol
from precall.split import CrossFit, Fold, Split, as_split
from precall.version import __version__

__all__ = ["evaluate"]


def evaluate(
    real: object,
    generated: object,
    *,
    estimators: Sequence[str | Estimator] = tuple(NEIGHBOR_ESTIMATORS),
    scores: Sequence[str] = (),
    score_k: int | Sequence[int] | None = None,
    split: bool | float | Split | None = CrossFit(2),  # noqa: B008 - immutable
    seed: int = 0,
    engine: str = "auto",
    convention: str = "precall",
    threads: int | None = None,
    progress: bool = False,
) -> Evaluation:
    """Measure how a generative model fails: whole precision–recall curves.

    Parameters
    ----------
    real, generated
        Features of both sets of samples, one row a sample: arrays, tensors, columns of vectors, or
        paths; see :class:`precall.FeatureSet`. The two may differ in length.
    estimators
        Names (``"ipr"``, ``"coverage"``, ``"knn"``, ``"parzen"``) or objects such as
        ``precall.KNN(k=100)``. Names stand for ``k="sqrt"``.
    scores, score_k, convention
        Scalar scores are not part of this version: the only choices are ``()``, ``None`` and
        ``"precall"``.
    split
        Who fits the classifiers and who is evaluated by them: ``CrossFit(2)`` (the default) uses
        every sample on both sides, never at once; ``True`` is the paper's single 50 % split, a
        float another share to fit on, ``False`` no split at all.
    seed
        Of the split.
    engine
        ``"auto"`` or the name of an engine. Every engine returns the same numbers.
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
    """
    _check_arguments(scores, score_k, convention, seed, threads)
    chosen_split = as_split(split)
    chosen_engine = choose_engine(engine)
    asked = _as_estimators(estimators)
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    check_same_features(*sets)
    named = _name([estimator.resolved(*map(len, sets)) for estimator in asked])
    folds = chosen_split.folds(*sets, seed)
    _check_neighbors(named, folds, sets)

    plan = NeighborPlan().union(estimator.needs() for estimator in named.values())
    evidence: dict[str, list[Evidence]] = {name: [] for name in named}
    with _progress_bar(len(folds), shown=progress) as fold_progress:
        for i, fold in enumerate(folds):
            statistics = chosen_engine.measure(
                fold.real, fold.generated, plan, threads=threads, progress=fold_progress(i)
            )
            for name, estimator in named.items():
                evidence[name].append(estimator.evidence(fold, statistics))
    curves = {
        name: PRCurve.of(ErrorRates.of(Evidence.concat(parts))) for name, parts in evidence.items()
    }

    found = tuple(caveats(*sets))
    for text in found:
        warnings.warn(text, PrecallWarning, stacklevel=2)
    protocol = _protocol(sets, named, chosen_split, seed, convention, chosen_engine.name)
    return Evaluation(curves, {}, protocol, found)


def _check_arguments(
    scores: Sequence[str], score_k: object, convention: str, seed: int, threads: int | None
) -> None:
    if scores not in ((), []) or score_k is not None:
        raise InputError(
            "scores are not part of this version of precall, only curves are; pass scores=() and "
            "score_k=None."
        )
    if convention != "precall":
        raise InputError(f"convention={convention!r} is unknown; choose from 'precall'.")
    for name, value, least in (("seed", seed, 0), ("threads", threads, 1)):
        if value is None and name == "threads":
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} must be an integer of at least {least}; got {value!r}.")


def _as_estimators(estimators: Sequence[str | Estimator]) -> list[Estimator]:
    if isinstance(estimators, str) or not isinstance(estimators, Sequence):
        raise InputError(
            f"estimators must be a list of names or estimator objects; got {estimators!r}."
        )
    return [as_estimator(estimator) for estimator in estimators]


def _name(estimators: Sequence[Estimator]) -> dict[str, Estimator]:
    """Name each curve by its estimator; where one occurs twice by its k, or a number, too."""
    occurring = [estimator.name for estimator in estimators]
    named: dict[str, Estimator] = {}
    for estimator in estimators:
        name = estimator.name
        if occurring.count(name) > 1 and estimator.n_neighbors is not None:
            name += f"_k{estimator.n_neighbors}"
        elif occurring.count(name) > 1:
            name += f"_{1 + sum(known.startswith(name) for known in named)}"
        if name in named:
            raise InputError(f"estimators names {estimator!r} twice.")
        named[name] = estimator
    return named


def _check_neighbors(
    named: dict[str, Estimator], folds: Sequence[Fold], sets: tuple[FeatureSet, FeatureSet]
) -> None:
    """Refuse a k that some fit set is too small for."""
    k = max((estimator.n_neighbors or 0 for estimator in named.values()), default=0)
    for features, rows in zip(
        sets, zip(*((f.real.fit, f.generated.fit) for f in folds), strict=True), strict=True
    ):
        smallest = min(map(len, rows))
        if k >= smallest:
            left = "" if smallest == len(features) else f", of which the split leaves {smallest}"
            to_fit = " to fit on" if left else ""
            raise InputError(
                f"k={k} needs at least {k + 1} samples{to_fit}; {features.role} has "
                f"{len(features)}{left}."
            )


@contextmanager
def _progress_bar(n_folds: int, *, shown: bool) -> Iterator[Any]:
    """Yield a function that makes the progress callback of fold i, all feeding one bar."""
    from tqdm.auto import tqdm

    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(total=n_folds, disable=not shown, desc="precall", bar_format=layout) as bar:

        def fold_progress(i: int) -> Progress:
            def report(done: int, total: int) -> None:
                bar.update(i + done / total - bar.n)

            return report

        yield fold_progress


def _protocol(
    sets: tuple[FeatureSet, FeatureSet],
    named: dict[str, Estimator],
    split: Split,
    seed: int,
    convention: str,
    engine: str,
) -> Protocol:
    real, generated = sets
    return Protocol(
        n=len(real),
        m=len(generated),
        d=real.n_features,
        dtype=str(np.promote_types(real.dtype, generated.dtype)),
        k={name: estimator.n_neighbors for name, estimator in named.items()},
        split=str(split),
        seed=int(seed),
        tie_rule="distance <= radius",
        convention=convention,
        engine=engine,
        sources={"real": real.source, "generated": generated.source},
        fingerprints={"real": real.fingerprint, "generated": generated.fingerprint},
        versions={
            "precall": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    )
