import numpy as np
import pytest

from precall.data.feature_sets import Rows
from precall.headline.scaling import RobustScale, in_spreads

RNG = np.random.default_rng(0)


def coordinates(rows, of=None):
    return RobustScale.of(Rows(rows if of is None else of)).apply(Rows(rows)).array


def test_the_spread_of_a_gaussian_is_its_interquartile_range():
    rows = RNG.normal(3.0, 2.0, size=(20_001, 1))
    scale = RobustScale.of(Rows(rows))
    assert scale.center[0] == pytest.approx(np.median(rows))
    first, third = np.quantile(rows, [0.25, 0.75])
    assert scale.spread[0] == pytest.approx(third - first, rel=0.03)
    z = (rows - np.median(rows)) / scale.spread
    np.testing.assert_allclose(in_spreads(scale.apply(Rows(rows)).array), z, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e3, 1e30])
def test_units_do_not_matter(factor):
    rows = RNG.normal(size=(200, 3))
    np.testing.assert_allclose(coordinates(rows * factor), coordinates(rows), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("where", [10.0, 1e6, 1e18, 1e308])
def test_one_outlier_decides_no_unit(where):
    rows = RNG.normal(size=(1000, 2))
    spoiled = np.r_[rows[:-1], np.full((1, 2), where)]
    found = coordinates(spoiled)
    np.testing.assert_allclose(found[:-1], coordinates(rows)[:-1], atol=0.03)
    assert np.isfinite(found).all()


def test_features_that_are_mostly_zero_have_a_spread():
    rows = np.zeros((4000, 3))
    rows[:30, 0] = 5.0  # enough that deviate
    rows[:4, 1] = -7.0  # too few: all such features have one spread in common
    rows[4:6, 2] = 70.0
    scale = RobustScale.of(Rows(rows))
    np.testing.assert_array_equal(scale.spread, [5.0, 7.0, 7.0])
    assert RobustScale.of(Rows(np.ones((60, 2)))).spread.tolist() == [1.0, 1.0]


def test_threads_change_nothing():
    rows = Rows(RNG.normal(size=(100, 200)))
    one, four = (RobustScale.of(rows, threads) for threads in (1, 4))
    np.testing.assert_array_equal(one.spread, four.spread)
