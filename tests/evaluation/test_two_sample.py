"""The two-sample test: its level, its power, its arguments."""

import re

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.naive_bayes import GaussianNB

import precall
from precall.uncertainty.two_sample import binomial_test

BAYES = precall.Trained(GaussianNB())


def p_values(n_draws, shift, n=40, m=40, **how):
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        real, generated = rng.normal(0, 1, (n, 3)), rng.normal(shift, 1, (m, 3))
        test = precall.two_sample_test(real, generated, estimator=BAYES, seed=seed, **how)
        found.append(test.p_value)
    return np.array(found)


@pytest.mark.parametrize("split", [True, precall.CoinFlip()])
@pytest.mark.parametrize("m", [40, 60])
def test_binomial_level(split, m):
    """At P = Q a p-value of at most 5 % has a chance of at most 5 %, and some."""
    rejected = int((p_values(300, 0.0, m=m, split=split) <= 0.05).sum())
    assert rejected <= binom.ppf(0.9999, 300, 0.05)


@pytest.mark.slow
def test_permutation_level():
    how = {"split": precall.CrossFit(3), "n_permutations": 19}
    rejected = int((p_values(80, 0.0, n=24, m=20, **how) <= 0.05).sum())
    assert rejected <= binom.ppf(0.9999, 80, 0.05)


def test_power():
    assert (p_values(20, 0.7, n=100, m=100, split=True) < 0.05).mean() > 0.9
    folds = p_values(5, 0.7, n=100, m=100, split=precall.CrossFit(2), n_permutations=19)
    assert folds.tolist() == [0.05] * 5


def test_by_hand():
    """6 of 8 right: P(Bin(8, ½) ≥ 6) = 37/256."""
    ratios = np.array([2.0, 2.0, 2.0, 0.5]), np.array([0.5, 0.5, 0.5, 2.0])
    test = binomial_test(ratios, seed=0)
    assert (test.accuracy, test.p_value) == (0.75, pytest.approx(37 / 256))
    assert binomial_test((np.ones(5), np.ones(5)), seed=0).accuracy == 0.5


def test_a_single_split_gives_it_for_free():
    rng = np.random.default_rng(0)
    real, generated = rng.normal(0, 1, (200, 4)), rng.normal(1, 1, (150, 4))
    result = precall.evaluate(real, generated, estimators=["knn", BAYES], split=True, scores=())
    assert set(result.tests) == {"knn", "classifier_gaussiannb"}
    assert all(test.p_value < 1e-6 and test.method == "binomial" for test in result.tests.values())
    assert "test for P = Q" in repr(result)
    alone = precall.two_sample_test(real, generated, estimator=BAYES, split=True)
    assert alone == result.tests["classifier_gaussiannb"]
    folds = precall.evaluate(real, generated, estimators=["knn"], scores=())
    assert folds.tests == {}


def test_neighbours_can_test_too():
    rng = np.random.default_rng(0)
    real, generated = rng.normal(0, 1, (60, 4)), rng.normal(1, 1, (50, 4))
    test = precall.two_sample_test(
        real, generated, estimator=precall.KNN("cv"), split=precall.CrossFit(2), n_permutations=9
    )
    assert test.p_value == 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": False}, "a two-sample test needs samples that were not fitted; pass a split."),
        ({"n_permutations": 0}, "n_permutations must be an integer of at least 1; got 0."),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1."),
        (
            {"estimator": precall.KNN(50), "split": True},
            "k=50 needs at least 51 samples to fit on; real has 40, of which the split leaves 20.",
        ),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.two_sample_test(np.eye(40), np.eye(40) * 2, **arguments)
