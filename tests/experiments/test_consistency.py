import pytest

from precall.experiments.base import Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes.consistency import EXPERIMENT, NAMES


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("consistency")
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=8))


@pytest.fixture(scope="module")
def rates(outcome):
    return {
        row.what.removeprefix("rate of convergence, ").removesuffix(": exponent of n"): row.ours
        for row in outcome.rows
        if row.what.startswith("rate")
    }


def test_theorem_3_1(outcome):
    claims = [row for row in outcome.rows if row.what.startswith("Theorem 3.1")]
    assert len(claims) == 2 + 3
    assert {row.verdict for row in claims} == {"holds"}


def test_a_fixed_k_stops_at_its_own_limit(outcome):
    (row,) = [row for row in outcome.rows if "Eq. 10–11" in row.what]
    assert row.verdict == "agrees"
    assert row.published == pytest.approx(0.488, abs=0.005)


def test_ipr_does_not_converge_in_two_dimensions(outcome, rates):
    (row,) = [row for row in outcome.rows if row.what.startswith("iPR stays biased")]
    assert row.verdict == "holds"
    assert rates["d = 2, iPR"] > -0.2


def test_rates(rates):
    assert len(rates) == 2 * len(NAMES)
    for name in ("kNN", "Parzen", "coverage"):
        assert rates[f"d = 2, {name}"] == pytest.approx(-0.5, abs=0.1)
        assert rates[f"d = 2, {name}"] < rates[f"d = 64, {name}"] < 0
    assert rates["d = 64, coverage"] < rates["d = 64, kNN"] < rates["d = 64, Parzen"]


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 10_000
