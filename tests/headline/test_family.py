import numpy as np
from scipy.stats import ks_2samp

from precall.headline.family import most_telling, some

RNG = np.random.default_rng(0)


def test_the_features_that_differ_most_are_those_of_kolmogorov_and_smirnov():
    real, generated = RNG.normal(size=(200, 30)), RNG.normal(size=(150, 30))
    real[:, ::3] = real[:, ::3].round()
    generated[:, ::3] = generated[:, ::3].round()
    generated[:, 9] += 1
    generated[:, 13] *= 4
    statistics = ks_2samp(real, generated).statistic
    found = most_telling(real, generated, 5)
    np.testing.assert_array_equal(found, np.sort(np.argsort(-statistics, kind="stable")[:5]))
    assert {9, 13} < set(found.tolist())
    assert most_telling(real, generated, 30) == slice(None)


def test_some_rows_keep_their_order():
    rows = np.arange(100)
    chosen = some(rows, 10, np.random.default_rng(0))
    assert len(chosen) == 10
    assert (np.diff(chosen) > 0).all()
    assert some(rows, 100, RNG) is rows
