"""compare(): several models against the same real samples, and how certainly they differ."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from precall.curves.summaries import SUMMARIES
from precall.data.feature_sets import FeatureSet, ReadFeatures
from precall.engines import Engine, is_cluster
from precall.errors import InputError
from precall.evaluation.flow import evaluate_sets
from precall.evaluation.settings import Settings
from precall.evaluation.whole_sets import check_needs_no_whole_set, say_what_stays_here
from precall.extraction.extract import extract_all
from precall.neighbors.sweeps import open_sweeps
from precall.results.comparison import Comparison
from precall.results.differences import CurveDifference, Difference
from precall.results.evaluation import Evaluation
from precall.results.tables import best_first
from precall.runtime.written_calls import python_call

Names = tuple[str, str]
Pair = tuple[Evaluation, Evaluation]

_COMPARED_SUMMARIES = ("f_1_8", "f_8", "area")


def compare(
    real: object,
    models: Mapping[str, object],
    *,
    features: object = None,
    subsample: bool = False,
    seed: int = 0,
    engine: str | Engine = "auto",
    labels_generated: object = None,
    **options: Any,
) -> Comparison:
    """Evaluate several models against the same real samples.

    Differences are paired: the real samples are divided alike for all models, so that what is due
    to them cancels, and intervals of differences are narrower than those of either score suggest.
    All of them hold at once, so that equal models are seldom told apart by any.

    Parameters
    ----------
    real
        Features of real samples.
    models
        Features of generated samples, by the name of the model.
    features
        How to make features of pictures, texts or sounds, as in :func:`precall.evaluate`.
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
    if features is not None:
        real, models, options = _extracted(real, models, features, options)
    stays = is_cluster(engine)
    read = _read(models, stays_in_files=stays)
    read_real = ReadFeatures.of(real, "real", stays_in_files=stays)
    threads, progress = options.pop("threads", None), options.pop("progress", False)
    labels = _by_model(labels_generated, read, subsample=subsample)
    settings = Settings.of(seed=seed, **{"intervals": True, **options})
    results = {}
    rows = [side.rows for side in (read_real, *read.values())]
    check_needs_no_whole_set(settings, rows)
    if stays:
        say_what_stays_here(settings)
    with open_sweeps(engine, rows=rows, threads=threads, progress=progress) as sweeps:
        checked = {name: FeatureSet.checked(of, sweeps.session) for name, of in read.items()}
        sets = _of_equal_size(checked, subsample=subsample, seed=seed)
        reference = FeatureSet.checked(read_real, sweeps.session)
        sweeps.session.begin(settings.about((reference, *checked.values())))
        sweeps.session.place(reference.rows)
        sweeps.remembers = True  # what concerns real samples alone is measured once
        for name, generated in sets.items():
            pair = reference, replace(generated, role="generated")
            with sweeps.placed(generated):
                its_settings = replace(settings, labels=(settings.labels[0], labels[name]))
                results[name] = evaluate_sets(its_settings, pair, sweeps, call)
    return _compared(results)


def _extracted(
    real: object, models: Mapping[str, object], features: object, options: dict[str, Any]
) -> tuple[object, Mapping[str, object], dict[str, Any]]:
    """Make features of all sets, that of a ceiling among them."""
    given = {"real": real} | {f"model {name!r}": data for name, data in models.items()}
    if not isinstance(options.get("ceiling", False), bool):
        given["ceiling"] = options["ceiling"]
    made = extract_all(given, features, progress=options.get("progress", False))
    options = options | ({"ceiling": made["ceiling"]} if "ceiling" in made else {})
    return made["real"], {name: made[f"model {name!r}"] for name in models}, options


def _read(
    models: Mapping[str, object], *, stays_in_files: bool
) -> dict[str, ReadFeatures | FeatureSet]:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError("models must map at least two names to features of generated samples.")
    return {
        str(name): ReadFeatures.of(of, f"model {name!r}", stays_in_files=stays_in_files)
        for name, of in models.items()
    }


def _of_equal_size(
    sets: dict[str, FeatureSet], *, subsample: bool, seed: int
) -> dict[str, FeatureSet]:
    """Refuse models of which there are unequal numbers, or take subsets of the larger ones."""
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
    labels: object, models: Mapping[str, object], *, subsample: bool
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


def _compared(results: Mapping[str, Evaluation]) -> Comparison:
    """Find all differences; intervals and bands of all of them are to hold at once.

    Each gets an equal part of the error (Bonferroni), a band as much as an interval.
    """
    first = next(iter(results.values()))
    curve = next(iter(best_first(first)), None)
    pairs = list(combinations(results, 2))
    n_scores = sum(all(name in r.replicates for r in results.values()) for name in first.scores)
    n_of_curve = len(_COMPARED_SUMMARIES) + 1 if curve in first.bands else 0
    n_looked_at = len(pairs) * (n_scores + n_of_curve)
    confidence = 1 - (1 - (first.confidence or 0.95)) / max(1, n_looked_at)
    differences: list[Difference] = []
    of_curves: list[CurveDifference] = []
    for pair in pairs:
        both = results[pair[0]], results[pair[1]]
        differences += _of_scores(pair, both, confidence)
        differences += _of_summaries(pair, both, curve, confidence)
        of_curves += _of_curves(pair, both, confidence)
    return Comparison(results, tuple(differences), tuple(of_curves))


def _of_scores(pair: Names, both: Pair, confidence: float) -> list[Difference]:
    found = []
    one, other = both
    for name in one.scores:
        values = one.scores[name].value, other.scores[name].value
        interval = None
        if name in one.replicates and name in other.replicates:
            # The same score: the same kind of replicates.
            interval = one.replicates[name].interval_of_difference(
                other.replicates[name],  # type: ignore[arg-type]
                values,
                confidence,
            )
        found.append(Difference(name, *pair, values[0] - values[1], interval))
    return found


def _of_summaries(
    pair: Names, both: Pair, curve: str | None, confidence: float
) -> list[Difference]:
    if curve is None:
        return []
    curves = [best_first(result).get(curve) for result in both]
    bands = [result.bands.get(curve) for result in both]
    if curves[0] is None or curves[1] is None:
        return []
    found = []
    for key in _COMPARED_SUMMARIES:
        value = SUMMARIES[key](curves[0]) - SUMMARIES[key](curves[1])
        interval = None
        if bands[0] is not None and bands[1] is not None:
            interval = bands[0].interval_of_difference(bands[1], key, confidence)
        found.append(Difference(f"{key} of the {curve} curve", *pair, value, interval))
    return found


def _of_curves(pair: Names, both: Pair, confidence: float) -> list[CurveDifference]:
    found = []
    for name, band in both[0].bands.items():
        difference = band.difference(both[1].bands[name], confidence)
        if difference is not None:
            found.append(CurveDifference(name, *pair, difference))
    return found
