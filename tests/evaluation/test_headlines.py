import warnings

import numpy as np
import pytest

import precall
from precall.scores.headline_names import HEADLINE

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(size=(2, 650, 6))
GENERATED[:130, 2] += 15
STRANGE = np.arange(650) < 130


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(REAL, GENERATED, estimators=(), intervals=True, confidence=0.95)


def test_the_headline_comes_first_and_by_default(result):
    assert list(result.scores)[:3] == list(HEADLINE)
    assert result.scores["support_precision"].value == pytest.approx(0.8, abs=0.01)
    for name in HEADLINE:
        score = result.scores[name]
        low, high = score.interval
        assert low <= score.value <= high
        assert score.expected_if_equal == 1


def test_what_a_support_is_made_of(result):
    score = result.scores["support_precision"]
    assert score.epsilon == 0.005
    assert {"ball", "box", "shell"} < set(score.tests)
    assert score.tests["box"] == pytest.approx(0.8, abs=0.01)
    assert 0.1 < score.surely_outside <= 0.2
    assert result.scores["support_recall"].surely_outside == 0


def test_every_sample_says_why_it_is_outside(result):
    table = result.samples.generated
    texts = table["outside_support"]
    assert all("beyond the range of feature 2" in text for text in texts[STRANGE])
    assert np.mean(texts[~STRANGE] == "") > 0.95
    assert not table["support_precision"][STRANGE].any()
    assert (texts[~table["support_precision"]] != "").all()
    reason = result.reasons.generated[0]
    assert reason.text == "beyond the range of feature 2"
    assert reason.share == pytest.approx(0.2)
    assert STRANGE[list(reason.rows)].all()
    said = " ".join(result.diagnosis())
    assert "beyond the range of feature 2 (20.0 %" in said


def test_no_headline_and_presets_have_none():
    for options in ({"headline": False}, {"convention": "prdc"}):
        found = precall.evaluate(REAL, GENERATED, estimators=(), **options)
        assert not set(HEADLINE) & set(found.scores)
        assert found.reasons.generated == ()
        assert "outside_support" not in found.samples.generated.columns
    with pytest.raises(precall.InputError, match="convention 'prdc'"):
        precall.evaluate(REAL, GENERATED, headline=True, convention="prdc")
    with pytest.raises(precall.InputError, match="'recall_at_half'"):
        precall.evaluate(REAL, GENERATED, headline=False, scores=["recall_at_half"])


def test_one_of_the_three_can_be_had_alone():
    found = precall.evaluate(REAL, GENERATED, estimators=(), scores=["recall_at_half", "coverage"])
    assert list(found.scores) == ["recall_at_half", "coverage"]


def test_the_result_says_where_epsilon_grows():
    with pytest.warns(precall.PrecallWarning, match=r"more than 0\.5 %: 1\.5 % of 200 real"):
        found = precall.evaluate(REAL[:200], GENERATED, estimators=(), scores=list(HEADLINE))
    assert found.scores["support_precision"].epsilon == pytest.approx(3 / 201)
    assert found.scores["support_recall"].epsilon == 0.005
    assert not any("leaves out" in text for text in precall.evaluate(REAL, GENERATED).warnings)


def test_too_few_samples_are_told_and_cost_nothing_else():
    with pytest.warns(precall.PrecallWarning, match="at least 50 samples are needed; real has 49"):
        found = precall.evaluate(REAL[:49], GENERATED, estimators=())
    assert not set(HEADLINE) & set(found.scores)
    assert "precision" in found.scores


def filters_of_warnings():
    """Patterns as text: some libraries replace a text by what it compiles to."""
    return [tuple(getattr(part, "pattern", part) for part in each) for each in warnings.filters]


def test_threads_change_nothing_and_leave_the_filters_of_warnings_alone():
    options = {"estimators": (), "scores": list(HEADLINE), "intervals": True}
    one = precall.evaluate(REAL, GENERATED, threads=1, **options)  # imports all that it needs
    before = filters_of_warnings()
    four = precall.evaluate(REAL, GENERATED, threads=4, **options)
    assert filters_of_warnings() == before
    assert one.scores == four.scores


def test_engines_agree():
    fast, slow = (
        precall.evaluate(
            REAL[:100], GENERATED[:90], estimators=(), scores=list(HEADLINE), engine=engine
        )
        for engine in ("cpu", "reference")
    )
    assert fast.scores == slow.scores
