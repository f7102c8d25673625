"""Trained classifiers: what they accept, and that they are honest."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import precall
from precall.distributions import Gaussian

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (400, 6)), RNG.normal(0.7, 1, (300, 6))


class Nearest:
    """A wrapper as other libraries write them: fit and predict_proba, nothing else."""

    def fit(self, rows, labels):
        assert labels.dtype.kind == "i"
        self.means = [rows[labels == label].mean(axis=0) for label in (0, 1)]

    def predict_proba(self, rows):
        generated, real = (np.linalg.norm(rows - mean, axis=1) for mean in self.means)
        chance = generated / (generated + real)
        return np.stack([1 - chance, chance], axis=1).astype(np.float32)


def evaluate(estimator, **how):
    how = {"split": precall.CrossFit(3), "scores": (), **how}
    return precall.evaluate(REAL, GENERATED, estimators=[precall.Trained(estimator)], **how)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (None, "classifier"),
        ("linear", "classifier_linear"),
        ("kernel", "classifier_kernel"),
        ("knn", "classifier_knn"),
        (LogisticRegression(), "classifier_logisticregression"),
        (LinearSVC(), "classifier_linearsvc"),
        (make_pipeline(StandardScaler(), GaussianNB()), "classifier_pipeline"),
        (SGDClassifier(loss="log_loss"), "classifier_sgdclassifier"),
        (Nearest(), "classifier_nearest"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_any_classifier_will_do(estimator, name):
    first, again = (evaluate(estimator) for _ in range(2))
    assert list(first.curves) == [name]
    truth = precall.true_curve(Gaussian(np.zeros(6)), Gaussian(np.full(6, 0.7)))
    assert first.curves[name].iou(truth) > 0.7
    assert first.to_json() == again.to_json()  # chance inside of it is seeded
    assert first.protocol.estimators[name].startswith("Trained(")


def test_the_given_classifier_is_not_touched():
    given = LogisticRegression()
    evaluate(given)
    assert not hasattr(given, "coef_")


def test_choices_of_cross_validation_are_reported():
    choices = evaluate(None).protocol.choices["classifier"]
    assert len(choices) == 3
    assert all(choice.startswith("weight decay ") for choice in choices)


def test_ratios_do_not_depend_on_the_class_sizes():
    """p/q of real samples is typically above 1, though real is the larger class."""
    samples = evaluate(None).samples
    assert np.median(samples.real["likelihood_ratio_classifier"]) > 1.5
    assert np.median(samples.generated["likelihood_ratio_classifier"]) < 1 / 1.5
    assert samples.real["likelihood_ratio_classifier"].mean() > 0


@pytest.mark.parametrize("split", [True, 0.7, precall.CoinFlip(), precall.CrossFit(2)])
def test_every_split(split):
    assert 0 < evaluate(None, split=split).curves["classifier"].area < 0.7


def test_threads_change_nothing():
    assert evaluate(None, threads=1).to_json() == evaluate(None, threads=3).to_json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"estimator": "svm"},
            "estimator 'svm' is unknown; choose from 'linear', 'quadratic', 'forest', 'boosting', "
            "'mlp', 'knn', 'kernel', 'best'.",
        ),
        (
            {"estimator": 3},
            "estimator must be a name or an object with fit and decision_function or "
            "predict_proba; got 3.",
        ),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.Trained(**arguments)


def test_no_split_no_classifier():
    message = (
        "a trained classifier must be judged by samples that it has not seen; pass a split such "
        "as precall.CrossFit(5)."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        evaluate(None, split=False)
