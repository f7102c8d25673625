"""The flow from two sets of samples to a result."""

import platform
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from precall.curves.best import BEST
from precall.curves.judged import Judged, mean_curve
from precall.data.caveats import caveats
from precall.data.feature_sets import FeatureSet, ReadFeatures, check_same_features
from precall.data.labels import Labels
from precall.data.stored.arrays import StoredArray
from precall.errors import InputError, PrecallWarning
from precall.estimators import Estimator
from precall.evaluation.ceilings import find_ceilings
from precall.evaluation.evidence_pool import (
    EvidencePool,
    Sets,
    best_of_all,
    plan_folds,
    pool_evidence,
)
from precall.evaluation.headlines import find_headline, headline_caveats
from precall.evaluation.influences import find_influences
from precall.evaluation.settings import Settings
from precall.findings.class_guesses import guessed_shares
from precall.findings.modes import find_modes
from precall.findings.samples import Samples
from precall.neighbors.sweeps import Sweeps
from precall.results.evaluation import Evaluation, Protocol
from precall.results.score_caveats import score_caveats
from precall.runtime.written_calls import one_line
from precall.scores import SamplePair
from precall.uncertainty.bands import CurveBand
from precall.uncertainty.intervals import Replicates, replicate_scores
from precall.uncertainty.resampling import Resampled
from precall.uncertainty.two_sample import binomial_test
from precall.version import __version__

_MOST_NAMED = 5  # classes


def evaluate_sets(settings: Settings, sets: Sets, sweeps: Sweeps, call: str) -> Evaluation:
    """Evaluate placed sets: all samples, then what stands beside, then class by class."""
    check_same_features(*sets)
    labels = Labels.of(*settings.labels, sets)
    held_out = _held_out(settings, sets[0], sweeps)
    settings.check(sets)
    settings.check_chosen_k(sets)
    subsets = {label: labels.select(label, sets) for label in labels.classes()}
    both_sided = {label: subset for label, subset in subsets.items() if subset is not None}
    for part in (sets, *both_sided.values()):
        sweeps.progress.announce(settings.expected_work(part))

    found, pair = assess(settings, sets, sweeps, call)
    found["influences"] = find_influences(settings, pair, found["scores"], sweeps)
    if settings.ceiling is not False:
        ceilings = find_ceilings(settings, sets, held_out, sweeps)
        found["scores"] = {
            name: replace(score, ceiling=ceilings.get(name))
            for name, score in found["scores"].items()
        }
    if settings.modes is not None:
        sweeps.progress.doing("looking for modes")
        found["modes"] = find_modes(
            *sets,
            n_modes=settings.modes,
            confidence=settings.confidence,
            seed=settings.seed,
            labels_real=labels.real,
            labels_generated=labels.generated,
        )
    classes, skipped = _by_class(settings, both_sided, sweeps, call)
    of_scores = score_caveats(
        found["scores"],
        settings.possible_scores(sets),
        *map(len, sets),
        intervals=settings.intervals,
    )
    short = headline_caveats(settings.headline, sets)
    doubts = [*caveats(*sets), *settings.caveats(sets), *short, *of_scores]
    doubts += [*map(str, found["influences"]), *labels.one_sided(), *skipped]
    for text in doubts:
        warnings.warn(text, PrecallWarning, stacklevel=3)
    shares = {label: labels.share(label) for label in subsets}
    guessed = guessed_shares(sets, labels, settings.confidence, settings.seed)
    read = [note for side in sets for note in side.notes]  # warned of when they were read
    inputs = {side.role: side.inputs for side in sets if side.inputs is not None}
    return Evaluation(
        **found,
        warnings=(*read, *doubts),
        classes=classes,
        class_shares=shares,
        guessed_shares=guessed,
        inputs=inputs,
    )


