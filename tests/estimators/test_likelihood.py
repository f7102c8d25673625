import re

import numpy as np
import pytest

import precall
from precall.curves.error_rates import ErrorRates
from precall.truth import Gaussian, UniformBox

LAMBDA_UP_TO_ONE = np.geomspace(1e-3, 1, 101)


@pytest.mark.slow
def test_likelihood_reaches_the_true_curve():
    p, q = Gaussian(np.zeros(64)), Gaussian(np.full(64, 1 / 8))
    result = precall.evaluate(
        p.sample(100_000, seed=1),
        q.sample(100_000, seed=2),
        estimators=[precall.Likelihood(p, q)],
        split=False,
    )
    estimated, truth = result.curves["likelihood"], precall.true_curve(p, q)
    below = estimated.at(LAMBDA_UP_TO_ONE).precision - truth.at(LAMBDA_UP_TO_ONE).precision
    above = estimated.at(1 / LAMBDA_UP_TO_ONE).recall - truth.at(1 / LAMBDA_UP_TO_ONE).recall
    assert np.abs(below).max() <= 0.01
    assert np.abs(above).max() <= 0.01
    assert result.protocol.k == {"likelihood": None}


def test_densities_that_underflow():
    """At 2 000 dimensions every density is below the smallest float."""
    p, q = Gaussian(np.zeros(2000)), Gaussian(np.full(2000, 0.02))
    evidence = precall.Likelihood(p, q).weigh(p.sample(500, 1), q.sample(500, 2))
    assert np.isfinite(evidence.for_real).all()
    curve = precall.PRCurve.of(ErrorRates.of(evidence))
    assert curve.total_variation == pytest.approx(
        precall.true_curve(p, q).total_variation, abs=0.06
    )


def test_rows_that_neither_can_produce():
    likelihood = precall.Likelihood(UniformBox([0], [1]), UniformBox([2], [3]))
    evidence = likelihood.weigh(np.array([[0.5], [9.0]]), np.array([[2.5]]))
    assert evidence.for_real.tolist() == [1, 0, 0]
    assert evidence.for_generated.tolist() == [0, 0, 1]


def test_functions_will_do():
    rows = np.array([[0.0], [1.0], [2.0]])
    as_functions = precall.Likelihood(lambda x: -x[:, 0], lambda x: x[:, 0]).weigh(rows, rows)
    np.testing.assert_allclose(as_functions.for_real, 1 / (1 + np.exp([0, 2, 4, 0, 2, 4])))


def test_densities_must_make_sense():
    rows = np.zeros((3, 2))
    with pytest.raises(
        precall.InputError, match=r"^p must have a log_density method or be a function; got 5\.$"
    ):
        precall.Likelihood(5, 6)
    for p, message in (
        (lambda x: x, "p must return one log density per row; got shape (3, 2) for 3 rows."),
        (
            lambda x: x[:, 0] + np.nan,
            "p must return log densities that are finite or -inf; got NaN or +inf.",
        ),
    ):
        with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
            precall.Likelihood(p, p).weigh(rows, rows)
