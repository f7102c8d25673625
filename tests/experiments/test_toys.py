"""Cheema & Urner 2023, appendix B.1: the toys, and the values of Figure 12."""

import numpy as np
import pytest

from precall.experiments.base import Size
from precall.experiments.cheema_urner.toys import EXPERIMENT, TOYS
from precall.experiments.running import run_experiment


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run_experiment(EXPERIMENT, tmp_path_factory.mktemp("toys"), Size(quick=True, repeats=1))


@pytest.fixture(scope="module")
def rows(outcome):
    return {row.what: row for row in outcome.rows}


@pytest.mark.parametrize(
    ("score", "value", "verdict"),
    [
        ("density", 0.203, "agrees"),
        ("improved precision", 0.453, "agrees"),
        ("recall cover", 0.020, "agrees"),
        ("precision cover", 0.001, "agrees"),
        ("coverage", 0.010, "differs"),
        ("improved recall", 0.002, "differs"),
    ],
)
def test_figure_12_on_the_draw_of_the_paper(rows, score, value, verdict):
    row = rows[f"Fig. 12: {score}"]
    assert row.ours == pytest.approx(value, abs=0.0006)
    assert row.verdict == verdict
    assert row.note or verdict == "agrees"


def test_figure_10_on_the_draw_of_the_paper(rows):
    assert rows["Fig. 10: precision cover, “about”"].verdict == "agrees"
    assert rows["Fig. 10: recall cover, “about”"].verdict == "agrees"
    assert rows["Fig. 10: improved precision and recall are above 0.65"].verdict == "holds"


def test_what_else_the_paper_says(outcome):
    """All but what it says of Figure 11, whose sizes it does not tell."""
    claims = [row for row in outcome.rows if row.published == "claimed"]
    failing = [row.what for row in claims if row.verdict == "fails"]
    assert len(claims) == 11
    assert failing == ["Fig. 11: improved precision and recall are above 0.50"]


def test_a_split_sees_that_ball_and_doughnut_are_disjoint(rows):
    assert rows["Fig. 12: area under the coverage curve, cross-fit, k = √m"].ours < 0.01


def test_ball_and_doughnut_touch_but_do_not_overlap():
    rng = np.random.default_rng(0)
    ball, doughnut = TOYS[12].real.draw(2000, rng), TOYS[12].generated.draw(2000, rng)
    assert 4.9 < np.linalg.norm(ball, axis=1).max() <= 5
    in_tube = np.hypot(np.hypot(doughnut[:, 0], doughnut[:, 1]) - 5.5, doughnut[:, 2])
    assert 0.49 < in_tube.max() <= 0.5
    assert TOYS[12].truth.area == 0


def test_the_figure_is_drawn(outcome):
    assert outcome.figure.stat().st_size > 50_000
