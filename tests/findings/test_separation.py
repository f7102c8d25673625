"""Modes are told apart from clusters of one law."""

import numpy as np
import pytest
from scipy.stats import binom

from precall.findings.separation import _between, separated

NUMBERS = (2, 3, 4, 6, 8, 12)
ONE_MODE = {
    "a Gaussian": lambda rng, d: rng.normal(size=(600, d)),
    "a stretched Gaussian": lambda rng, d: rng.normal(size=(600, d)) * np.geomspace(1, 50, d),
    "a cube": lambda rng, d: rng.random((600, d)),
    "heavy tails": lambda rng, d: rng.standard_t(3, (600, d)),
    "rounded": lambda rng, d: np.rint(rng.normal(0, 6, (600, d))),
}


def n_modes(rows, seed=0):
    return separated(rows, NUMBERS, 0.05, np.random.default_rng(seed)).n_modes


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 16, 100])
@pytest.mark.parametrize("law", ONE_MODE)
def test_one_law_is_one_mode(law, d):
    n_runs = 15
    several = sum(
        n_modes(ONE_MODE[law](np.random.default_rng(seed), d), seed) > 1 for seed in range(n_runs)
    )
    assert several <= binom.ppf(0.9999, n_runs, 0.05)


@pytest.mark.parametrize("d", [2, 16, 100])
def test_modes_that_are_apart_are_found(d):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        centers = 8 * np.eye(4, d) if d > 2 else np.array([[0, 0], [8, 0], [0, 8], [8, 8]])
        rows = centers[rng.integers(4, size=800)] + rng.normal(size=(800, d))
        assert n_modes(rows, seed) == 4


def test_a_small_mode_is_found():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 8))
    rows[:90, 0] += 9
    assert n_modes(rows) == 2


def test_digits_have_several_modes():
    from sklearn.datasets import load_digits

    assert n_modes(load_digits().data) >= 5


def test_a_feature_that_is_constant_but_for_one_row_makes_no_noise():
    rng = np.random.default_rng(0)
    rows = np.c_[
        8 * np.eye(3)[rng.integers(3, size=900)] + rng.normal(size=(900, 3)), np.zeros((900, 4))
    ]
    rows[5, 3:] = 50
    assert n_modes(rows) >= 3


def test_few_and_equal_rows():
    assert separated(np.ones((50, 2)), NUMBERS, 0.05, np.random.default_rng(0)) is None
    assert n_modes(np.repeat(np.eye(3), 100, axis=0)) == 3  # three points, again and again


def test_regions_between_centres_are_convex():
    rng = np.random.default_rng(0)
    places, rows = rng.normal(size=(6, 3)), 2 * rng.normal(size=(4000, 3))
    inside = rows[_between(rows, places, 0, 1)]
    assert _between(places, places, 0, 1).tolist() == [True, True, *[False] * 4]
    mixed = inside[rng.permutation(len(inside))]
    share = rng.random((len(inside), 1))
    assert _between(share * inside + (1 - share) * mixed, places, 0, 1).all()
