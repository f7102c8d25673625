"""What charts are drawn from: every score is on a scale that suits it, bands reach the axes."""

import json
import math

import numpy as np
import pytest

import precall
from precall.report.charts import band_outline, chart_data
from precall.report.sample_plots import bins_around_zero, round_ratios
from precall.report.score_scales import score_scales

Score = precall.Score
RNG = np.random.default_rng(0)


def test_a_distance_has_a_scale_of_its_own():
    scores = {"precision": Score(0.4, 3), "frechet_distance": Score(0.7), "density": Score(1.3, 5)}
    shares, distance = score_scales([scores])
    assert (shares.names, shares.is_distance) == (("precision", "density"), False)
    assert (distance.names, distance.is_distance) == (("frechet_distance",), True)
    assert shares.ends == (0, 1.3)
    assert distance.ends == (0, 0.7)


@pytest.mark.parametrize(
    ("value", "side"), [(3.2, 1), (1.51, 1), (1.5, 0), (0.0, 0), (-0.03, -1), (math.inf, 1)]
)
def test_a_ratio_may_be_off_the_scale(value, side):
    (scale,) = score_scales([{"density_k10": Score(value, 10)}])
    assert scale.side(value) == side


def test_scales_hold_all_models_and_their_intervals():
    near, far = Score(-1.0, interval=(-4.0, 2.0)), Score(7.0, interval=(3.0, 11.0))
    (scale,) = score_scales([{"kernel_distance": near}, {"kernel_distance": far}])
    assert scale.ends == (-4, 11)
    (scale,) = score_scales([{"density": Score(1.4, 5, interval=(1.2, 1.7))}])
    assert scale.ends == (0, 1.5)
    assert scale.cut((1.2, 1.7)) == (1.2, 1.5)
    assert scale.cut((1.6, 1.7)) is None


def test_what_is_unknown_of_a_score():
    assert score_scales([{"precision": Score(math.nan, 3)}]) == []
    assert not score_scales([{"my_share": Score(0.3)}])[0].is_distance
    assert score_scales([{"my_distance": Score(30.0)}])[0].is_distance
    assert score_scales([{"frechet_distance": Score(math.inf)}])[0].ends == (0, 1)


def test_every_score_is_in_the_chart_as_valid_json():
    real = RNG.normal(0, 1, (60, 2))
    result = precall.evaluate(real, real + 40, estimators=("knn",), scores="all")
    strange = {
        "density": Score(math.inf, 5, interval=(2.0, math.inf)),
        "recall": Score(math.nan, 3),
        "alpha_precision": Score(-0.2),
    }
    changed = precall.Evaluation(result.curves, {**result.scores, **strange}, result.protocol)
    drawn = chart_data({"model": changed})["scales"]
    json.dumps(drawn, allow_nan=False)
    points = {
        scale["names"][point["row"]]: point for scale in drawn for point in scale["models"][0]
    }
    assert len(points) == len(changed.scores) - 1  # less what is not a number
    assert (points["density"]["side"], points["density"]["text"]) == (1, "inf")
    assert (points["α-precision"]["side"], points["α-precision"]["text"]) == (-1, "-0.200")
    assert points["Fréchet distance"]["side"] == 0


@pytest.fixture(scope="module", params=[(0.0, 120), (0.6, 300), (3.0, 100)])
def result(request):
    shift, n = request.param
    real, generated = RNG.normal(0, 1, (n, 3)), RNG.normal(shift, 1, (n, 3))
    return precall.evaluate(
        real, generated, estimators=["knn", "coverage", "ipr"], scores=(), intervals=True
    )


@pytest.mark.parametrize("name", ["knn", "coverage", "ipr"])
def test_bands_go_from_axis_to_axis_and_fall(result, name):
    precision, recall = band_outline(result.bands[name])
    half = len(precision) // 2
    there, back = (precision[:half], recall[:half]), (precision[half:][::-1], recall[half:][::-1])
    for rising, falling in (there, back):
        assert (rising[0], falling[-1]) == (0, 0)
        assert (np.diff(rising) >= 0).all()
        assert (np.diff(falling) <= 0).all()
        assert 0 <= rising.min() <= rising.max() <= 1 + 1e-12
        assert 0 <= falling.min() <= falling.max() <= 1 + 1e-12


@pytest.mark.parametrize("name", ["knn", "coverage", "ipr"])
def test_bands_are_no_narrower_than_intervals_above_the_curve(result, name):
    band = result.bands[name]
    precision, recall = band_outline(band)
    half = len(precision) // 2
    upper = precision[half + 1 : -1][::-1], recall[half + 1 : -1][::-1]
    for angle in np.linspace(0.3, 1.2, 9):
        _, high = band.at(math.tan(angle))
        # Where the ray meets the outline: how far along it the upper edge is.
        reach = np.interp(angle, np.arctan2(*upper), np.hypot(*upper))
        assert reach >= high / math.sin(angle) - 0.01


def test_bins_of_ratios_do_not_follow_a_few_outliers():
    logs = np.append(RNG.normal(0, 0.3, 1000), [20.0, -30.0, math.inf, -math.inf])
    edges = bins_around_zero(logs)
    assert -2 < edges[0] < -0.5 < 0.5 < edges[-1] < 2
    assert 0 in edges
    assert bins_around_zero(np.full(5, math.inf))[-1] > 0 > bins_around_zero(np.zeros(0))[0]


@pytest.mark.parametrize(
    ("low", "high"), [(0.9, 1.1), (0.5, 2.2), (0.02, 1.05), (1e-3, 1e3), (1e-9, 1e12)]
)
def test_a_handful_of_round_numbers(low, high):
    numbers = round_ratios(low, high)
    assert 3 <= len(numbers) <= 8
    assert 1 in numbers
    assert all(low <= number <= high and len(f"{number:g}") <= 5 for number in numbers)
