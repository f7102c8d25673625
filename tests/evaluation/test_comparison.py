"""Models side by side."""

import json
import re

import numpy as np
import pytest

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
    assert found["f_8 of the knn curve"].is_clear
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
    assert "good less bad: precision +" in text
    assert "good is as good as bad at every trade-off." in text


def test_json(comparison, tmp_path):
    path = tmp_path / "comparison.json"
    comparison.to_json(path)
    again = precall.Comparison.from_json(path)
    assert again.differences == comparison.differences
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
