"""Pictures and pages for loggers; each library's interface as its documentation has it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import precall
from precall.integrations.loggers import Exhibits, show

REAL, GENERATED = np.random.default_rng(0).normal(size=(2, 100, 3))


@pytest.fixture(scope="module")
def exhibits(tmp_path_factory):
    result = precall.evaluate(REAL, GENERATED, estimators=["knn"], scores=["recall"])
    return Exhibits.of(result, tmp_path_factory.mktemp("show"), "epoch-3", report=True)


class Recording:
    """Notes every call of some methods."""

    def __init__(self, *methods):
        self.calls = []
        for name in methods:
            setattr(self, name, self._noting(name))

    def _noting(self, name):
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))


def test_exhibits_are_files_and_a_table(exhibits):
    assert exhibits.picture.read_bytes().startswith(b"\x89PNG")
    assert "<title>epoch-3</title>" in exhibits.report.read_text(encoding="utf-8")
    assert exhibits.table.startswith("| number | k | value |")


def test_tensorboard(exhibits):
    writer = Recording("add_figure", "add_text", "add_scalar")
    show(SimpleNamespace(experiment=writer), exhibits, "precall/", 70)
    assert writer.calls == [
        ("add_figure", ("precall/curves", exhibits.figure, 70), {"close": False}),
        ("add_text", ("precall/table", exhibits.table, 70), {}),
    ]


def test_mlflow(exhibits):
    client = Recording("log_artifact", "log_metric")
    show(SimpleNamespace(experiment=client, run_id="abc"), exhibits, "precall/", 70)
    assert client.calls == [
        ("log_artifact", ("abc", str(exhibits.picture), "precall"), {}),
        ("log_artifact", ("abc", str(exhibits.report), "precall"), {}),
    ]


def test_weights_and_biases(exhibits, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(Html=lambda path: ("Html", path)))
    logger = Recording("log_image", "log_metrics")
    logger.experiment = Recording("log", "log_artifact")
    show(logger, exhibits, "precall/", 70)
    assert logger.calls == [
        ("log_image", ("precall/curves", [str(exhibits.picture)], 70), {}),
        ("log_metrics", ({"precall/report": ("Html", str(exhibits.report))}, 70), {}),
    ]
    assert logger.experiment.calls == []


def test_a_logger_of_numbers_alone_is_left_alone(exhibits):
    logger = Recording("log_metrics")
    logger.experiment = Recording("log_metrics")
    show(logger, exhibits, "precall/", 70)
    assert logger.calls == logger.experiment.calls == []
