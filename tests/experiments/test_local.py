"""Cheema & Urner 2023 §3.2: which points are found covered, and what Theorem 4 asks for."""

from dataclasses import replace

import numpy as np
import pytest

from precall.experiments.base import Size
from precall.experiments.cheema_urner.local import BREAK_EVEN, EXPERIMENT, PRINTED, expected_share
from precall.experiments.running import run_experiment
from precall.truth.closed_forms import expected_cover


def _few_cells(size):
    """Of Theorem 4 the smallest and the largest sample, otherwise no large ones."""
    cells = EXPERIMENT.steps.cells(size)
    largest = {"constant": 4000, "smooth": 4000, "theorem": 12_000}
    return [
        cell for cell in cells if cell["n"] <= largest[cell["case"]] and cell["n"] != BREAK_EVEN
    ]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    small = replace(EXPERIMENT, steps=EXPERIMENT.steps._replace(cells=_few_cells))
    return run_experiment(small, tmp_path_factory.mktemp("local"), Size(quick=True, repeats=1))


def _row(outcome, start):
    (row,) = [row for row in outcome.rows if row.what.startswith(start)]
    return row


@pytest.mark.parametrize(("n", "m", "k"), [(1000, 1000, 3), (500, 4000, 3), (9000, 1000, 40)])
def test_expected_share_where_p_equals_q(n, m, k):
    assert expected_share(1.0, n, m, k) == pytest.approx(expected_cover(n, m, k, 3 * k), abs=1e-4)


def test_expected_share_grows_with_the_ratio_and_with_n():
    by_ratio = [expected_share(omega, 1000, 1000, 3) for omega in (0.1, 0.3, 1.0, 3.0)]
    by_size = [expected_share(0.3, n, 1000, 3) for n in (300, 1000, 3000, 10_000)]
    assert (np.diff(by_ratio) > 0).all()
    assert (np.diff(by_size) > 0).all()


def test_theorem_4_needs_the_factor_of_the_appendix(outcome):
    printed = _row(outcome, "Theorem 4 as printed")
    assert (printed.verdict, printed.ours) == ("fails", "share 0.0000")
    assert f"n = {PRINTED.n}" in printed.what
    assert "lacks the factor m" in printed.note
    assert _row(outcome, "Theorem 4 with the factor m").verdict == "holds"


def test_theorem_4_asks_for_more_neighbours_than_there_are(outcome):
    row = _row(outcome, "Theorem 4, d = 64, m = 10 000")
    assert row.ours == 17_520
    assert "no such ball exists" in row.note


def test_shares_follow_the_binomial_law(outcome):
    """Of 1000 points in overlapping balls, so that a share strays by a few hundredths."""
    assert _row(outcome, "constant P/Q: largest difference of a mean share").ours < 0.12
    assert _row(outcome, "constant P/Q: largest difference of the share between").ours < 0.2


def test_an_uncovered_point_lies_where_real_is_rare(outcome):
    assert _row(outcome, "smooth P/Q, n = m").verdict == "holds"
    row = _row(outcome, "smooth P/Q, n = 4000")
    assert row.ours == pytest.approx(0.31, abs=0.06)


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 50_000
