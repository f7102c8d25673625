"""What is not distributed is said before the work begins."""

import logging
import re
import sys

import numpy as np
import pytest

import precall
from precall.evaluation.settings import Settings
from precall.evaluation.whole_sets import say_what_stays_here


@pytest.fixture
def paths(tmp_path):
    found = []
    for name in ("real", "generated"):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(0).normal(size=(50, 3)))
        found.append(str(tmp_path / f"{name}.npy"))
    return found


def refusal(needed):
    return (
        "rows stay in their files, where the workers of a cluster read them, but whole sets in one "
        f"memory are needed for {needed}. Switch that off, or pass arrays if this machine can hold "
        "them: numpy.load(path)."
    )


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, "the headline (headline=False, --no-headline)"),
        (
            {"headline": False, "intervals": True, "modes": "auto"},
            "intervals of scores (intervals=False, --no-intervals); modes (modes=None, --no-modes)",
        ),
        (
            {"headline": False, "estimators": ["knn", "clusters"]},
            "the curve 'clusters' (choose others by estimators, --estimator)",
        ),
    ],
)
def test_what_needs_whole_sets_is_refused(paths, options, needed):
    with pytest.raises(precall.InputError, match=f"^{re.escape(refusal(needed))}$"):
        precall.evaluate(*paths, engine="dask", **options)
    models = {"one": paths[1], "other": paths[0]}
    with pytest.raises(precall.InputError, match=r"^rows stay in their files, "):
        precall.compare(paths[0], models, engine="dask:tcp://nowhere:1", **options)


def test_what_stays_on_this_machine_is_said(caplog):
    with caplog.at_level(logging.WARNING, "precall.cluster"):
        say_what_stays_here(Settings.of(headline=False, scores=()))
        assert not caplog.messages
        say_what_stays_here(Settings.of(intervals=True))
    said = "computed by this machine alone, not by workers: the headline, intervals of scores"
    assert caplog.messages == [said]


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = "engine='dask' needs distributed. Install it with: pip install 'precall[cluster]'"
    rows = np.zeros((4, 2))
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        precall.evaluate(rows, rows, engine="dask")
