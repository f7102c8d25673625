"""Models side by side."""

import json
import re

import numpy as np
import pytest
from scipy.stats import binom, t

import precall

RNG = np.random.default_rng(0)
REAL, GOOD = RNG.normal(size=(2, 400, 4))
BAD = RNG.normal(0.8, 1, (400, 4))


@pytest.fixture(scope="module")
def comparison():
    return precall.compare(REAL, {"good": GOOD, "bad": BAD}, estimators=["knn", "coverage"])


def test_each_result_is_that_of_evaluate(comparison):
    alone = precall.evaluate(REAL, BAD, estimators=["knn", "coverage"], intervals=True)
    assert comparison.results["bad"].scores == alone.scores
    assert comparison.results["bad"].curves["knn"].fpr.tolist() == alone.curves["knn"].fpr.tolist()


def test_differences(comparison):
    found = {d.what: d for d in comparison.differences}
    assert found["coverage"].is_clear
    assert found["coverage"].value == pytest.approx(
        comparison.results["good"].scores["coverage"].value
        - comparison.results["bad"].scores["coverage"].value
    )
    assert found["f_8 of the best curve"].is_clear
    assert comparison.ranking("recall") == ["good", "bad"]
    assert comparison.dominated() == [("good", "bad")]
    assert comparison.dominated("knn") == [("good", "bad")]


def test_pairing_pays():
    """A model and nearly a copy of it: their scores move together."""
    copy = BAD + RNG.normal(0, 0.01, BAD.shape)
    found = precall.compare(REAL, {"a": BAD, "b": copy}, estimators=(), scores=["recall"])
    low, high = found.differences[0].interval
    alone = found.results["a"].scores["recall"].interval
    assert high - low < 0.5 * (alone[1] - alone[0])


def test_text(comparison):
    text = repr(comparison)
    assert text.startswith("2 models against 400 real samples, 400 samples each\n")
    assert "best curve, F 8" in text
    assert "good less bad: support_precision +" in text
    assert "good dominates bad: its best curve is clearly higher at λ from 1/" in text
    assert "All 13 intervals and bands of these differences hold at once, with 95 %" in text


def test_intervals_are_of_the_whole_family():
    """Of one difference among many more is asked than of one alone."""
    models = {"good": GOOD, "bad": BAD}
    options = {"estimators": (), "headline": False}
    alone = precall.compare(REAL, models, scores=["recall"], **options)
    among = precall.compare(REAL, models, scores=["recall", "coverage", "density"], **options)
    half = [
        max(d.value - d.interval[0] for d in found.differences if d.what == "recall")
        for found in (alone, among)
    ]
    expected = [t.ppf(1 - 0.05 / 2 / n, 64) for n in (1, 3)]
    assert half[1] / half[0] == pytest.approx(expected[1] / expected[0], rel=0.01)


def test_dominance_needs_more_than_a_higher_curve():
    """Two models of the same law: one curve is above the other by chance, if anywhere."""
    rng = np.random.default_rng(3)
    real, one, other = rng.normal(0, 1, (3, 400, 4))
    found = precall.compare(real, {"one": one, "other": other}, estimators=["knn"], scores=())
    assert found.dominated() == []
    assert found.verdicts()[0].startswith("one and other: none of ")


def test_models_with_faults_of_different_kinds_do_not_dominate_each_other():
    rng = np.random.default_rng(4)
    real = np.concatenate([rng.normal(size=(500, 2)), rng.normal(20, 1, (500, 2))])
    drops = rng.normal(size=(1000, 2))
    invents = np.concatenate([real + rng.normal(0, 0.01, real.shape)])
    invents[::2] += 50
    found = precall.compare(
        real, {"drops": drops, "invents": invents}, estimators=["knn"], scores=(), headline=False
    )
    assert found.dominated() == []
    (difference,) = found.curve_differences
    assert difference.band.better
    assert difference.band.worse
    assert "drops is better than invents at λ from" in found.verdicts()[1]


