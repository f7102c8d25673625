"""What a perfect generator would score."""

import numpy as np
import pytest

import precall

RNG = np.random.default_rng(0)
REAL, OTHER = RNG.normal(size=(600, 4)), RNG.normal(size=(250, 4))
GENERATED = RNG.normal(1, 1, (500, 4))
NAMES = ["recall", "coverage"]


def test_half_of_real_against_the_other():
    result = precall.evaluate(REAL, GENERATED, estimators=(), scores=NAMES, ceiling=True)
    for score in result.scores.values():
        assert (score.ceiling.n, score.ceiling.m) == (300, 300)
        assert score.ceiling.perfect > score.ceiling.generated + 0.1
    coverage = result.scores["coverage"].ceiling.perfect
    assert coverage == pytest.approx(precall.theory.expected_coverage(300, 300, 5), abs=0.06)
    assert precall.Evaluation.from_json(result.to_json()).scores == result.scores
    assert "as many" in repr(result)


def test_other_real_samples():
    result = precall.evaluate(REAL, GENERATED, estimators=(), scores=NAMES, ceiling=OTHER)
    ceiling = result.scores["recall"].ceiling
    assert (ceiling.n, ceiling.m) == (600, 250)
    alone = precall.evaluate(REAL, OTHER, estimators=(), scores=NAMES)
    assert ceiling.perfect == alone.scores["recall"].value


def test_none_by_default():
    result = precall.evaluate(REAL, GENERATED, estimators=(), scores=NAMES)
    assert result.scores["recall"].ceiling is None


def test_bad_ceilings():
    message = "real and ceiling must have the same number of features; got 4 and 3."
    with pytest.raises(precall.InputError, match=f"^{message}"):
        precall.evaluate(REAL, GENERATED, estimators=(), ceiling=OTHER[:, :3])
    with pytest.raises(precall.InputError, match=r"^a ceiling needs at least 4 real samples"):
        precall.evaluate(
            REAL[:3], GENERATED, estimators=(), scores=["recall"], score_k=1, ceiling=True
        )