def assess(
    settings: Settings, sets: Sets, sweeps: Sweeps, call: str
) -> tuple[dict[str, Any], SamplePair]:
    """Find the curves, scores, intervals and samples of two sets, by their names in a result.

    And what scores were made from.
    """
    split, seed = settings.split, settings.seed
    named = settings.named_estimators(sets)
    plans = plan_folds(sweeps, named, sets, split, seed)
    asked, scored = [plan.ask for plan in plans], settings.asked_of_all(sets)
    if plans and not split.judges_unseen:  # the fold is all samples: one look serves both
        asked = [asked[0].with_plan(scored.plan)]
    else:
        asked.append(scored)
    with sweeps.session.sharing():  # intervals look at the same pairs
        found = sweeps.measure(asked)
        pools = pool_evidence(sweeps, named, sets, plans, found)
        requests = settings.possible_scores(sets)
        pair = SamplePair(found[-1].cross, sets, sweeps.session, seed)
        if requests:
            sweeps.progress.doing("scoring")
        scores = {request.name: request.measure(pair) for request in requests}
        replicates: dict[str, Replicates | Resampled] = {}
        if settings.intervals and requests:
            sweeps.progress.doing("measuring uncertainty")
            replicates |= replicate_scores(sweeps, pair, requests, scores)
    headline = find_headline(
        settings.headline,
        sets,
        sweeps,
        seed=seed,
        confidence=settings.confidence,
        intervals=settings.intervals,
    )
    scores, replicates = {**headline.scores, **scores}, {**headline.replicates, **replicates}
    for name, spread in replicates.items():
        interval = spread.interval(scores[name].value, settings.confidence)
        scores[name] = replace(scores[name], interval=interval)
    best = best_of_all(pools, split, seed)
    ratios = {name: pool.likelihood_ratios for name, pool in pools.items()}
    realism_k = settings.realism_k(sets)
    samples = Samples.of(ratios, pair, requests, realism_k, headline.supports)
    return {
        "curves": {name: pool.curve(split) for name, pool in pools.items()},
        "scores": scores,
        "protocol": _protocol(settings, sets, named, pools, sweeps.engine, call),
        "best_curve": mean_curve(best) if best else None,
        "tests": {
            name: binomial_test(pool.judged_ratios, seed)
            for name, pool in pools.items()
            if split.is_single
        },
        "bands": _bands(settings, sets, pools, best, sweeps.session.threads),
        "confidence": settings.confidence if settings.intervals else None,
        "extremes": samples.extremes(),
        "reasons": headline.reasons,
        "replicates": replicates,
        "samples": samples,
    }, pair


def _bands(
    settings: Settings,
    sets: Sets,
    pools: Mapping[str, EvidencePool],
    best: Sequence[Sequence[Judged]],
    threads: int,
) -> dict[str, CurveBand]:
    """Say how uncertain every curve is, the best of several included."""
    if not settings.intervals or not settings.split.repeats_halves:
        return {}
    judged: dict[str, Sequence[Sequence[Judged]]]
    judged = {name: pool.judged() for name, pool in pools.items()}
    if best and len(pools) > 1:
        judged[BEST] = best
    sizes = len(sets[0]), len(sets[1])
    return CurveBand.of_all(judged, sizes, settings.confidence, settings.seed, threads)


def _by_class(
    settings: Settings, subsets: Mapping[str, Sets], sweeps: Sweeps, call: str
) -> tuple[dict[str, Evaluation], list[str]]:
    """Evaluate class by class; say which classes, or scores of them, there is too little for."""
    classes: dict[str, Evaluation] = {}
    said: dict[str, list[tuple[str, str]]] = {}  # by what is said, but for its numbers
    for label, subset in subsets.items():
        try:
            settings.check(subset)
        except InputError as error:
            said.setdefault(_matter(str(error)), []).append((label, f"not evaluated: {error}"))
            continue
        doubts = [*settings.caveats(subset), *headline_caveats(settings.headline, subset)]
        for text in doubts:
            said.setdefault(_matter(text), []).append((label, text))
        found, _ = assess(settings, subset, sweeps, call)
        classes[label] = Evaluation(**found | {"samples": None}, warnings=tuple(doubts))
    return classes, [_of_classes(matter) for matter in said.values()]


def _matter(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)


def _of_classes(found: Sequence[tuple[str, str]]) -> str:
    """Say once what holds for several classes."""
    (label, text), *others = found
    first = f"class {label!r}: {text}"
    if not others:
        return first
    named = ", ".join(repr(other) for other, _ in others[:_MOST_NAMED])
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    return f"{first} Likewise {named}{more}."


def _held_out(settings: Settings, real: FeatureSet, sweeps: Sweeps) -> FeatureSet | None:
    """Read the held-out samples of a ceiling, if there are any."""
    if isinstance(settings.ceiling, bool):
        return None
    stays = isinstance(real.rows.array, StoredArray)
    read = ReadFeatures.of(settings.ceiling, "ceiling", stays_in_files=stays)
    held_out = FeatureSet.checked(read, sweeps.session)
    check_same_features(real, held_out)
    return held_out


def _protocol(
    settings: Settings,
    sets: Sets,
    named: Mapping[str, Estimator],
    pools: Mapping[str, EvidencePool],
    engine: str,
    call: str,
) -> Protocol:
    real, generated = sets
    return Protocol(
        n=len(real),
        m=len(generated),
        d=real.n_features,
        dtype=str(np.promote_types(real.dtype, generated.dtype)),
        estimators={name: one_line(estimator) for name, estimator in named.items()},
        k={name: estimator.n_neighbors for name, estimator in named.items()},
        choices={name: tuple(pool.choices) for name, pool in pools.items() if pool.choices},
        split=str(settings.split),
        seed=settings.seed,
        tie_rule=str(settings.convention.tie_rule(*(side.input_dtype for side in sets))),
        convention=settings.convention.name,
        engine=engine,
        sources={"real": real.source, "generated": generated.source},
        fingerprints={"real": real.fingerprint, "generated": generated.fingerprint},
        versions={
            "precall": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        call=call,
        extraction={side.role: dict(side.extraction) for side in sets if side.extraction},
    )
