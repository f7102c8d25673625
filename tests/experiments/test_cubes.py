"""Cheema & Urner 2023 §4.1: scores converge to the overlap of two cubes."""

from dataclasses import replace

import numpy as np
import pytest

from precall.experiments.base import Size
from precall.experiments.cheema_urner import cubes
from precall.experiments.cheema_urner.cubes import EXPERIMENT, neighbors, overlap
from precall.experiments.running import cell_name, run_experiment


def _few_cells(size):
    """The ends of the paper's range; repetitions where chance is large, and in four dimensions."""
    return [
        {"d": d, "n": n, "repeat": r}
        for d in cubes.SHIFT_OF
        for n in (15, 1000)
        for r in range(6 if d == 4 or n == 15 else 1)
    ]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    small = replace(EXPERIMENT, steps=EXPERIMENT.steps._replace(cells=_few_cells))
    return run_experiment(small, tmp_path_factory.mktemp("cubes"), Size(quick=True))


def test_the_published_k_and_overlaps(outcome):
    assert [neighbors(n) for n in (15, 1000)] == [9, 13]
    assert [overlap(d) for d in (1, 2, 3, 4)] == pytest.approx([0.2, 0.16, 0.216, 0.1296])
    compared = [row for row in outcome.rows if isinstance(row.published, float | int)]
    assert len(compared) == 6
    assert {row.verdict for row in compared} == {"agrees"}


def test_all_scores_approach_the_truth(outcome):
    rows = [row for row in outcome.rows if "all scores approach" in row.what]
    assert [row.verdict for row in rows] == ["holds"] * 4


@pytest.mark.parametrize("d", [2, 3, 4])
def test_recall_cover_converges_faster_than_coverage_and_improved_recall(outcome, d):
    what = f"d = {d}: recall cover converges faster than coverage and improved recall"
    (row,) = [row for row in outcome.rows if row.what == what]
    assert row.verdict == "holds"


def test_covers_are_closest_in_four_dimensions(outcome):
    """At n = 1000, the largest that the paper has."""
    at = {
        row.what.removeprefix("d = 4, n = 1000: "): row.ours - overlap(4)
        for row in outcome.rows
        if row.what.startswith("d = 4, n = 1000: ")
    }
    assert 0 < at["precision cover"] < at["density"] < at["improved precision"]
    assert 0 < at["recall cover"] < at["coverage"] < at["improved recall"]


def test_curves_are_left_out_where_half_of_the_samples_are_too_few():
    values = EXPERIMENT.steps.measure({"d": 2, "n": 15, "repeat": 0}, np.random.default_rng(0))
    assert len(values) == 9
    values = EXPERIMENT.steps.measure({"d": 2, "n": 30, "repeat": 0}, np.random.default_rng(0))
    assert len(values) == 9 + 2 * 4


def test_full_size_goes_beyond_the_paper():
    cells = EXPERIMENT.steps.cells(Size(quick=False, repeats=2))
    assert {cell["d"] for cell in cells} == set(range(1, 9))
    assert max(cell["n"] for cell in cells) > 1000
    assert len(set(map(cell_name, cells))) == len(cells)


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 50_000
