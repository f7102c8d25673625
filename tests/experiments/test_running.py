"""Running experiments: what is finished is kept, what is not is done, the same to the bit."""

import json
from dataclasses import replace

import pytest

from precall import InputError
from precall.experiments import EXPERIMENTS, Size, finished, run_experiment
from precall.experiments.base import Experiment, Row, Steps
from precall.experiments.running import cell_name
from precall.experiments.tables import page, row_table


class Counting:
    """An experiment of three cells that counts, and can be interrupted."""

    def __init__(self):
        self.measured, self.stops_at = [], None

    def cells(self, size):
        n = size.n_repeats(quick=3, full=5)
        return [{"place": i, "n": size.pick(quick=10, full=100)} for i in range(n)]

    def measure(self, parameters, rng):
        if parameters["place"] == self.stops_at:
            raise KeyboardInterrupt
        self.measured.append(parameters["place"])
        return {"mean": float(rng.normal(size=parameters["n"]).mean())}

    def compare(self, found):
        mean, spread = found.mean("mean"), found.deviation("mean")
        return [
            Row.against("mean", 0.0, mean, tolerance=1.0, spread=spread, note="a | b"),
            Row.against("far", 5.0, mean, tolerance=1.0),
            Row.claim("order", "yes", holds=True),
            Row.new("other", 2.0),
        ]

    def draw(self, found, figure):
        figure.subplots().plot(found.parameter("place"), found.values("mean"))


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
def experiment(counting):
    return Experiment(
        "counting", "Counting", "Sykes et al. 2024 §1", "A line.", (1, 2),
        Steps(counting.cells, counting.measure, counting.compare, counting.draw),
    )  # fmt: skip


def test_rows_figure_and_json(experiment, tmp_path):
    outcome = run_experiment(experiment, tmp_path / "new", Size(quick=True))
    assert [row.verdict for row in outcome.rows] == ["agrees", "differs", "holds", "new"]
    assert outcome.rows[0].spread > 0
    assert outcome.rows[1].difference == pytest.approx(outcome.rows[1].ours - 5)
    assert outcome.figure.read_bytes().startswith(b"\x89PNG")
    document = json.loads((tmp_path / "new" / "counting.json").read_text())
    assert document["settings"]["experiment"] == "counting"
    assert len(document["cells"]) == 3
    assert finished(experiment, tmp_path / "new").rows == outcome.rows


def test_an_interrupted_run_goes_on_where_it_stopped(experiment, counting, tmp_path):
    whole = run_experiment(experiment, tmp_path / "whole", Size(quick=True))
    counting.measured, counting.stops_at = [], 2
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, tmp_path, Size(quick=True))
    assert finished(experiment, tmp_path) is None
    with pytest.raises(KeyboardInterrupt):  # with other settings, where there is a result
        run_experiment(experiment, tmp_path / "whole", Size(quick=True), seed=1)
    assert finished(experiment, tmp_path / "whole").rows == whole.rows
    counting.measured = [0, 1]
    counting.stops_at = None
    again = run_experiment(experiment, tmp_path, Size(quick=True))
    assert counting.measured == [0, 1, 2]
    assert again.rows == whole.rows


def test_other_settings_start_anew(experiment, counting, tmp_path):
    run_experiment(experiment, tmp_path, Size(quick=True))
    counting.measured = []
    run_experiment(experiment, tmp_path, Size(quick=True), seed=1)
    assert counting.measured == [0, 1, 2]
    run_experiment(experiment, tmp_path, Size(quick=False, repeats=1), seed=1)
    assert counting.measured == [0, 1, 2, 0]
    outcome = finished(experiment, tmp_path)
    assert (outcome.size, outcome.seed) == (Size(quick=False, repeats=1), 1)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"settings": {}, "cells": {"a": 1}}'])
def test_a_file_of_something_else_is_left_alone(experiment, tmp_path, content):
    path = tmp_path / "counting.json"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        run_experiment(experiment, tmp_path, Size(quick=True))
    assert str(error.value) == (
        f"{path} is not a result of an experiment; remove it or choose another folder."
    )
    assert path.read_text() == content


def test_missing_packages_are_named(experiment, tmp_path):
    needy = replace(experiment, needs=("no_such_package",))
    with pytest.raises(InputError, match="experiment counting needs no_such_package"):
        run_experiment(needy, tmp_path, Size(quick=True))


def test_tables_and_page(experiment, tmp_path):
    outcome = run_experiment(experiment, tmp_path, Size(quick=True))
    table = row_table(outcome.rows)
    assert "published" in table
    assert "claimed" in table
    text = page([outcome])
    assert "## counting: Counting" in text
    assert "`precall reproduce counting --quick`" in text
    assert "![Counting](counting.png)" in text
    assert "a \\| b" in text


def test_the_catalog_has_every_experiment():
    assert list(EXPERIMENTS) == [
        "shift", "mixture", "outlier", "dimension", "equal", "variability", "consistency",
        "summaries", "toys", "cubes", "k-robustness", "local", "modes", "demo-scenarios",
        "real-modes", "dropped-digits", "vae", "degraded",
    ]  # fmt: skip
    papers = ("Sykes et al. 2024", "Cheema & Urner 2023", "Simon et al. 2019", "The tutorial")
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert experiment.where.startswith(papers)
        assert len(experiment.caption) > 40
        cells = experiment.steps.cells(Size(quick=True))
        assert len(set(map(cell_name, cells))) == len(cells)
        assert len(experiment.steps.cells(Size(quick=False))) >= len(cells)
