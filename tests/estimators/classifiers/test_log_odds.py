import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import precall
from precall.curves.error_rates import ErrorRates, Evidence
from precall.estimators.classifiers import log_odds
from precall.estimators.classifiers.scales import calibration, mean_risk

ROWS = np.arange(6.0).reshape(3, 2)


class Answers:
    """Gives the answers it was told to."""

    def __init__(self, **answers):
        for method, answer in answers.items():
            setattr(self, method, lambda rows, answer=answer: answer)


def test_from_scores_and_from_chances():
    assert log_odds(Answers(decision_function=[-1.0, 0.0, 2.0]), ROWS).tolist() == [-1, 0, 2]
    chances = np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(
        log_odds(Answers(predict_proba=chances), ROWS), [-np.inf, 0, np.log(3)], atol=1e-15
    )
    np.testing.assert_allclose(
        log_odds(Answers(predict_proba=chances[:, 1:]), ROWS), [-np.inf, 0, np.log(3)], atol=1e-15
    )


def test_chances_of_zero_for_both_are_even_odds():
    chances = np.array([[0.0, 0.0], [0.0, 0.5], [0.5, 0.0]])
    assert log_odds(Answers(predict_proba=chances), ROWS).tolist() == [0, np.inf, -np.inf]


def test_label_one_means_real_wherever_it_stands():
    reversed_ = Answers(predict_proba=np.array([[0.9, 0.1]] * 3))
    reversed_.classes_ = np.array([1, 0])
    np.testing.assert_allclose(log_odds(reversed_, ROWS), np.log(9))


def test_large_scores_keep_their_order():
    scores = np.array([-1e300, -1e3, -40.0, -30.0, 0.5, 31.0, 1e308])
    found = log_odds(Answers(decision_function=scores), np.zeros((7, 1)))
    assert (np.diff(found) > 0).all()
    assert np.abs(found).max() < 745  # exp of it is a number
    assert found[4] == 0.5


@pytest.mark.parametrize(
    ("answers", "seen"),
    [
        ({"decision_function": np.array([0.0, np.nan, 1.0])}, "values that are not finite"),
        ({"decision_function": np.zeros((3, 3))}, "shape (3, 3) for 3 rows"),
        ({"predict_proba": np.array([0.1, 1.2, 0.3])}, "values outside of 0 to 1"),
        ({"predict_proba": np.array([0.1, np.nan, 0.3])}, "values outside of 0 to 1"),
        ({"predict_proba": np.zeros(2)}, "shape (2,) for 3 rows"),
    ],
)
def test_nonsense_is_refused(answers, seen):
    message = (
        f"estimator Answers must return from {next(iter(answers))} one number per row, or two "
        f"probabilities; got {seen}."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        log_odds(Answers(**answers), ROWS)


def test_calibration_is_a_logistic_fit():
    rng = np.random.default_rng(0)
    scores = rng.normal(5, 300, 20_000)
    is_real = rng.random(20_000) < 1 / (1 + np.exp(-(0.01 * scores - 1)))
    slope, offset = calibration(scores, is_real)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[:, None] / 300, is_real)
    assert slope == pytest.approx(model.coef_[0, 0] / 300, rel=1e-2)
    assert offset == pytest.approx(model.intercept_[0], rel=1e-2)


def test_calibration_of_perfect_and_of_useless_scores_is_finite():
    is_real = np.arange(10) < 5
    assert np.isfinite(calibration(np.where(is_real, 1.0, -1.0), is_real)).all()
    assert calibration(np.zeros(10), is_real) == (1.0, 0.0)


def test_calibration_never_reverses():
    rng = np.random.default_rng(0)
    is_real = rng.random(300) < 0.7
    scores = rng.normal(0, 5, 300) - 0.2 * is_real  # wrong, by chance
    slope, offset = calibration(scores, is_real)
    assert slope > 0
    chance = 1 / (1 + np.exp(-(slope * scores + offset).mean()))
    assert chance == pytest.approx(is_real.mean(), abs=0.01)


def test_risk_is_that_of_every_cut():
    """Against the error rates of the same scores as evidence; ties are cut together."""
    rng = np.random.default_rng(0)
    for spread in (0.0, 2.0, 50.0):
        scores = np.round(spread * rng.normal(size=40)) / 7
        is_real = rng.random(40) < 0.4
        scaled = scores / (abs(scores).max() or 1.0)
        evidence = Evidence(np.exp(scaled), np.exp(-scaled), is_real)
        assert mean_risk(scores, is_real) == pytest.approx(ErrorRates.of(evidence).mean_risk)
    beyond = np.array([-np.inf, -np.inf, 0.0, np.inf, np.inf])
    assert mean_risk(beyond, np.array([False, False, True, True, True])) == 0.0
