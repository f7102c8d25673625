"""Closed forms against simulation, and against each other."""

import re

import numpy as np
import pytest

import precall
from precall import theory
from precall.truth import Gaussian, UniformBox

N, M, REPEATS = 300, 200, 40


@pytest.fixture(scope="module")
def draws():
    """Scores of repeated draws with P = Q, at three k."""
    rng = np.random.default_rng(0)
    names = ["density", "coverage", "precision_coverage", "precision_cover", "recall_cover"]
    return [
        precall.evaluate(
            rng.normal(size=(N, 3)),
            rng.normal(size=(M, 3)),
            estimators=(),
            scores=names,
            score_k=[1, 2, 4],
        ).scores
        for _ in range(REPEATS)
    ]


def test_expectations_hold_within_four_standard_errors(draws):
    for name in draws[0]:
        values = np.array([scores[name].value for scores in draws])
        standard_error = values.std(ddof=1) / np.sqrt(REPEATS)
        expected = draws[0][name].expected_if_equal
        assert abs(values.mean() - expected) <= 4 * standard_error, name


def test_known_values():
    assert theory.expected_cover(1000, 1000, 3, 9) == pytest.approx(0.9678, abs=5e-5)
    # one generated and one other real sample: either is the nearer with probability ½
    assert theory.expected_coverage(2, 1, 1) == 0.5


def test_cover_at_k_1_is_coverage():
    """A k′-ball that holds at least one: coverage at k′."""
    for n, m, k in ((50, 80, 4), (1000, 30, 9)):
        cover = theory.expected_cover(n, m, 1, k)
        assert cover == pytest.approx(theory.expected_coverage(m, n, k))


def test_smallest_k():
    k = theory.smallest_k_for_coverage(1000, 700, 0.97)
    assert theory.expected_coverage(1000, 700, k) >= 0.97
    assert theory.expected_coverage(1000, 700, k - 1) < 0.97
    with pytest.raises(
        precall.InputError,
        match=r"^target=.* is reached by no k below n=5 with .*; lower target\.$",
    ):
        theory.smallest_k_for_coverage(5, 1, 0.999)


def test_sample_size_bound_of_001_theorem_4():
    printed = theory.cover_guarantee(10_000, 64, 0.5, delta=0.05, C=3, form="printed")
    appendix = theory.cover_guarantee(10_000, 64, 0.5, delta=0.05, C=3)
    assert printed.n == pytest.approx(2680, rel=0.03)  # the errata's figure
    assert appendix.n == pytest.approx(10_000 * printed.n, rel=1e-3)
    assert appendix.n > 9 * 10_000 / (3 * 0.5)  # step (5) of the proof, which printed.n is not
    assert printed.n < 9 * 10_000 / (3 * 0.5)
    assert appendix.k_prime == pytest.approx(17_520, rel=0.01)
    assert not appendix.feasible
    assert theory.cover_guarantee(10**6, 2, 0.5).feasible


def test_fixed_k_risk_where_p_is_q_is_trivial():
    """As printed, Eq. 10–11 would give .625 at k = 4 (errata)."""
    same = Gaussian([0.0, 0.0])
    for k in (1, 4, 7):
        assert theory.fixed_k_risk(same, same, k) == pytest.approx(1)
    assert theory.fixed_k_risk(same, same, 4, 0.5) == pytest.approx(0.5)


def test_fixed_k_risk_of_disjoint_supports_is_zero():
    p, q = UniformBox([0.0], [1.0]), UniformBox([2.0], [3.0])
    with np.errstate(invalid="ignore"):
        assert theory.fixed_k_risk(p, q, 3) == 0


@pytest.mark.slow
def test_fixed_k_risk_is_where_the_knn_curve_goes():
    p, q = Gaussian([0.0]), Gaussian([1.5])
    risk = theory.fixed_k_risk(p, q, 4, 1.0)
    values = []
    for seed in range(3):
        real, generated = p.sample(20_000, seed), q.sample(20_000, 100 + seed)
        result = precall.evaluate(
            real, generated, estimators=[precall.KNN(4)], scores=(), split=True, seed=seed
        )
        values.append(result.curves["knn"].at(1.0).precision)
    assert np.mean(values) == pytest.approx(risk, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.expected_coverage(5, 5, 5), "k=5 needs at least 6 samples; got 5."),
        (
            lambda: theory.expected_density(0, 5, 5),
            "n must be a positive integer below 9007199254740992; got 0.",
        ),
        (
            lambda: theory.expected_cover(9, 9, 3, 9),
            "k_prime=9 needs at least 10 samples; got 9.",
        ),
        (
            lambda: theory.smallest_k_for_coverage(9, 9, 1),
            "target must be a number between 0 and 1; got 1.",
        ),
        (
            lambda: theory.cover_guarantee(9, 9, -1),
            "omega must be a number between 1e-100 and 1e+100; got -1.",
        ),
        (
            lambda: theory.cover_guarantee(9, 9, 0.5, form="short"),
            "form must be 'appendix' or 'printed'; got 'short'.",
        ),
        (
            lambda: theory.fixed_k_risk(Gaussian([0.0]), Gaussian([0.0]), 3, -1.0),
            "trade_off must be a number between 0 and inf; got -1.0.",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        call()
