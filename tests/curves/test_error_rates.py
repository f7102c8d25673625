"""The counted family against every classifier of it, tried one γ at a time."""

import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

import precall
from precall.curves.error_rates import ErrorRates, Evidence

SAMPLES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=2, max_size=25
).filter(lambda samples: len({label for *_, label in samples}) == 2)


def evidence(samples):
    a, b, is_real = (np.array(column) for column in zip(*samples, strict=True))
    return Evidence(a, b, is_real)


def calls_real(gamma, a, b):
    """The rule of the family, word by word, in exact arithmetic."""
    if gamma == "∞":
        return a > 0
    if gamma == 0:
        return b == 0
    return gamma * a >= b if gamma >= 1 else gamma * a > b


def family(samples):
    """Errors of every classifier: all γ at, and between, the ratios where a decision changes."""
    ratios = {Fraction(b, a) for a, b, _ in samples if a > 0 and b > 0} | {Fraction(1)}
    between = sorted(ratios)
    gammas = set(between) | {between[0] / 2, between[-1] * 2, Fraction(999, 1000)}
    gammas |= {(x + y) / 2 for x, y in pairwise(between)}
    found = {(sum(real for *_, real in samples), 0), (0, sum(not real for *_, real in samples))}
    for gamma in [*gammas, 0, "∞"]:
        called = [(calls_real(gamma, a, b), real) for a, b, real in samples]
        found.add(
            (sum(real and not c for c, real in called), sum(c and not real for c, real in called))
        )
    return found


@given(SAMPLES)
def test_all_classifiers_of_the_family_and_no_others(samples):
    rates = ErrorRates.of(evidence(samples))
    found = set(
        zip(rates.real_called_generated.tolist(), rates.generated_called_real.tolist(), strict=True)
    )
    assert found == family(samples)


@given(SAMPLES)
def test_each_classifier_is_known_by_its_gamma(samples):
    found = evidence(samples)
    rates = ErrorRates.of(found)
    assert np.count_nonzero(np.isnan(rates.gamma)) == 2
    for gamma, fpr, fnr in zip(rates.gamma, rates.fpr, rates.fnr, strict=True):
        if not np.isnan(gamma):
            called = found.called_real(gamma)
            assert np.mean(~called[found.is_real]) == fpr
            assert np.mean(called[~found.is_real]) == fnr


@given(SAMPLES)
def test_the_best_classifiers_are_the_hull(samples):
    found = evidence(samples)
    rates = ErrorRates.of(found)
    of_hull = set(zip(*(part.tolist() for part in rates.hull()), strict=True))
    measured = {
        (np.mean(~called[found.is_real]), np.mean(called[~found.is_real]))
        for called in map(found.called_real, rates.best())
    }
    assert of_hull - {(0.0, 1.0), (1.0, 0.0)} <= measured <= of_hull


@given(SAMPLES)
def test_mean_risk_is_an_average_over_weights(samples):
    rates = ErrorRates.of(evidence(samples))
    w = np.linspace(0, 1, 2001)[:, None]
    risk = np.min(w * rates.fpr + (1 - w) * rates.fnr, axis=1)
    assert rates.mean_risk == pytest.approx(trapezoid(risk, w[:, 0]), abs=1e-6)


def test_rates_are_shares_of_each_class():
    rates = ErrorRates.of(evidence([(1, 0, True), (0, 1, True), (0, 1, True), (1, 0, False)]))
    assert rates.n_real == 3
    assert rates.n_generated == 1
    assert set(rates.fpr.tolist()) <= {0, 1 / 3, 2 / 3, 1}


def test_hull_is_found_on_counts():
    """A share that is 0 is exactly 0, however many samples there are."""
    n = 10_007
    samples = Evidence(np.ones(2 * n), np.tile([0, 1], n), np.tile([True, False], n))
    fpr, fnr = ErrorRates.of(samples).hull()
    assert (fpr.tolist(), fnr.tolist()) == ([0.0], [0.0])


def test_pooled_folds_add_their_errors():
    one = [(3, 1, True), (0, 2, False), (1, 1, False)]
    two = [(2, 2, True), (4, 0, True), (0, 0, False)]
    pooled = ErrorRates.of(Evidence.concat([evidence(one), evidence(two)]))
    together = ErrorRates.of(evidence(one + two))
    np.testing.assert_array_equal(pooled.real_called_generated, together.real_called_generated)


def test_one_class_is_not_enough():
    message = "evidence must be of real and of generated samples; got only one class."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        ErrorRates.of(evidence([(1, 0, True), (2, 0, True)]))
