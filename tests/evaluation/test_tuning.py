"""k = "cv": chosen within the fit samples."""

import re

import numpy as np
import pytest

import precall
from engine_cases import measure
from precall.curves.error_rates import ErrorRates, Evidence
from precall.data.feature_sets import FeatureSet
from precall.data.splits import HoldOut
from precall.engines.reference import ReferenceEngine
from precall.estimators import NEIGHBOR_ESTIMATORS, Task
from precall.evaluation.tuning import _grid, _halves, needs_tuning, tune
from precall.neighbors.sweeps import open_sweeps
from precall.truth import Gaussian

CLASSES = list(NEIGHBOR_ESTIMATORS.values())


def fold_of(n, m, d=4, shift=0.5):
    rng = np.random.default_rng(0)
    real, generated = rng.normal(0, 1, (n, d)), rng.normal(shift, 1, (m, d))
    (fold,) = HoldOut().folds(
        FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated"), seed=0
    )
    return fold


def tuned(named, fold):
    with open_sweeps("reference") as sweeps:
        return tune(sweeps, named, fold, 3)


def test_the_k_of_least_risk_averaged_over_trade_offs():
    """Word by word, with one engine call a k."""
    fold = fold_of(120, 150)
    found = tuned({cls.name: cls("cv") for cls in CLASSES}, fold)
    for cls in CLASSES:
        risks = {}
        for k in _grid(fold):
            parts = []
            for half in _halves(fold, 3):
                statistics = measure(ReferenceEngine(), half, cls(k).needs())
                parts.append(cls(k).evidence(Task(half, statistics)))
            rates = ErrorRates.of(Evidence.concat(parts))
            w = np.linspace(0, 1, 20_001)[:, None]
            risks[k] = np.min(w * rates.fpr + (1 - w) * rates.fnr, axis=1).mean()
        assert risks[found[cls.name].k] == pytest.approx(min(risks.values()), abs=1e-4)


def test_only_fit_samples_are_looked_at():
    fold = fold_of(80, 60)
    fitted = {tuple(row) for row in fold.real.fit.tile(0, 40)}
    for half in _halves(fold, 0):
        rows = [*half.real.fit.tile(0, 99), *half.real.evaluated.tile(0, 99)]
        assert {tuple(row) for row in rows} == fitted
        assert len(rows) == len(fitted)


def test_a_given_k_stays():
    named = {"knn": precall.KNN(5), "ipr": precall.IPR("cv")}
    found = tuned(named, fold_of(60, 60))
    assert found["knn"] is named["knn"]
    assert isinstance(found["ipr"].k, int)
    assert not needs_tuning([precall.KNN(5)])


def test_it_finds_that_many_dimensions_want_large_k():
    p, q = Gaussian(np.zeros(32)), Gaussian(np.full(32, 1.5 / np.sqrt(32)))
    truth = precall.true_curve(p, q)
    real, generated = p.sample(2000, seed=0), q.sample(2000, seed=1)
    result = precall.evaluate(
        real,
        generated,
        estimators=[precall.KNN(4), precall.KNN("cv")],
        scores=(),
    )
    assert result.curves["knn_cv"].iou(truth) > result.curves["knn_k4"].iou(truth) + 0.1
    choices = result.protocol.choices["knn_cv"]
    assert len(choices) == 2
    assert all(re.fullmatch(r"k=\d+", choice) for choice in choices)
    assert result.protocol.k["knn_cv"] is None


def test_too_few_to_halve():
    message = (
        "k='cv' needs at least 4 samples to fit on; generated has 6, of which the split leaves 3."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.evaluate(np.eye(12)[:, :6], np.eye(6), estimators=[precall.KNN("cv")], scores=())


def test_the_smallest_that_can_be_tuned():
    rng = np.random.default_rng(0)
    estimators = [cls("cv") for cls in CLASSES]
    result = precall.evaluate(
        rng.normal(size=(8, 2)), rng.normal(size=(8, 2)), estimators=estimators, scores=()
    )
    assert set(result.protocol.choices) == {cls.name for cls in CLASSES}
