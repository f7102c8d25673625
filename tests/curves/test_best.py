"""The combined curve is the tightest, and honest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import precall
from precall.curves.best import best_curve
from precall.curves.error_rates import Evidence
from precall.truth import Gaussian

SAMPLES = st.integers(4, 20).flatmap(
    lambda n: st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2 * n, max_size=2 * n),
        min_size=1,
        max_size=3,
    )
)


def as_evidence(samples):
    a, b = np.array(samples).T
    return Evidence(a, b, np.arange(len(a)) < len(a) // 2)


@given(SAMPLES)
def test_it_is_a_curve_under_the_trivial_one(candidates):
    curve = best_curve([as_evidence(samples) for samples in candidates], seed=0)
    grid = np.tan(np.linspace(0.01, 1.56, 30))
    assert (curve.at(grid).precision <= np.minimum(grid, 1) + 1e-12).all()
    assert curve.max_precision <= 1


def test_noise_is_not_mistaken_for_a_difference():
    """Of a hundred useless estimators the best classifiers look good, until measured."""
    rng = np.random.default_rng(0)
    is_real = np.arange(2000) < 1000
    candidates = [Evidence(*rng.random((2, 2000)), is_real) for _ in range(50)]
    best_looking = min(
        precall.PRCurve.of(precall.ErrorRates.of(evidence)).at(1.0).precision
        for evidence in candidates
    )
    assert best_looking < 0.94
    assert best_curve(candidates, seed=0).at(1.0).precision > 0.96


def test_where_estimators_are_good_at_different_things_it_is_better_than_each():
    """One sees what is invented, another what is dropped."""
    rng = np.random.default_rng(1)
    is_real = np.arange(4000) < 2000
    dropped = is_real & (rng.random(4000) < 0.4)
    invented = ~is_real & (rng.random(4000) < 0.4)
    sees_dropped = Evidence(np.where(dropped, 9, 1), np.ones(4000), is_real)
    sees_invented = Evidence(np.ones(4000), np.where(invented, 9, 1), is_real)
    both = best_curve([sees_dropped, sees_invented], seed=0)
    assert both.max_recall < 0.65
    assert both.max_precision < 0.65
    for one in (sees_dropped, sees_invented):
        curve = precall.PRCurve.of(precall.ErrorRates.of(one))
        assert both.area < curve.area - 0.1


def test_nothing_to_combine():
    assert best_curve([], seed=0) is None
    assert best_curve([as_evidence([(1, 0), (0, 1)])], seed=0) is None


def test_on_gaussians_it_is_as_tight_as_the_tightest():
    p, q = Gaussian(np.zeros(16)), Gaussian(np.full(16, 0.5))
    truth = precall.true_curve(p, q)
    real, generated = p.sample(3000, seed=0), q.sample(3000, seed=1)
    result = precall.evaluate(
        real, generated, estimators=["ipr", "coverage", "knn", "parzen", "classifier"], scores=()
    )
    tightest = max(curve.iou(truth) for curve in result.curves.values())
    assert result.best_curve.iou(truth) > tightest - 0.01
    assert "best" in repr(result)
    again = precall.Evaluation.from_json(result.to_json())
    assert again.best_curve.fpr.tolist() == result.best_curve.fpr.tolist()


def test_without_a_split_nothing_is_promised():
    rng = np.random.default_rng(0)
    result = precall.evaluate(*rng.normal(size=(2, 50, 3)), split=False, scores=())
    assert result.best_curve is None
