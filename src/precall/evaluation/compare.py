"""compare(): several models against the same real samples, and how certainly they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from precall.curves.summaries import SUMMARIES
from precall.data.feature_sets import FeatureSet
from precall.errors import InputError
from precall.evaluation.flow import evaluate_sets
from precall.evaluation.settings import Settings
from precall.neighbors.sweeps import open_sweeps
from precall.results.comparison import Comparison, Difference
from precall.results.evaluation import Evaluation
from precall.runtime.written_calls import python_call

_COMPARED_SUMMARIES = ("f_1_8", "f_8", "area")


def compare(
    real: object,
    models: Mapping[str, object],
    *,
    subsample: bool = False,
    seed: int = 0,
    engine: str = "auto",
    labels_generated: object = None,
    **options: Any,
) -> Comparison:
    """Evaluate several models against the same real samples.

    Differences are paired: the real samples are divided alike for all models, so that what is due
    to them cancels, and intervals of differences are narrower than those of either score suggest.

    Parameters
    ----------
    real
        Features of real samples.
    models
        Features of generated samples, by the name of the model.
    subsample
        Scores depend on the number of samples, so models with unequal numbers are refused unless
        random subsets of the larger ones may be used.
    labels_generated
        The classes of the generated samples, by model; or one list, if it is that of every model.
    seed, engine, **options
        As in :func:`precall.evaluate`; intervals are on.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, good, bad = rng.normal(0, 1, (3, 1000, 8)) + np.array([0, 0, 1]).reshape(3, 1, 1)
    >>> both = precall.compare(real, {"good": good, "bad": bad}, estimators=["knn"])
    >>> both.ranking("coverage"), both.dominated()
    (['good', 'bad'], [('good', 'bad')])
    """
    call = python_call(compare, locals())
    sets = _as_models(models, subsample=subsample, seed=seed)
    reference = FeatureSet.of(real, "real")
    threads, progress = options.pop("threads", None), options.pop("progress", False)
    labels = _by_model(labels_generated, sets, subsample=subsample)
    settings = Settings.of(seed=seed, **{"intervals": True, **options})
    results = {}
    with open_sweeps(engine, threads=threads, progress=progress) as sweeps:
        sweeps.session.place(reference.rows)
        sweeps.remembers = True  # what concerns real samples alone is measured once
        for name, generated in sets.items():
            pair = reference, replace(generated, role="generated")
            with sweeps.placed(generated):
                its_settings = replace(settings, labels=(settings.labels[0], labels[name]))
                results[name] = evaluate_sets(its_settings, pair, sweeps, call)
    differences: list[Difference] = []
    for first, second in combinations(results, 2):
        differences += _differences(first, results[first], second, results[second])
    return Comparison(results, tuple(differences))


def _as_models(
    models: Mapping[str, object], *, subsample: bool, seed: int
) -> dict[str, FeatureSet]:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError("models must map at least two names to features of generated samples.")
    sets = {str(name): FeatureSet.of(rows, f"model {name!r}") for name, rows in models.items()}
    sizes = {name: len(features) for name, features in sets.items()}
    smallest = min(sizes.values())
    if max(sizes.values()) == smallest:
        return sets
    if not subsample:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(
            f"scores depend on the number of samples, which differs: {listed}. Pass as many of "
            "each, or take random subsets of the larger ones (option subsample)."
        )
    rng = np.random.default_rng((seed, 5))
    return {
        name: features.subset(
            np.sort(rng.choice(len(features), smallest, replace=False)), f"{smallest} of them"
        )
        for name, features in sets.items()
    }


def _by_model(
    labels: object, models: Mapping[str, FeatureSet], *, subsample: bool
) -> dict[str, object]:
    """Return the labels of each model's samples, if they are given."""
    if labels is not None and subsample:
        raise InputError(
            "labels_generated cannot be combined with subsample, which leaves rows out."
        )
    if not isinstance(labels, Mapping):
        return dict.fromkeys(models, labels)
    for name in labels:
        if str(name) not in models:
            raise InputError(
                f"labels_generated names {name!r}, which is not a model; choose from "
                f"{', '.join(models)}."
            )
    named = {str(name): of_model for name, of_model in labels.items()}
    return {name: named.get(name) for name in models}


def _differences(
    first: str, one: Evaluation, second: str, other: Evaluation
) -> Sequence[Difference]:
    found = []
    for name, score in one.scores.items():
        value = score.value - other.scores[name].value
        interval = None
        if name in one.replicates and name in other.replicates:
            # The same score: the same kind of replicates.
            blocks = one.replicates[name].minus(other.replicates[name])  # type: ignore[arg-type]
            half = blocks.half_width(_confidence(one))
            interval = (value - half, value + half)
        found.append(Difference(name, first, second, value, interval))
    for name, band in one.bands.items():
        for key in _COMPARED_SUMMARIES:
            value = SUMMARIES[key](one.curves[name]) - SUMMARIES[key](other.curves[name])
            half = band.half_width_of_difference(other.bands[name], key)
            what = f"{key} of the {name} curve"
            found.append(Difference(what, first, second, value, (value - half, value + half)))
    return found


def _confidence(result: Evaluation) -> float:
    return 0.95 if result.confidence is None else result.confidence
