import numpy as np
import pytest

from precall.experiments.base import Measured, Measurements, Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes.gaussians import METHODS
from precall.experiments.sykes.variability import EXPERIMENT, _mean_and_deviation


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variability")
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=20))


def test_batches_add_up_to_the_repetitions():
    for repeats in (1, 10, 25):
        found = EXPERIMENT.steps.cells(Size(quick=True, repeats=repeats))
        assert sum(p["repeats"] for p in found if p["n"] == 100) == repeats


def test_deviations_are_those_of_single_curves():
    rng = np.random.default_rng(0)
    curves = rng.random((7, 2, 61))
    batches = [curves[:4], curves[4:]]
    found = Measurements(
        [
            Measured({"repeats": len(b)}, {"sum x": b.sum(axis=0), "squares x": (b**2).sum(axis=0)})
            for b in batches
        ]
    )
    mean, deviation = _mean_and_deviation(found, "x")
    assert mean == pytest.approx(curves.mean(axis=0))
    assert deviation == pytest.approx(curves.std(axis=0))


def test_deviations_fall_like_the_root_of_n(outcome):
    rates = [row for row in outcome.rows if row.what.startswith("σ falls like 1/√n")]
    assert len(rates) == len(METHODS)
    assert {row.verdict for row in rates} == {"holds"}


def test_mean_curves_come_closer_to_the_truth(outcome):
    (row,) = [row for row in outcome.rows if "come closer" in row.what]
    assert row.verdict == "holds"


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 10_000
