"""Rows that decide a score are named; in samples without such rows nothing is."""

import numpy as np
import pytest

import precall

RNG = np.random.default_rng(0)
REAL, AWAY = RNG.normal(size=(400, 4)), RNG.normal(30, 1, (400, 4))


def evaluate(real, generated, **how):
    return precall.evaluate(real, generated, estimators=(), headline=False, **how)


def with_rows(rows, places):
    changed = rows.copy()
    for row, value in places.items():
        changed[row] = value
    return changed


def test_one_row_far_out_decides_recall():
    far = with_rows(AWAY, {17: 1e18})
    result = evaluate(REAL, far)
    (found,) = result.influences
    assert (found.role, found.rows) == ("generated", (17,))
    (changed,) = found.changed
    without = evaluate(REAL, np.delete(far, 17, axis=0)).scores["recall"].value
    assert (changed.score, changed.value, changed.without) == ("recall", 1.0, without)
    told = (
        "row 17 of generated decides a score: without it recall is 0.000 instead of 1.000. Look at "
        "it."
    )
    assert told in result.warnings
    assert precall.Evaluation.from_json(result.to_json()).influences == result.influences


def test_two_rows_that_hide_each_other():
    (found,) = evaluate(REAL, with_rows(AWAY, {3: 1e18, 8: -1e18})).influences
    assert (found.role, found.rows) == ("generated", (3, 8))
    assert found.changed[0].score == "recall"


def test_a_real_row_decides_precision_and_density():
    (found,) = evaluate(with_rows(AWAY, {5: -1e6}), REAL).influences
    assert (found.role, found.rows) == ("real", (5,))
    assert {changed.score for changed in found.changed} == {"precision", "density"}


def test_one_place_decides_coverage():
    """Clusters of real samples that are farther from each other than from one generated sample."""
    real = np.repeat(np.eye(8), 50, axis=0) + 1e-6 * RNG.normal(size=(400, 8))
    generated = np.r_[np.zeros((1, 8)), 50 + RNG.normal(size=(399, 8))]
    result = evaluate(real, generated, scores=["coverage"], score_k=60)
    (found,) = result.influences
    assert (found.role, found.rows, found.changed[0].score) == ("generated", (0,), "coverage")


@pytest.mark.parametrize("score", ["frechet_distance", "probabilistic_recall"])
def test_means_that_one_row_decides(score):
    (found,) = evaluate(REAL, with_rows(AWAY, {9: 1e5}), scores=[score]).influences
    assert (found.rows, found.changed[0].score) == ((9,), score)


def test_a_row_so_far_out_that_roundings_decide_who_is_in_its_ball():
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(2, 400, 16)).astype(np.float32)
    real[0] *= 1e18
    (found,) = evaluate(real, generated).influences
    assert (found.role, found.rows) == ("real", (0,))
    assert found.changed[0].score == "precision"


def test_radii_are_looked_at_where_a_score_is_made_of_their_mean(monkeypatch):
    """Heavy tails decide a mean radius, but no score that is not made of it."""
    looked = []
    monkeypatch.setattr(
        "precall.evaluation.influences.scores_of", lambda *_: looked.append(1) or {}
    )
    real, generated = np.random.default_rng(0).standard_cauchy((2, 2000, 16)) ** 3
    evaluate(real, generated, scores=["coverage"])
    assert not looked
    evaluate(real, generated, scores=["probabilistic_recall"])
    assert looked


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 8, 64])
def test_nothing_is_said_of_clean_samples(d):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for factor in (1.0, 0.7, 1.4):
            real, generated = rng.normal(size=(500, d)), factor * rng.normal(size=(500, d))
            result = evaluate(real, generated, scores=["precision", "recall", "frechet_distance"])
            assert result.influences == ()


def test_no_score_no_rows():
    assert evaluate(REAL, AWAY, scores=()).influences == ()
    assert evaluate(np.ones((5, 2)), np.ones((5, 2))).influences == ()
