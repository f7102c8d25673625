"""Classes in words: what is missing comes first, and chance is not taken for evidence."""

import numpy as np

import precall
from precall.data.labels import ClassShare
from precall.findings.part_sentences import class_sentences


def said(counts, n=1000, m=1000):
    shares = {label: ClassShare(a / n, b / m) for label, (a, b) in counts.items()}
    return class_sentences(shares, n, m, 0.95)


def test_a_dropped_class_comes_first():
    rng = np.random.default_rng(0)
    labels = np.repeat(["cat", "dog", "eel"], [500, 400, 100])
    places = {"cat": 0.0, "dog": 8.0, "eel": 16.0, "yak": 24.0}
    without = np.repeat(["cat", "dog", "yak"], [500, 400, 100])
    real, generated = (
        np.array([places[label] for label in of])[:, None] + rng.normal(size=(1000, 3))
        for of in (labels, without)
    )
    result = precall.evaluate(
        real, generated, labels_real=labels, labels_generated=without, estimators=["knn"]
    )
    assert result.diagnosis()[:2] == [
        "Class 'eel' (10.0 % of real, none of generated) is dropped.",
        "Class 'yak' (none of real, 10.0 % of generated) is invented.",
    ]
    assert precall.Evaluation.from_json(result.to_json()).diagnosis() == result.diagnosis()


def test_several_and_many():
    assert said({"a": (50, 0), "b": (30, 0), "c": (920, 1000)}) == [
        "Classes 'a' (5.0 % of real, none of generated) and 'b' (3.0 % of real, none of generated) "
        "are dropped.",
        "Class 'c' (92.0 % of real, 100.0 % of generated) is over-produced.",
    ]
    counts = {str(i): (50, 0) for i in range(10)} | {"z": (500, 1000)}
    (dropped, _) = said(counts)
    assert dropped.endswith("and 5 more are dropped.")


def test_one_missing_sample_is_no_evidence():
    assert said({"a": (999, 1000), "b": (1, 0)}) == [
        "Class 'b' (1) has no generated sample, which may be chance with so few real ones."
    ]
    assert said({"a": (1000, 998), "b": (0, 1), "c": (0, 1)}) == [
        "Classes 'b' (1) and 'c' (1) have no real sample, which may be chance with so few "
        "generated ones."
    ]


def test_equal_shares_are_not_mentioned():
    assert said({"a": (500, 510), "b": (500, 490)}) == []


def test_labels_of_one_side_say_nothing():
    shares = {"a": ClassShare(0.5, None), "b": ClassShare(0.5, None)}
    assert class_sentences(shares, 100, 100, 0.95) == []
