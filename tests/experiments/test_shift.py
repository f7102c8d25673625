from itertools import pairwise

import numpy as np
import pytest

import precall
from precall.experiments.base import Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes.gaussians import METHODS, ShiftedGaussians
from precall.experiments.sykes.shift import CELLS, EXPERIMENT, SHIFTS, TABLE_1

measure = EXPERIMENT.steps.measure


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run_experiment(EXPERIMENT, tmp_path_factory.mktemp("shift"), Size(quick=True, repeats=3))


@pytest.fixture(scope="module")
def verdicts(outcome):
    return {row.what: row.verdict for row in outcome.rows}


def test_table_1_is_complete():
    assert TABLE_1.shape == (2, 2, len(SHIFTS), len(METHODS))
    published = dict(zip(CELLS, TABLE_1.flat, strict=True))
    assert published["split", "4", 3.0, "knn"] == 0.33
    assert published["split", "√n", 1.0, "ipr"] == 0.81
    assert published["no split", "4", SHIFTS[2], "parzen"] == 0.68
    assert published["no split", "√n", 3.0, "coverage"] == 0.96


def test_every_cell_of_table_1_is_shown_both_ways(outcome):
    shown = [row for row in outcome.rows if isinstance(row.published, float)]
    assert len(shown) == 2 * 64
    assert all(row.spread is not None for row in shown)
    assert all(row.note for row in shown if row.verdict == "differs")


def test_order_of_the_estimators(verdicts):
    assert verdicts["split, k = √n, δ ≥ 5/3: coverage ≥ kNN ≥ Parzen ≥ iPR"] == "holds"


def test_more_neighbours_are_closer_to_the_truth(verdicts):
    assert verdicts["k = √n is closer to the truth than k = 4, in all 32 cells"] == "holds"


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 20_000


@pytest.mark.parametrize(("name", "split"), [("split", True), ("no split", False)])
def test_exact_curves_are_those_of_evaluate(name, split):
    parameters = {"shift": SHIFTS[1], "n": 300, "repeat": 0}
    values = measure(parameters, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    gaussians = ShiftedGaussians(SHIFTS[1])
    real, generated = gaussians.draw(300, rng)
    estimators = ["ipr", "coverage", precall.KNN(4), precall.Parzen(4)]
    result = precall.evaluate(
        real, generated, estimators=estimators, split=split, seed=int(rng.integers(2**31))
    )
    iou = {method: curve.iou(gaussians.truth) for method, curve in result.curves.items()}
    for method, k in (("ipr", "√n"), ("coverage", "√n"), ("knn", "4"), ("parzen", "4")):
        assert values[f"exact {name} {k} {method}"] == iou[method]


def test_coverage_leads_and_ipr_is_last_on_new_samples():
    means = {}
    for shift in SHIFTS[1:]:
        cells = [{"shift": shift, "n": 2000, "repeat": r} for r in range(2)]
        found = [measure(cell, np.random.default_rng(7 + i)) for i, cell in enumerate(cells)]
        for method in METHODS:
            means[method] = np.mean([one[f"exact split √n {method}"] for one in found])
        assert all(
            means[better] >= means[worse]
            for better, worse in pairwise(("coverage", "knn", "parzen", "ipr"))
        )


def test_paper_grid_explains_the_split_rows_at_full_size():
    """One run at n = 10 000: its 8 cells at δ = 1 and k = 4, √n come within 3 deviations."""
    values = measure({"shift": 1.0, "n": 10_000, "repeat": 0}, np.random.default_rng(0))
    for k, line in zip(("4", "√n"), TABLE_1[0, :, 0], strict=True):
        for method, published in zip(METHODS, line, strict=True):
            assert values[f"grid split {k} {method}"] == pytest.approx(published, abs=0.035)
