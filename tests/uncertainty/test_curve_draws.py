"""Curves of samples drawn again: read off a grid, and as variable as they should be."""

import numpy as np
import pytest

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.judged import Judged, mean_curve
from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import SUMMARIES
from precall.uncertainty.curve_draws import TRADE_OFFS, CurveDraws, summaries_on_grid


def as_judged(seed, n=400):
    rng = np.random.default_rng(seed)
    is_real = np.arange(2 * n) < n
    score = rng.normal(size=2 * n) + 0.8 * is_real
    evidence = Evidence(np.exp(score), np.ones(2 * n), is_real)
    return evidence, Judged.best_of(evidence, np.arange(2 * n) % n)


def test_the_best_classifiers_have_the_curve_of_the_family():
    evidence, judged = as_judged(0)
    curve, expected = judged.curve(), PRCurve.of(ErrorRates.of(evidence))
    assert curve.fpr.tolist() == expected.fpr.tolist()
    assert curve.fnr.tolist() == expected.fnr.tolist()
    assert mean_curve([[judged], [judged]]).area == pytest.approx(curve.area)


def test_weights_of_one_give_the_curve_itself():
    _, judged = as_judged(1)
    ones = np.ones((1, 400), np.int16)
    fpr, fnr = judged.rates(ones, ones)
    smallest = [(lam * fpr + fnr).min() for lam in TRADE_OFFS]
    np.testing.assert_allclose(smallest, judged.curve().at(TRADE_OFFS).precision)


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries_on_the_grid_are_those_of_the_curve(name):
    for seed in range(3):
        curve = as_judged(seed)[1].curve()
        found = summaries_on_grid(curve.at(TRADE_OFFS).precision[None])[name][0]
        assert found == pytest.approx(SUMMARIES[name](curve), abs=0.01)


def test_they_vary_like_a_share_of_the_samples():
    """At λ = 1 and a fixed classifier α is a sum of two shares."""
    rng = np.random.default_rng(0)
    n = 1000
    is_real = np.arange(2 * n) < n
    called = rng.random(2 * n) < np.where(is_real, 0.7, 0.2)
    evidence = Evidence(called.astype(int), (~called).astype(int), is_real)
    judged = Judged.best_of(evidence, np.arange(2 * n) % n)
    (draws,) = CurveDraws.of([[[judged]]], (n, n), seed=0)
    spread = draws.precision[:, len(TRADE_OFFS) // 2].std(ddof=1)
    assert spread == pytest.approx(np.sqrt((0.3 * 0.7 + 0.2 * 0.8) / n), rel=0.15)
    wider = draws.at_least(np.full(len(TRADE_OFFS), 0.1))
    varied, did = (of.precision.std(axis=0, ddof=1) for of in (wider, draws))
    assert (varied[did > 1e-9] >= 0.1 - 1e-12).all()
    assert (varied[did < 1e-12] < 1e-12).all()


def test_splits_that_share_samples_are_drawn_alike():
    _, judged = as_judged(2)
    once, twice = CurveDraws.of([[[judged]], [[judged]] * 2], (400, 400), seed=0, threads=2)
    np.testing.assert_allclose(once.precision, twice.precision)
