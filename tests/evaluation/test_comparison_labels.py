"""Comparisons class by class: labels of every model."""

import re

import numpy as np
import pytest

import precall

RNG = np.random.default_rng(0)
REAL, ONE, OTHER = RNG.normal(size=(3, 60, 3))
MODELS = {"one": ONE, "other": OTHER}
HALVES, THIRDS = np.arange(60) % 2, np.minimum(np.arange(60) % 3, 1)
HOW = {"estimators": (), "scores": ["coverage"], "intervals": False, "labels_real": HALVES}


def test_labels_by_model():
    found = precall.compare(REAL, MODELS, labels_generated={"one": HALVES, "other": THIRDS}, **HOW)
    for name, labels in (("one", HALVES), ("other", THIRDS)):
        alone = precall.evaluate(REAL, MODELS[name], labels_generated=labels, **HOW)
        assert dict(found.results[name].class_shares) == dict(alone.class_shares)
        assert {label: part.scores for label, part in found.results[name].classes.items()} == {
            label: part.scores for label, part in alone.classes.items()
        }


def test_labels_of_all_models_or_of_some():
    of_all = precall.compare(REAL, MODELS, labels_generated=THIRDS, **HOW).results
    assert of_all["one"].class_shares == of_all["other"].class_shares
    some = precall.compare(REAL, MODELS, labels_generated={"one": THIRDS}, **HOW).results
    assert some["one"].class_shares == of_all["one"].class_shares
    assert some["other"].class_shares["0"].generated is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"labels_generated": {"two": HALVES}},
            "labels_generated names 'two', which is not a model; choose from one, other.",
        ),
        (
            {"labels_generated": HALVES, "subsample": True},
            "labels_generated cannot be combined with subsample, which leaves rows out.",
        ),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.compare(REAL, MODELS, **HOW, **arguments)
