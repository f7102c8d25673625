"""Cells, what was found in them, and rows."""

import pytest

from precall.experiments.base import Measured, Measurements, Row, Size


@pytest.fixture
def found():
    cells = Size(quick=True).cross(quick=2, full=9, d=(1, 2), n=(10, 20, 30))
    return Measurements([Measured(c, {"x": 100 * c["d"] + c["n"] + c["repeat"]}) for c in cells])


def test_cells_cross_all_parameters_and_repeat_them():
    cells = Size(quick=True).cross(quick=2, full=9, d=(1, 2), n=[10])
    assert cells == [
        {"d": 1, "n": 10, "repeat": 0},
        {"d": 2, "n": 10, "repeat": 0},
        {"d": 1, "n": 10, "repeat": 1},
        {"d": 2, "n": 10, "repeat": 1},
    ]
    assert len(Size(quick=False).cross(quick=2, full=9, d=(1, 2))) == 18
    assert len(Size(quick=False, repeats=3).cross(quick=2, full=9, d=(1, 2))) == 6


def test_some_of_the_cells(found):
    assert len(found.where(d=1)) == 6
    assert len(found.where(d=1, n=20)) == 2
    assert found.where(d=3) == []
    assert len(found.without(d=1, n=20)) == 10


def test_cells_that_share_parameters(found):
    assert [(d, n, here.mean("x")) for d, n, here in found.where(d=2).by("d", "n")] == [
        (2, 10, 210.5),
        (2, 20, 220.5),
        (2, 30, 230.5),
    ]
    assert found.where(d=2).along("n", "x") == ([10, 20, 30], [210.5, 220.5, 230.5])


def test_rows_of_means(found):
    here = found.where(d=1, n=10)
    assert here.row("x", "x", "note") == Row("x", None, 110.5, "new", 0.5**0.5, "note")
    row = here.row_against("x", 110, "x", tolerance=1, reason="never shown")
    assert row == Row("x", 110, 110.5, "agrees", 0.5**0.5)
    assert here.where(repeat=0).row("x", "x").spread is None


def test_a_reason_is_given_only_where_something_is_wrong():
    assert Row.against("x", 1.0, 1.1, tolerance=0.2, reason="why").note == ""
    assert Row.against("x", 1.0, 1.3, tolerance=0.2, reason="why").note == "why"
    assert Row.against("x", 1.0, float("nan"), tolerance=0.2, reason="why").verdict == "differs"
    assert Row.claim("x", "yes", holds=True, reason="why").note == ""
    assert Row.claim("x", "no", holds=False, reason="why").note == "why"
