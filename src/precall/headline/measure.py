"""The three numbers of the headline, from two sets of samples."""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from precall.curves.error_rates import Evidence
from precall.data.feature_sets import FeatureSet
from precall.data.splits import CrossFit
from precall.estimators import Coverage, NeighborEstimator, Parzen, Task
from precall.headline.family import Classes, Scores, comparable, score_folds
from precall.headline.outlyingness import Outlyingness
from precall.headline.recall_at_half import RecallAtHalf
from precall.headline.support import Support
from precall.headline.views import View
from precall.neighbors.statistics import NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps
from precall.runtime.threads import single_threaded_libraries

N_FOLDS = 5
_LINEAR = ("linear", "centroid")  # classifiers whose half-spaces test the support
_SUREST = 700.0  # log odds
_NEIGHBORS_AMONG = 4000  # samples of a class


@dataclass(frozen=True, slots=True, eq=False)
class Headline:
    """What the three numbers are read off."""

    precision: Support  # of real: generated samples are asked
    recall: Support  # of generated: real samples are asked
    recall_at_half: RecallAtHalf


def measure_headline(
    real: FeatureSet, generated: FeatureSet, sweeps: Sweeps, seed: int
) -> Headline:
    """Test both supports, and let classifiers of five folds tell the classes apart."""
    session = sweeps.session
    sweeps.progress.doing("testing the support")
    with single_threaded_libraries():
        of_real = View.of(real, generated, session)
        of_generated = View.of(generated, real, session)
        scaled = replace(real, rows=of_real.references), replace(generated, rows=of_real.queries)
        folds = CrossFit(N_FOLDS).folds(*scaled, seed)
        classes = Classes(of_real, of_generated, folds, seed, session.threads)
        scores = score_folds(classes)
        by_real = {name: comparable(scores[name], folds, 0) for name in _LINEAR}
        by_generated = {name: comparable(scores[name], folds, 1) for name in _LINEAR}
        precision = Support.of(of_real, {k: (-r, -g) for k, (r, g) in by_real.items()}, seed)
        recall = Support.of(of_generated, {k: (g, r) for k, (r, g) in by_generated.items()}, seed)
        evidence = _neighbor_evidence(classes, sweeps)
        scores["gap"] = _gap_scores(precision.test("gap"), recall.test("gap"))
        evidence |= {name: _as_evidence(both) for name, both in scores.items()}
        return Headline(precision, recall, RecallAtHalf.of(evidence, seed))


def _gap_scores(of_real: Outlyingness, of_generated: Outlyingness) -> Scores:
    """How much deeper in a gap of generated than in one of real; what is usual is no gap.

    Nobody fills the gap that he is judged by, so that no folds are needed.
    """
    depths = (of_real.of_references, of_real.of_queries)
    others = (of_generated.of_queries, of_generated.of_references)
    real, generated = (
        np.log(np.maximum(other, 1.0)) - np.log(np.maximum(own, 1.0))
        for own, other in zip(depths, others, strict=True)
    )
    return real, generated


def _as_evidence(scores: Scores) -> Evidence:
    """Scores of real, then of generated samples, taken for log odds."""
    odds = np.clip(np.concatenate(scores), -_SUREST, _SUREST)
    is_real = np.repeat([True, False], [len(of_class) for of_class in scores])
    return Evidence(scipy.special.expit(odds), scipy.special.expit(-odds), is_real)


def _neighbor_evidence(classes: Classes, sweeps: Sweeps) -> dict[str, Evidence]:
    """Evidence of the classifiers that count neighbours, of real, then of generated samples.

    Among 4 000 samples of a class at most: more would cost more than they tell.
    """
    sizes = [len(rows) for rows in classes.scaled]
    k = max(1, round(math.sqrt(min(*sizes, _NEIGHBORS_AMONG))))
    estimators: list[NeighborEstimator] = [Coverage(k=k), Parzen(k=k)]
    plan = NeighborPlan().union(estimator.needs() for estimator in estimators)
    folds = [classes.scaled_fold(i, _NEIGHBORS_AMONG) for i in range(len(classes.folds))]
    asked = [Ask(fold, plan) for fold in folds]
    rows = classes.real.references, classes.real.queries
    sweeps.session.place(*rows)
    try:
        found = sweeps.measure(asked, "telling the classes apart")
    finally:
        sweeps.session.drop(*rows)
    places = [classes.evaluated(i) for i in range(len(classes.folds))]
    order = np.argsort(np.concatenate([np.concatenate([r, sizes[0] + g]) for r, g in places]))
    evidence = {}
    for estimator in estimators:
        parts = [estimator.evidence(Task(a.fold, s)) for a, s in zip(asked, found, strict=True)]
        evidence[estimator.name] = Evidence.concat(parts).select(order)
    return evidence
