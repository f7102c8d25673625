import numpy as np
import pytest

from precall.experiments.base import Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes.summaries import EXPERIMENT, SCENARIOS
from precall.truth import true_curve


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("summaries")
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=1))


def labelled(scenario, strength):
    return true_curve(*SCENARIOS[scenario](strength), labelled=True)


@pytest.mark.parametrize("strength", [0.1, 0.5, 0.9])
def test_the_median_of_dropping_and_invention_is_the_extremes(strength):
    dropped, invented = labelled("dropping", strength), labelled("invention", strength)
    assert tuple(dropped.median()) == pytest.approx((1, 1 - strength))
    assert tuple(invented.median()) == pytest.approx((1 - strength, 1))
    assert (dropped.max_precision, dropped.max_recall) == pytest.approx((1, 1 - strength))


@pytest.mark.parametrize("strength", [0.2, 0.5, 0.8])
def test_the_median_sees_re_weighting_and_f_scores_do_not(strength):
    curve = labelled("re-weighting", strength)
    assert (curve.max_precision, curve.max_recall) == pytest.approx((1, 1))
    f_lost = 2 - curve.f_score(8) - curve.f_score(1 / 8)
    median_lost = 2 - sum(curve.median())
    assert 0 < f_lost < median_lost / 4


def test_all_three_ends_at_the_mixtures_of_the_paper():
    curve = labelled("all three", 1.0)
    assert (curve.max_precision, curve.max_recall) == pytest.approx((0.7, 0.7))
    assert tuple(curve.median()) == pytest.approx((0.4, 0.4))


def test_tempering_is_a_power_of_the_density():
    real, generated = SCENARIOS["tempered mixture"](2.0)
    rows = real.sample(50, seed=0)
    difference = generated.log_density(rows) - 2 * real.log_density(rows)
    assert np.ptp(difference) < 1e-9


def test_every_claim_holds(outcome):
    claims = [row for row in outcome.rows if row.published == "claimed"]
    assert [row.verdict for row in claims] == ["holds"] * 5


def test_estimates_follow_the_truth_of_separated_modes(outcome):
    errors = {row.what: row.ours for row in outcome.rows if "largest error" in row.what}
    assert len(errors) == 6 * 4
    assert all(error < 0.12 for what, error in errors.items() if "tempered" not in what)


def test_f_weighing_precision_sinks_though_no_precision_is_lost(outcome):
    found = {row.what: row.ours for row in outcome.rows}
    assert found["nine tenths dropped: true median precision"] == pytest.approx(1)
    assert found["nine tenths dropped: true f_1_8"] < 0.9


def test_figure(outcome):
    assert outcome.figure.stat().st_size > 20_000
