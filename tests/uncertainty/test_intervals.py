"""Intervals of scores: do they hold what they promise? (small version of benchmarks.intervals)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import precall
from precall.scores import METRICS
from precall.truth import Gaussian, Mixture
from precall.uncertainty.intervals import Replicates

SCORES = ["precision", "recall", "density", "coverage", "precision_cover", "symmetric_recall"]
CENTERS = np.random.default_rng(1).normal(0, 2, (8, 8))
N_DRAWS = 60


def mixture(n_modes):
    return Mixture(tuple(Gaussian(center) for center in CENTERS[:n_modes]))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (Gaussian(np.zeros(8)), Gaussian(np.zeros(8))),
        (Gaussian(np.zeros(8)), Gaussian(np.full(8, 0.4))),
        (mixture(8), mixture(7)),
    ],
    ids=["equal", "shifted", "dropped"],
)
@pytest.mark.slow
def test_they_cover_what_they_should(p, q):
    found = []
    for seed in range(N_DRAWS):
        real, generated = p.sample(300, seed=2 * seed), q.sample(300, seed=2 * seed + 1)
        result = precall.evaluate(
            real, generated, estimators=(), scores=SCORES, intervals=True, seed=seed
        )
        found.append([(s.value, *s.interval) for s in result.scores.values()])
    values, low, high = np.array(found).transpose(2, 0, 1)
    expected = values.mean(axis=0)
    covered = ((low <= expected) & (expected <= high)).sum(axis=0)
    assert (covered >= binom.ppf(1e-4, N_DRAWS, 0.93)).all(), dict(
        zip(SCORES, covered, strict=True)
    )
    width = (high - low).mean(axis=0) / 2
    assert (width < 1.4 * 1.96 * values.std(axis=0, ddof=1)).all()


@pytest.mark.parametrize(("n", "m"), [(200, 300), (400, 600)])
@pytest.mark.slow
def test_a_score_that_is_cut_off_at_its_bound(n, m):
    """Most draws are at 1, or near it; the expected score is less."""
    found = []
    for seed in range(2 * N_DRAWS):
        rng = np.random.default_rng((seed, 9))
        real, generated = rng.normal(size=(n, 16)), 0.2 + 0.9 * rng.normal(size=(m, 16))
        result = precall.evaluate(
            real, generated, estimators=(), scores=["clipped_coverage"], intervals=True, seed=seed
        )
        found.append((result.scores["clipped_coverage"].value, *_ends(result)))
    values, low, high = np.array(found).T
    assert np.mean(values == 1) > 0.2
    covered = ((low <= values.mean()) & (values.mean() <= high)).sum()
    assert covered >= binom.ppf(1e-4, len(values), 0.93)
    assert (high - low).mean() / 2 < 1.4 * 1.96 * values.std(ddof=1)


def _ends(result):
    return result.scores["clipped_coverage"].interval


def test_an_interval_is_carried_through_the_cut():
    """Far above the cut the score is 1, and hardly less in expectation."""
    blocks = np.random.default_rng(0).normal(1.0, 0.1, (64, 4))
    spread = Replicates(
        METRICS["clipped_density"], blocks[:, :2], blocks, fold=lambda x: np.minimum(x, 1.0)
    )
    half = spread.half_width(0.95)
    for before in (0.5, 1.0, 1.5):
        value = min(before, 1.0)
        low, high = replace(spread, before=before).interval(value, 0.95)
        assert low <= value <= high <= 1
        assert low == pytest.approx(before - half, abs=1e-9) if before == 0.5 else low < 1
    at_the_cut = replace(spread, before=1 + half).interval(1.0, 0.95)
    expected = 1 - spread.deviation / np.sqrt(2 * np.pi)  # E min(1, X) of X ~ N(1, σ²)
    assert at_the_cut[0] == pytest.approx(expected, abs=1e-3)


def test_variance_of_a_mean_is_that_of_the_mean():
    """Of what is a plain mean, V is the variance over n, whatever the block."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    halves, quarters = [], []
    for _ in range(200):
        order = rng.permutation(values)
        halves.append(order.reshape(2, -1).mean(axis=1))
        quarters.append(order.reshape(4, -1).mean(axis=1))
    variance = Replicates(METRICS["precision"], np.array(halves), np.array(quarters)).variance
    assert variance == pytest.approx(values.var() / 4000, rel=0.35)


@pytest.mark.slow
def test_equal_models_are_seldom_called_different():
    p = Gaussian(np.zeros(6))
    wrong = 0
    for seed in range(40):
        real, one, other = (p.sample(250, seed=3 * seed + i) for i in range(3))
        found = precall.compare(
            real, {"one": one, "other": other}, estimators=(), scores=["recall"], seed=seed
        )
        wrong += found.differences[0].is_clear
    assert wrong <= binom.ppf(0.9999, 40, 0.05)


def test_scores_without_intervals():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 100, 3))
    result = precall.evaluate(*rows, estimators=(), scores="all", intervals=True, score_k=[3, 20])
    assert result.scores["precision_k3"].interval is not None
    assert result.scores["precision_k20"].interval is not None
    assert (
        result.scores["precision_cover_k20"].interval is None
    )  # a quarter has 25 samples, k′ = 60
    assert result.scores["frechet_distance"].interval[1] > 0
    assert result.scores["kernel_distance"].interval[0] < 0  # unbiased, so it may be negative
    assert precall.evaluate(*rows, estimators=()).scores["recall"].interval is None


@pytest.mark.parametrize("confidence", [0.4, 1.0, "high"])
def test_confidence_must_make_sense(confidence):
    rows = np.random.default_rng(0).normal(size=(2, 50, 3))
    with pytest.raises(precall.InputError, match=r"^confidence must lie between 0\.5 and 1; got"):
        precall.evaluate(*rows, intervals=True, confidence=confidence)


def test_more_confidence_is_wider():
    rows = np.random.default_rng(0).normal(size=(2, 200, 3))
    widths = [
        np.diff(
            precall.evaluate(*rows, estimators=(), intervals=True, confidence=c)
            .scores["recall"]
            .interval
        )
        for c in (0.8, 0.95, 0.99)
    ]
    assert widths[0] < widths[1] < widths[2]


def test_density_alone_has_the_interval_it_has_among_others():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 200, 3))
    alone, among = (
        precall.evaluate(*rows, estimators=(), scores=scores, score_k=5, intervals=True)
        for scores in (["density"], ["density", "coverage"])
    )
    assert alone.scores["density"].interval == among.scores["density"].interval
