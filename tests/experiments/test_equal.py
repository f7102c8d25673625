import pytest

from precall.experiments.base import Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes.equal import EXPERIMENT
from precall.experiments.sykes.gaussians import K_OF, METHODS


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run_experiment(EXPERIMENT, tmp_path_factory.mktemp("equal"), Size(quick=True, repeats=2))


def test_every_claim_holds_for_every_method(outcome):
    claims = [row for row in outcome.rows if row.published == "claimed"]
    assert len(claims) == 2 * len(K_OF) * len(METHODS)
    assert {row.verdict for row in claims} == {"holds"}


def test_a_split_raises_the_overlap_to_what_guessing_gives(outcome):
    overlap = {row.what: row.ours for row in outcome.rows if row.verdict == "new"}
    assert len(overlap) == 2 * len(K_OF) * len(METHODS)
    for what, value in overlap.items():
        if ", split," in what:
            assert value > 0.94
            assert value > overlap[what.replace(", split,", ", no split,")]


def test_unsplit_coverage_has_the_extremes_of_the_scalar(outcome):
    (row,) = [row for row in outcome.rows if "below 1: k = 4, coverage" in row.what]
    assert float(row.ours.removeprefix("mean ")) == pytest.approx(0.875, abs=0.02)


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 10_000
