"""Bands of curves: where the expected curve lies."""

import numpy as np
import pytest
from scipy.stats import binom

import precall
from precall.truth import Gaussian

LAMBDAS = np.array([0.5, 1.0, 2.0])
GRID = np.tan(np.linspace(0.05, 1.5, 30))


def evaluate(seed, shift, n=300):
    p, q = Gaussian(np.zeros(4)), Gaussian(np.full(4, shift))
    real, generated = p.sample(n, seed=2 * seed), q.sample(n, seed=2 * seed + 1)
    return precall.evaluate(
        real, generated, estimators=["knn"], scores=(), intervals=True, seed=seed
    )


@pytest.mark.parametrize("shift", [0.0, 0.6])
@pytest.mark.slow
def test_they_cover_the_expected_curve(shift):
    n_draws = 60
    results = [evaluate(seed, shift) for seed in range(n_draws)]
    bands = [result.bands["knn"] for result in results]
    curves = [result.curves["knn"] for result in results]
    expected = np.mean([curve.at(LAMBDAS).precision for curve in curves], axis=0)
    low, high = np.array([band.at(LAMBDAS) for band in bands]).transpose(1, 0, 2)
    covered = ((low <= expected) & (expected <= high)).sum(axis=0)
    assert (covered >= binom.ppf(1e-4, n_draws, 0.93)).all()
    everywhere = np.mean([curve.at(GRID).precision for curve in curves], axis=0)
    low, high = np.array([band.at(GRID, simultaneous=True) for band in bands]).transpose(1, 0, 2)
    at_once = ((low <= everywhere) & (everywhere <= high)).all(axis=1).sum()
    assert at_once >= binom.ppf(1e-4, n_draws, 0.93)
    area = np.mean([curve.area for curve in curves])
    inside = [band.summaries["area"][0] <= area <= band.summaries["area"][1] for band in bands]
    assert sum(inside) >= binom.ppf(1e-4, n_draws, 0.91)


def test_the_curve_is_the_mean_of_the_splits():
    result = evaluate(0, 0.5)
    band, curve = result.bands["knn"], result.curves["knn"]
    assert len(band.curves) == 4
    np.testing.assert_allclose(
        curve.at(GRID).precision, np.mean([c.at(GRID).precision for c in band.curves], axis=0)
    )
    low, high = band.at(GRID)
    assert ((low <= curve.at(GRID).precision) & (curve.at(GRID).precision <= high + 1e-12)).all()
    wider_low, wider_high = band.at(GRID, simultaneous=True)
    assert ((wider_low <= low) & (high <= wider_high)).all()
    assert (high <= np.minimum(GRID, 1)).all()


def test_deviation_over_the_splits():
    """Over N splits, divided by N (000, appendix, with its erratum)."""
    band = evaluate(0, 0.5).bands["knn"]
    values = [curve.at(1.0).precision for curve in band.curves]
    assert band.deviation(1.0) == pytest.approx(np.sqrt(np.mean((values - np.mean(values)) ** 2)))


def test_more_samples_are_narrower():
    widths = [np.subtract(*evaluate(0, 0.5, n=n).bands["knn"].at(1.0)[::-1]) for n in (100, 1600)]
    assert widths[1] < widths[0] / 2.5


def test_bands_survive_json():
    result = evaluate(1, 0.5)
    again = precall.Evaluation.from_json(result.to_json())
    np.testing.assert_array_equal(again.bands["knn"].at(GRID), result.bands["knn"].at(GRID))
    assert again.bands["knn"].summaries == result.bands["knn"].summaries
    assert again.to_json() == result.to_json()


def test_separated_and_tiny_sets_have_bands_too():
    rng = np.random.default_rng(0)
    for n in (8, 100):
        result = precall.evaluate(
            rng.normal(size=(n, 2)), 50 + rng.normal(size=(n, 2)), estimators=["knn"],
            scores=(), intervals=True,
        )  # fmt: skip
        low, high = result.bands["knn"].summaries["area"]
        assert 0 <= low <= result.curves["knn"].area <= high <= 1


def test_infinity_has_no_band():
    with pytest.raises(precall.InputError, match=r"^trade_off must be finite and not negative\.$"):
        evaluate(0, 0.5).bands["knn"].at(np.inf)


def test_only_repeated_splits_have_bands():
    rows = np.random.default_rng(0).normal(size=(2, 60, 2))
    assert precall.evaluate(*rows, intervals=True, split=True).bands == {}
    assert precall.evaluate(*rows, split=precall.RepeatedHoldOut(3)).bands == {}


def test_the_best_of_several_has_a_band():
    p, q = Gaussian(np.zeros(4)), Gaussian(np.full(4, 0.5))
    rows = p.sample(300, seed=0), q.sample(300, seed=1)
    result = precall.evaluate(
        *rows, estimators=["knn", "coverage"], scores=(), headline=False, intervals=True
    )
    assert list(result.bands) == ["knn", "coverage", "best"]
    band, curve = result.bands["best"], result.best_curve
    np.testing.assert_allclose(
        curve.at(GRID).precision, np.mean([c.at(GRID).precision for c in band.curves], axis=0)
    )
    again = precall.Evaluation.from_json(result.to_json())
    np.testing.assert_array_equal(again.bands["best"].at(GRID), band.at(GRID))
    assert "best" in repr(result).split("95 % interval")[1]


@pytest.mark.parametrize("shift", [0.0, 0.6])
@pytest.mark.slow
def test_that_of_the_best_covers_its_mean(shift):
    n_draws = 60
    low, high, found = [], [], []
    for seed in range(n_draws):
        p, q = Gaussian(np.zeros(4)), Gaussian(np.full(4, shift))
        rows = p.sample(300, seed=2 * seed), q.sample(300, seed=2 * seed + 1)
        result = precall.evaluate(*rows, scores=(), headline=False, intervals=True, seed=seed)
        ends = result.bands["best"].at(LAMBDAS)
        low.append(ends[0])
        high.append(ends[1])
        found.append(result.best_curve.at(LAMBDAS).precision)
    expected = np.mean(found, axis=0)
    covered = ((np.array(low) <= expected) & (expected <= np.array(high))).sum(axis=0)
    assert (covered >= binom.ppf(1e-4, n_draws, 0.91)).all()
