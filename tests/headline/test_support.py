import numpy as np
import pytest
from scipy import stats

from precall.headline.outlyingness import (
    ENOUGH,
    EPSILON,
    Outlyingness,
    n_outside,
    settled_epsilon,
    threshold_of,
)
from precall.headline.support import Support

RNG = np.random.default_rng(0)
N = 1000


def support(of_references, of_queries):
    """Tests of given outlyingness, (n_tests, n) and (n_tests, m)."""
    tests = [
        Outlyingness(f"test {j}", r, q, lambda i, j=j: f"by {j}")
        for j, (r, q) in enumerate(zip(of_references, of_queries, strict=True))
    ]
    return Support(tests, np.arange(len(of_queries[0])) % 2 == 0)


@pytest.mark.parametrize("n", [50, 300, 598, 599, 1000, 5000])
def test_another_sample_is_outside_with_a_chance_of_epsilon_at_most(n):
    """The rank of another sample is uniform: the proof of docs/headline.md, by its numbers."""
    assert (n_outside(n) + 1) / (n + 1) <= settled_epsilon(n)
    assert (settled_epsilon(n) > EPSILON) == (n < ENOUGH)
    outside = [np.mean(RNG.random(50) > threshold_of(RNG.random(n))) for _ in range(400)]
    assert np.mean(outside) <= settled_epsilon(n) + 3 * np.std(outside) / 20


def test_ties_only_help():
    for values in (np.zeros(N), RNG.integers(0, 3, N).astype(float)):
        assert np.mean(values > threshold_of(values)) <= EPSILON


def test_the_share_is_that_of_the_strictest_test():
    queries = RNG.random((3, N))
    queries[1, :300] = 2.0
    found = support(RNG.random((3, N)), queries)
    assert found.deciding().test == "test 1"
    assert found.value() == pytest.approx(0.7, abs=0.01)
    assert found.reasons()[0] == "by 1"
    assert found.by_test()["test 1"] == pytest.approx(found.value())


def test_the_smallest_of_many_is_not_biased():
    """Of ten tests that say nothing the smallest share would be below 1 by far more."""
    values, smallest = [], []
    for _ in range(100):
        found = support(RNG.random((10, N)), RNG.random((10, N)))
        values.append(found.value())
        smallest.append(min(found.by_test().values()))
    assert np.mean(values) >= 0.993
    assert np.mean(values) > np.mean(smallest) + 0.002


def test_as_many_of_each_make_a_draw_the_value():
    queries = RNG.random((3, N))
    queries[2, :100] = 2.0
    found = support(RNG.random((3, N)), queries)
    once = np.ones((1, N), np.int16)
    assert found.draws(once, once)[0] == pytest.approx(found.value(), abs=1e-12)
    drawn = RNG.integers(0, N, N)
    weights = np.bincount(drawn, minlength=N)[None].astype(np.int16)
    again = Support(
        [Outlyingness(t.test, t.of_references, t.of_queries[drawn], t.reason) for t in found.tests],
        found.judges[drawn],
    )
    assert found.draws(once, weights)[0] == pytest.approx(again.value(), abs=1e-12)


@pytest.mark.parametrize("n", [100, 1000])
def test_claims_are_seldom_too_much(n):
    """A quarter of one test's queries is outside for certain; the others say nothing."""
    too_much, claimed = [], []
    for _ in range(400):
        queries = RNG.random((6, n))
        queries[0, RNG.random(n) < 0.25] = 2.0
        share, epsilon = support(RNG.random((6, n)), queries).surely_outside(0.95)
        claimed.append(share)
        too_much.append(share > 0.25)  # (Q − P)/(1 − P) is .25 outside of whatever P leaves ε of
        assert epsilon >= EPSILON
    assert np.mean(too_much) <= 0.05
    assert np.mean(claimed) > 0.08
    nothing = [support(RNG.random((6, n)), RNG.random((6, n))) for _ in range(400)]
    assert np.mean([one.surely_outside(0.95)[0] > 0 for one in nothing]) <= 0.05


def test_claims_are_clopper_and_pearsons():
    queries = np.zeros((1, N))
    queries[0, :200] = 2.0
    share, epsilon = support(RNG.random((1, N)), queries).surely_outside(0.9)
    least = stats.binomtest(200, N).proportion_ci(0.9, method="exact").low
    assert share == pytest.approx((least - epsilon) / (1 - epsilon))
