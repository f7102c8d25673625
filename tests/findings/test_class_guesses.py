"""Classes of a side without labels: named where they are missing, and not where they are not."""

import numpy as np
import pytest

import precall
from precall.data.feature_sets import FeatureSet
from precall.data.labels import Labels
from precall.findings.class_guesses import guessed_shares

CENTERS = 6.0 * np.eye(5)


def drawn(rng, n, weights):
    labels = rng.choice(5, n, p=np.array(weights) / sum(weights))
    return CENTERS[labels] + rng.normal(size=(n, 5)), labels.astype(str)


def guessed(real, generated, labels_real=None, labels_generated=None, seed=0):
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    return guessed_shares(sets, Labels.of(labels_real, labels_generated, sets), 0.95, seed)


def test_missing_classes_are_named_without_labels_of_generated():
    rng = np.random.default_rng(0)
    real, labels = drawn(rng, 1000, [1, 1, 1, 1, 1])
    generated, _ = drawn(rng, 1000, [0, 0, 1, 1, 1])
    result = precall.evaluate(
        real, generated, labels_real=labels, estimators=(), scores=["precision"]
    )
    dropped, over = result.diagnosis()[:2]
    assert dropped.startswith("Classes '")
    assert dropped.endswith(
        "of generated) are dropped, going by the labels of the nearest real samples."
    )
    assert "'0' (" in dropped
    assert "'1' (" in dropped
    assert "are over-produced, going by" in over
    assert precall.Evaluation.from_json(result.to_json()).diagnosis() == result.diagnosis()


def test_labels_of_generated_tell_what_is_invented():
    rng = np.random.default_rng(0)
    real, _ = drawn(rng, 800, [1, 1, 1, 1, 0])
    generated, labels = drawn(rng, 800, [1, 1, 1, 1, 1])
    found = guessed(real, generated, labels_generated=labels)
    assert found["4"].finding == "invented"
    result = precall.evaluate(
        real, generated, labels_generated=labels, estimators=(), scores=["precision"]
    )
    assert "going by the labels of the nearest generated samples." in result.diagnosis()[0]


def test_labels_of_both_sides_or_of_none_need_no_guess():
    rng = np.random.default_rng(0)
    (real, labels), (generated, others) = (drawn(rng, 100, [1, 1, 1, 1, 1]) for _ in range(2))
    assert guessed(real, generated) == {}
    assert guessed(real, generated, labels, others) == {}
    assert guessed(real, generated, ["one"] * 100) == {}


@pytest.mark.slow
def test_equal_distributions_are_rarely_called_different():
    # Labels that say little, so that guesses are mostly wrong; 5 % may be called different.
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        (real, labels), (generated, _) = (drawn(rng, 200, [4, 3, 2, 1, 1]) for _ in range(2))
        labels = np.where(rng.random(200) < 0.5, labels, rng.permutation(labels))
        found = guessed(real, generated, labels, seed=seed)
        alarms += any(one.finding != "as it should be" for one in found.values())
    assert alarms <= 25  # of 300; 15 are expected at most, with a deviation of 3.8
