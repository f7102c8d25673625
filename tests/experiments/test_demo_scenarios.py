import numpy as np
import pytest

import precall
from precall.experiments.base import Size
from precall.experiments.demo_scenarios import (
    EXPERIMENT,
    PRINTED,
    _same_distance_noise,
    _samples,
)
from precall.experiments.running import run_experiment


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo-scenarios")
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=1))


@pytest.fixture(scope="module")
def verdicts(outcome):
    return {row.what: row.verdict for row in outcome.rows}


def test_samples_are_those_of_the_tutorial():
    sets = _samples(np.random.RandomState(42))
    assert {name: rows.shape for name, rows in sets.items()} == dict.fromkeys(sets, (5000, 128))
    np.random.seed(42)  # noqa: NPY002
    first = np.random.randn(1250, 2) * 0.5 + [-2, -2]  # noqa: NPY002
    assert np.array_equal(sets["real"][:1250, :2], first)
    assert not sets["noisy"][:, 2:].any()


def test_everything_that_the_tutorial_prints_agrees(outcome):
    against = [row for row in outcome.rows if isinstance(row.published, float)]
    assert len(against) == 6 * len(PRINTED)
    assert all(row.verdict == "agrees" for row in against)
    assert max(abs(row.difference) for row in against) < 1e-4


@pytest.mark.parametrize("scenario", ["ideal", "collapse"])
def test_diagnoses(verdicts, scenario):
    diagnoses = [verdict for what, verdict in verdicts.items() if what.startswith(f"{scenario}: ")]
    assert diagnoses[-2:] == ["holds", "holds"]


def test_thresholds_of_the_tutorial_miss_its_own_noisy_generator(outcome):
    (row,) = (row for row in outcome.rows if row.what.startswith("noisy: the tutorial's"))
    assert (row.verdict, row.ours) == ("fails", "Needs improvement")
    assert row.note.startswith("precision 0.502")


def test_the_same_distance_hides_opposite_failures(verdicts):
    sets = _samples(np.random.default_rng(0))
    distances = [
        precall.frechet_distance(sets["real"][:, :2], sets[name][:, :2])
        for name in ("collapse", "noisier")
    ]
    assert distances[0] == pytest.approx(distances[1], rel=0.05)
    assert 4 < _same_distance_noise() < 4.3
    assert verdicts["the same FID hides opposite failures"] == "holds"


def test_precision_depends_on_k(outcome):
    (row,) = (row for row in outcome.rows if row.what.startswith("k = 3 is a robust"))
    assert row.verdict == "fails"
    assert row.note


def test_figure(outcome):
    assert outcome.figure.stat().st_size > 20_000
