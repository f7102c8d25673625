import numpy as np
import pytest
from scipy import special, stats

from precall.curves.error_rates import Evidence
from precall.headline.recall_at_half import RecallAtHalf

N = 2000


def evidence(odds, is_real):
    return Evidence(special.expit(odds), special.expit(-odds), is_real)


def gaussians(shift, seed=0):
    """Samples of N(0, 1) and of N(shift, 1): the log odds, and which are real."""
    rng = np.random.default_rng(seed)
    x = np.r_[rng.normal(size=N), rng.normal(shift, size=N)]
    return shift * shift / 2 - shift * x, np.arange(2 * N) < N


@pytest.mark.parametrize("shift", [0.5, 1.0, 2.0, 4.0])
def test_gaussians_apart(shift):
    """∫ min(p, 2q): real wins where x < shift/2 − log 2/shift."""
    cut = shift / 2 - np.log(2) / shift
    fpr, fnr = stats.norm.sf(cut), stats.norm.cdf(cut - shift)
    deviation = np.sqrt((fpr * (1 - fpr) + 4 * fnr * (1 - fnr)) / N)
    odds, is_real = gaussians(shift)
    noise = np.random.default_rng(1).normal(size=2 * N)
    family = {"ratio": evidence(odds, is_real), "noise": evidence(noise, is_real)}
    found = RecallAtHalf.of(family, seed=0)
    assert found.value() == pytest.approx(fpr + 2 * fnr, abs=3 * deviation)
    once = np.ones((1, N), np.int16)
    assert found.draws(once, once)[0] == pytest.approx(found.value(), abs=0.01)


def test_a_mode_that_is_too_rare_counts_in_proportion():
    rng = np.random.default_rng(0)
    is_real = np.arange(2 * N) < N
    mode = rng.random(2 * N) < np.where(is_real, 0.1, 0.02)
    odds = np.where(mode, np.log(5), np.log(0.9 / 0.98))
    found = RecallAtHalf.of({"mode": evidence(odds, is_real)}, seed=0)
    assert found.value() == pytest.approx(0.94, abs=0.015)


def test_two_classifiers_are_stacked():
    """Each sees one of two features; together they are the likelihood ratio."""
    rng = np.random.default_rng(0)
    is_real = np.arange(2 * N) < N
    x = rng.normal(size=(2 * N, 2)) + np.where(is_real, 0, 2)[:, None]
    alone, other = (evidence(2 - 2 * x[:, j], is_real) for j in (0, 1))
    together = evidence(4 - 2 * x.sum(axis=1), is_real)
    expected = RecallAtHalf.of({"both": together}, seed=0).value()
    assert RecallAtHalf.of({"a": alone}, seed=0).value() > expected + 0.1
    found = RecallAtHalf.of({"a": alone, "b": other}, seed=0).value()
    assert found == pytest.approx(expected, abs=0.02)


def test_nothing_to_tell_apart_is_one():
    rng = np.random.default_rng(0)
    is_real = np.arange(2 * N) < N
    found = RecallAtHalf.of({"noise": evidence(rng.normal(size=2 * N), is_real)}, seed=0)
    assert found.value() >= 0.98
