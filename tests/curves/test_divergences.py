"""f-divergences of a curve against those of the histograms it came from."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from precall.curves.pr_curve import PRCurve
from strategies import weights

HISTOGRAMS = st.integers(1, 6).flatmap(lambda n: st.tuples(weights(n), weights(n)))


@given(HISTOGRAMS)
def test_the_curve_determines_them(pair):
    p, q = (np.array(side) / sum(side) for side in pair)
    curve = PRCurve.from_histograms(p, q)
    np.testing.assert_allclose(curve.total_variation, np.abs(p - q).sum() / 2, atol=1e-12)
    np.testing.assert_allclose(curve.jensen_shannon, jensenshannon(p, q) ** 2, atol=1e-9)
    hellinger = math.sqrt(max(0, 1 - np.sqrt(p * q).sum()))
    np.testing.assert_allclose(curve.hellinger, hellinger, atol=1e-7)
    np.testing.assert_allclose(curve.kl_divergence(), entropy(p, q), atol=1e-9)
    np.testing.assert_allclose(curve.kl_divergence(reverse=True), entropy(q, p), atol=1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        chi2 = np.where(p > 0, p**2 / q, 0).sum() - 1
    np.testing.assert_allclose(curve.chi2_divergence(), chi2, atol=1e-9)


def test_infinite_as_soon_as_a_mode_is_missed():
    drops = PRCurve.from_histograms([0.5, 0.5], [1, 0])
    assert drops.kl_divergence() == drops.chi2_divergence() == math.inf
    assert math.isclose(drops.kl_divergence(reverse=True), math.log(2))
    assert math.isclose(drops.chi2_divergence(reverse=True), 1.0)
