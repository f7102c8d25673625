"""What a reader of scores is told: each matter once, in numbers of the score's own unit."""

import re

import numpy as np
import pytest

import precall
from precall.results.score_caveats import score_caveats
from precall.scores import Score


def evaluate(n, m=None, *, shift=0.5, **how):
    rng = np.random.default_rng(0)
    sets = rng.normal(0, 1, (n, 4)), rng.normal(shift, 1, (m or n, 4))
    return precall.evaluate(*sets, estimators=(), headline=False, **how)


def said(result, word):
    return [text for text in result.warnings if word in text]


def test_wide_intervals_are_pointed_out():
    (warning,) = said(evaluate(200, intervals=True), "percentage points")
    assert re.fullmatch(
        r"\d of 5 shares are known to no more than ± 2 percentage points \(widest: \w+, "
        r"± \d+\.\d\); that takes about \d+00 samples of each class\.",
        warning,
    )
    assert said(evaluate(200), "percentage points") == []


@pytest.mark.parametrize("score", ["density", "frechet_distance", "kernel_distance"])
def test_what_is_no_share_is_not_measured_as_one(score):
    assert said(evaluate(100, scores=[score], intervals=True), "percentage points") == []


def test_very_unequal_numbers():
    (warning,) = said(evaluate(5000, 200, shift=0.0), "Compare only")
    assert warning == (
        "real has 5000 samples, generated only 200. Scores that count neighbours depend on both "
        "numbers: even if P = Q, recall_cover would be 0.007. Compare only with results at the "
        "same numbers, or take 200 of each."
    )
    assert said(evaluate(500, 200), "Compare only") == []
    (warning,) = said(evaluate(100, 400, scores=["precision"]), "Compare only")
    assert warning.startswith("generated has 400 samples, real only 100.")
    assert "even if" not in warning


def test_scores_that_are_less_than_they_look():
    scores = {
        "coverage": Score(0.98, 5, 0.99997),
        "precision_cover": Score(0.966, 3, 0.9678),
        "recall_cover": Score(0.3, 3, 0.9678),
        "density": Score(0.5, 5, 1.0),
    }
    assert score_caveats(scores, (), 10_000, 10_000, intervals=False) == [
        "Close to 1, but clearly below what these numbers of samples give if P = Q: coverage is "
        "0.980 instead of 1."
    ]


@pytest.mark.slow
def test_equal_distributions_never_look_worse_than_they_are():
    for seed in range(100):
        rows = np.random.default_rng(seed).normal(size=(2, 400, 3))
        result = precall.evaluate(*rows, estimators=(), headline=False, intervals=seed % 2 == 0)
        assert said(result, "Close to 1") == []


def test_too_few_samples_for_an_interval():
    result = evaluate(40, intervals=True)
    assert [name for name, score in result.scores.items() if score.interval is None] == [
        "precision_cover",
        "recall_cover",
    ]
    (warning,) = said(result, "No interval")
    assert warning == (
        "No interval of precision_cover, recall_cover: intervals come from quarters of the "
        "samples, and a quarter of 40 is too few for their neighbours; 44 samples of each class "
        "are needed."
    )
    for n in (43, 44):
        scores = evaluate(n, intervals=True).scores
        assert (scores["recall_cover"].interval is not None) == (n == 44)
    assert said(evaluate(40), "No interval") == []
