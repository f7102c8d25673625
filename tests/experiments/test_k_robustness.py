"""Cheema & Urner 2023, Figure 6: how much the scores depend on k."""

import pytest

from precall.experiments.base import Size
from precall.experiments.cheema_urner.k_robustness import EXPERIMENT, mixtures, shared_modes
from precall.experiments.running import run_experiment


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("k-robustness")
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=1))


@pytest.fixture(scope="module")
def verdicts(outcome):
    return {row.what: row.verdict for row in outcome.rows}


@pytest.mark.parametrize(
    ("case", "steady", "other", "verdict"),
    [
        ("exact copies", "precision cover", "improved precision", "holds"),
        ("exact copies", "recall cover", "improved recall", "holds"),
        ("exact copies", "recall cover", "coverage", "holds"),
        ("narrow copies", "precision cover", "improved precision", "fails"),
        ("narrow copies", "precision cover", "density", "holds"),
        ("narrow copies", "recall cover", "improved recall", "holds"),
    ],
)
def test_which_score_depends_less_on_k(verdicts, case, steady, other, verdict):
    assert verdicts[f"{case}: {steady} depends less on k than {other}"] == verdict


def test_a_claim_that_fails_has_a_reason(outcome):
    failing = [row for row in outcome.rows if row.verdict == "fails"]
    assert failing
    assert all(row.note for row in failing)


def test_covers_of_exact_copies_tell_the_share_of_shared_modes(outcome):
    assert shared_modes() == pytest.approx(0.8)
    found = [row.ours for row in outcome.rows if row.verdict == "new"]
    assert found == pytest.approx([0.8, 0.8], abs=0.05)


def test_narrow_copies_have_the_modes_of_exact_ones():
    exact, narrow = (mixtures(case)[1] for case in ("exact copies", "narrow copies"))
    for one, other in zip(exact.components, narrow.components, strict=True):
        assert (one.mean == other.mean).all()
        assert other.covariance < one.covariance


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 20_000
