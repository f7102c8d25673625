import json

import numpy as np
import pytest

from precall.experiments.base import Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes import outlier
from precall.experiments.sykes.gaussians import METHODS
from precall.experiments.sykes.outlier import EXPERIMENT, PAIR, SMALLEST_N

OTHERS = METHODS[1:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("outlier")


@pytest.fixture(scope="module")
def outcome(folder):
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=2))


@pytest.fixture(scope="module")
def unsplit(folder, outcome):
    cells = json.loads((folder / "outlier.json").read_text())["cells"]
    found = [cell["values"] for name, cell in cells.items() if name.startswith("split=none")]
    assert len(found) == 2
    return found


def mean(found, key):
    return np.mean([values[key] for values in found])


def test_one_outlier_moves_ipr_at_four_neighbours(unsplit):
    assert min(values["ipr k=4 moved"] for values in unsplit) >= 0.2


def test_sqrt_n_neighbours_halve_the_effect(unsplit):
    assert 0 < mean(unsplit, "ipr k=√n moved") < mean(unsplit, "ipr k=4 moved") / 2


@pytest.mark.parametrize("k", ["4", "√n"])
@pytest.mark.parametrize("name", OTHERS)
def test_the_other_curves_stay(unsplit, name, k):
    assert mean(unsplit, f"{name} k={k} moved") <= 0.03


def test_extreme_precision_of_coverage_jumps_though_its_f_score_stays(unsplit):
    moved = {
        place: mean(unsplit, f"coverage k=√n polluted {place}")
        - mean(unsplit, f"coverage k=√n clean {place}")
        for place in ("extreme", "f")
    }
    assert moved["extreme"] > 0.1
    assert abs(moved["f"]) < 0.02


def test_rows(outcome):
    claims = [row for row in outcome.rows if row.published == "claimed"]
    assert [row.verdict for row in claims] == ["holds"] * 9
    assert sum("α_∞" in row.what for row in outcome.rows) == 2 * len(METHODS)
    assert any(row.what.startswith("split, outlier") for row in outcome.rows)


@pytest.mark.parametrize("split", ["none", "50 %"])
def test_nothing_moves_without_an_outlier(monkeypatch, split):
    ordinary = PAIR.draw(200, np.random.default_rng(0))[0][-1]
    monkeypatch.setattr(outlier, "OUTLIER", ordinary)
    parameters = {"split": split, "n": 200, "repeat": 0}
    values = EXPERIMENT.steps.measure(parameters, np.random.default_rng(0))
    moved = [value for key, value in values.items() if key.endswith("moved")]
    assert len(moved) == 8
    assert moved == pytest.approx([0] * 8, abs=1e-12)


def test_sizes_and_figure(outcome):
    assert {c["n"] for c in EXPERIMENT.steps.cells(Size(quick=True))} == {SMALLEST_N}
    assert {c["n"] for c in EXPERIMENT.steps.cells(Size(quick=False))} == {10_000}
    assert outcome.figure.stat().st_size > 20_000
