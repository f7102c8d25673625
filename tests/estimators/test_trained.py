"""Trained classifiers: what they accept, and that they are honest."""

import re

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import precall
from precall.truth import Gaussian

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


def test_both_chances_count():
    """Near 1 a chance says little, the other near 0 everything: exchanging the classes mirrors."""

    class Sure:
        def fit(self, rows, labels):
            sign = np.sign(rows[labels == 1].mean() - rows[labels == 0].mean())
            self.slope = 100 * sign

        def predict_proba(self, rows):
            odds = self.slope * rows[:, 0]
            return np.stack([expit(-odds), expit(odds)], axis=1)

    estimators = [precall.Trained(Sure())]
    pair = REAL[:, :1] - 0.5, GENERATED[:, :1] - 0.5
    one, other = (
        precall.evaluate(*sides, estimators=estimators, split=True, scores=()).curves[
            "classifier_sure"
        ]
        for sides in (pair, pair[::-1])
    )
    assert one.area == pytest.approx(other.area, abs=0.02)
    assert len(one.fpr) > 5


@pytest.mark.parametrize(
    "name", ["linear", "quadratic", "forest", "boosting", "mlp", "knn", "kernel"]
)
def test_a_handful_of_samples_and_outliers(name):
    rng = np.random.default_rng(0)
    for n, m in ((4, 4), (60, 5), (5, 60)):
        real, generated = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
        real[0] *= 1e39
        result = precall.evaluate(
            real, generated, estimators=[precall.Trained(name)], scores=(), split=True
        )
        assert 0 <= result.curves[f"classifier_{name}"].area <= 1


@pytest.mark.slow
def test_too_few_to_train_on():
    message = (
        "classifier_best needs at least 4 samples of each class to fit on; the split leaves 2 of "
        "generated."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.evaluate(REAL, GENERATED[:4], estimators=[precall.Trained("best")], scores=())
    labels = ["a"] * 397 + ["b"] * 3
    result = precall.evaluate(
        REAL, GENERATED, estimators=["classifier:best"], scores=(), labels_real=labels
    )
    assert list(result.classes) == ["a"]
    assert any("class 'b': not evaluated" in text for text in result.warnings)


def test_balanced_classifiers_tell_the_same_ratio():
    few = GENERATED[:40]
    ratios = []
    for class_weight in (None, "balanced"):
        estimator = precall.Trained(LogisticRegression(class_weight=class_weight))
        samples = precall.evaluate(REAL, few, estimators=[estimator], scores=()).samples
        ratios.append(np.median(samples.real["likelihood_ratio_classifier_logisticregression"]))
    assert ratios[0] == pytest.approx(ratios[1], rel=0.4)


def test_classifiers_are_asked_in_the_precision_they_were_trained_in():
    class Strict:
        def fit(self, rows, labels):
            self.dtype = rows.dtype

        def decision_function(self, rows):
            assert rows.dtype == self.dtype
            return rows[:, 0]

    result = precall.evaluate(
        REAL.astype(np.float32), GENERATED, estimators=[precall.Trained(Strict())], scores=()
    )
    assert "at 0x" not in result.protocol.estimators["classifier_strict"]


def test_what_can_judge_only_once_it_is_trained():
    stack = StackingClassifier([("nb", GaussianNB()), ("lr", LogisticRegression())])
    assert evaluate(stack).curves["classifier_stackingclassifier"].area < 0.6

    class Mute:
        def fit(self, rows, labels):
            pass

    message = "estimator Mute has neither decision_function nor predict_proba after it was fitted."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        evaluate(Mute())


class Joint:
    """Answers for all rows that it is given, not row by row; it has learned nothing."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, rows, labels):
        pass

    def decision_function(self, rows):
        return self.answer(rows)


def joint_curve(answer, real, generated):
    estimators = [precall.Trained(Joint(answer))]
    how = {"split": precall.CrossFit(3), "scores": ()}
    return precall.evaluate(real, generated, estimators=estimators, **how).curves[
        "classifier_joint"
    ]


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows: rows[:, 0] - rows[:, 0].mean(),
        lambda rows: np.argsort(np.argsort(rows[:, 0])) - len(rows) / 2,
        lambda rows: np.full(len(rows), rows.mean()),
        lambda rows: np.full(len(rows), len(rows) - 120.0),
        lambda rows: np.arange(len(rows)) - len(rows) / 2,
    ],
    ids=["centres", "ranks", "mean", "number", "places"],
)
def test_nothing_tells_the_class_but_the_rows(answer):
    """A classifier that looks at rows together must not be given the classes apart."""
    rng = np.random.default_rng(1)
    same = rng.normal(size=(700, 6))
    assert joint_curve(answer, same[:400], same[400:]).area > 0.9


def test_what_centres_its_rows_still_sees_a_shift():
    curve = joint_curve(lambda rows: rows[:, 0].mean() - rows[:, 0], REAL, GENERATED)
    assert curve.iou(precall.GaussianShiftCurve(0.7)) > 0.85


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_every_row_gets_its_own_answer(method):
    class RowWise:
        def fit(self, rows, labels):
            pass

    setattr(RowWise, method, lambda self, rows: expit(rows[:, 0]))
    samples = evaluate(RowWise(), split=True).samples
    for found, rows in ((samples.real, REAL), (samples.generated, GENERATED)):
        ratios = found["likelihood_ratio_classifier_rowwise"]
        seen = np.isfinite(ratios)
        assert np.count_nonzero(seen) == len(rows) / 2
        np.testing.assert_array_equal(np.argsort(ratios[seen]), np.argsort(rows[seen, 0]))


def test_a_classifier_without_an_opinion_gives_even_odds():
    class Undecided:
        def fit(self, rows, labels):
            pass

        def predict_proba(self, rows):
            return np.zeros((len(rows), 2))

    assert evaluate(Undecided()).curves["classifier_undecided"].area == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("folds", [2, 5])
def test_the_one_feature_of_many_that_differs(folds):
    """6 σ apart among 1000 that do not differ: the true precision at λ = 1 is 0.0027."""
    found = []
    for seed in range(3):
        real, generated = np.random.default_rng(seed).normal(size=(2, 1000, 1001))
        generated[:, 0] += 6.0
        result = precall.evaluate(
            real,
            generated,
            estimators=[precall.Trained()],
            scores=(),
            split=precall.CrossFit(folds),
        )
        found.append(result.curves["classifier"].at(1.0).precision)
    assert np.mean(found) <= 0.01