def test_without_bands_nothing_is_said_of_dominance():
    found = precall.compare(REAL, {"a": GOOD, "b": BAD}, scores=["recall"], split=True)
    with pytest.raises(precall.InputError, match=r"^no differences of curves are known; compare"):
        found.dominated()
    with pytest.raises(precall.InputError, match=r"^curve 'fid' was not computed for every model"):
        found.plot(curve="fid")


def test_folded_scores_have_asymmetric_differences():
    """A score that cannot rise above 1: neither can its difference reach farther than that."""
    near = np.random.default_rng(5).normal(0, 0.8, (400, 4))
    found = precall.compare(
        REAL, {"near": near, "bad": BAD}, estimators=(), scores=["clipped_coverage"], headline=False
    )
    (difference,) = found.differences
    low, high = difference.interval
    assert low < difference.value < high
    assert difference.is_clear


def test_json(comparison, tmp_path):
    path = tmp_path / "comparison.json"
    comparison.to_json(path)
    again = precall.Comparison.from_json(path)
    assert again.differences == comparison.differences
    assert again.curve_differences == comparison.curve_differences
    assert again.dominated() == comparison.dominated()
    assert again.verdicts() == comparison.verdicts()
    assert again.to_json() == comparison.to_json()


def test_plot(comparison):
    labels = [text.get_text() for text in comparison.plot().get_legend().get_texts()]
    assert labels == ["good", "bad"]


def test_unequal_numbers():
    message = (
        "scores depend on the number of samples, which differs: good has 400, bad has 300. Pass "
        "as many of each, or take random subsets of the larger ones (option subsample)."
    )
    models = {"good": GOOD, "bad": BAD[:300]}
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.compare(REAL, models)
    found = precall.compare(REAL, models, subsample=True, estimators=(), scores=["recall"])
    assert {result.protocol.m for result in found.results.values()} == {300}


@pytest.mark.parametrize("models", [{}, {"one": GOOD}, [GOOD, BAD]])
def test_two_models_at_least(models):
    message = "models must map at least two names to features of generated samples."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.compare(REAL, models)


@pytest.mark.parametrize("text", ["{}", '{"results": {}}', "{", "no such file"])
def test_documents_of_others_are_refused(text):
    with pytest.raises(precall.InputError):
        precall.Comparison.from_json(text)


def test_no_score_no_ranking(comparison):
    with pytest.raises(precall.InputError, match=r"^score 'fid' was not computed for 'good'\.$"):
        comparison.ranking("fid")


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(format_version=99),
        lambda d: d["differences"][0].update(value=float("nan")),
        lambda d: d["differences"][0].update(value=10**400),
        lambda d: d["differences"][0].update(first="nobody"),
    ],
)
def test_forged_comparisons_are_refused(damage):
    rows = np.random.default_rng(0).normal(size=(3, 60, 2))
    found = precall.compare(rows[0], {"a": rows[1], "b": rows[2]}, estimators=(), scores=["recall"])
    document = json.loads(found.to_json())
    assert precall.Comparison.from_json(json.dumps(document)).differences == found.differences
    damage(document)
    with pytest.raises(precall.InputError, match=r"^this (is not a comparison|comparison has)"):
        precall.Comparison.from_json(json.dumps(document))


@pytest.mark.slow
def test_equal_models_are_left_alone():
    """Small version of benchmarks.comparisons: nothing is announced, in any of 21 places a pair."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng((seed, 6))
        real, *generated = rng.normal(size=(4, 300, 8))
        models = dict(zip("abc", (0.3 + 0.9 * rows for rows in generated), strict=True))
        found = precall.compare(real, models, seed=seed, headline=False)
        announced = [d for d in found.differences if d.is_clear]
        announced += [d for d in found.curve_differences if d.band.better or d.band.worse]
        alarms += bool(announced)
        assert bool(found.dominated()) <= bool(announced)
    assert alarms <= binom.ppf(0.9999, 20, 0.05)


@pytest.mark.slow
def test_unequal_models_are_told_apart():
    found = 0
    for seed in range(5):
        rng = np.random.default_rng((seed, 7))
        real, one, other = rng.normal(size=(3, 600, 8))
        other[::5] += 5
        models = {"one": one, "other": other}
        found += ("one", "other") in precall.compare(
            real, models, seed=seed, headline=False
        ).dominated()
    assert found == 5
