import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import precall
from engine_cases import measure
from precall.data.feature_sets import FeatureSet
from precall.data.splits import CrossFit, HoldOut, NoSplit
from precall.engines.reference import ReferenceEngine
from precall.estimators import NEIGHBOR_ESTIMATORS, Coverage, Task, as_estimator
from precall.neighbors.statistics import NeighborPlan
from strategies import pairs_with_k


def evidence(estimators, real, generated, split):
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    plan = NeighborPlan().union(estimator.needs() for estimator in estimators)
    for fold in split.folds(*sets, seed=0):
        statistics = measure(ReferenceEngine(), fold, plan)
        yield [estimator.evidence(Task(fold, statistics)) for estimator in estimators]


@given(pairs_with_k(), st.sampled_from([NoSplit(), HoldOut(), CrossFit(2)]))
def test_coverage_and_knn_agree_at_the_extremes(pair, split):
    """Sykes et al. 2024, footnote 4: on every sample, ties included."""
    real, generated, k = pair
    if not isinstance(split, NoSplit):
        k = min(len(real), len(generated)) // 2
    for coverage, knn in evidence([Coverage(k), precall.KNN(k)], real, generated, split):
        np.testing.assert_array_equal(coverage.for_real > 0, knn.for_real > 0)
        np.testing.assert_array_equal(coverage.for_generated > 0, knn.for_generated > 0)


@given(pairs_with_k())
def test_without_a_split_no_extreme_classifier_errs_on_its_own_class(pair):
    """Sykes et al. 2024 §3.1: fpr = 0 at γ = ∞ and fnr = 0 at γ = 0, by design."""
    real, generated, k = pair
    estimators = [cls(k) for cls in NEIGHBOR_ESTIMATORS.values()]
    (found,) = evidence(estimators, real, generated, NoSplit())
    for one in found:
        assert (one.for_real[one.is_real] > 0).all()
        assert (one.for_generated[~one.is_real] > 0).all()


def squared(a, b):
    return ((a[:, None] - b) ** 2).sum(axis=2)


@given(pairs_with_k())
def test_the_extreme_classifiers_are_the_scalars_of_the_field(pair):
    """Sykes et al. 2024 §3.1: fnr at γ = ∞ is Eq. 4 for ipr at k, Eq. 5 for coverage at k − 1."""
    real, generated, k = pair
    estimators = [precall.IPR(k), Coverage(k)]
    ((ipr, coverage),) = evidence(estimators, real, generated, NoSplit())
    result = precall.evaluate(real, generated, estimators=estimators, split=False)

    radius = np.sort(squared(real, real), axis=1)[:, k]  # itself comes first
    improved_precision = (squared(generated, real) <= radius).any(axis=1)
    np.testing.assert_array_equal(ipr.for_real[~ipr.is_real] > 0, improved_precision)
    assert result.curves["ipr"].max_precision <= improved_precision.mean()

    radius = np.sort(squared(generated, generated), axis=1)[:, k - 1]
    precision_coverage = (squared(generated, real) <= radius[:, None]).any(axis=1)
    np.testing.assert_array_equal(coverage.for_real[~coverage.is_real] > 0, precision_coverage)
    assert result.curves["coverage"].max_precision <= precision_coverage.mean()


def test_sqrt_is_of_the_smaller_class():
    for n, m, k in ((10_000, 10_000, 100), (10_000, 30, 5), (31, 900, 6), (2, 2, 1)):
        assert precall.KNN().resolved(n, m).k == k
    assert precall.KNN(7).resolved(10_000, 10_000).k == 7


def test_names():
    assert list(NEIGHBOR_ESTIMATORS) == ["ipr", "coverage", "knn", "parzen"]
    assert as_estimator("parzen") == precall.Parzen(k="sqrt")
    assert repr(precall.IPR(3)) == "IPR(k=3)"


@pytest.mark.parametrize("k", [0, -1, 2.5, "cube", None, True, np.array([1, 2])])
def test_k_must_make_sense(k):
    message = f"k must be a positive integer, 'sqrt' or 'cv'; got {k!r}."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.KNN(k)


def test_unknown_estimators():
    known = "'ipr', 'coverage', 'knn', 'parzen', 'classifier', 'clusters'"
    message = f"estimator 'foo' is unknown; choose from {known}."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        as_estimator("foo")
    message = "estimators must hold names or estimator objects such as precall.KNN(k=100); got 3."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        as_estimator(3)
