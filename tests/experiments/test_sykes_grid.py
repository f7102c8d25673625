import numpy as np
import pytest

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.pr_curve import PRCurve
from precall.experiments.sykes.gaussians import ShiftedGaussians
from precall.experiments.sykes.sykes_grid import GriddedCurve, SykesGrid


@pytest.fixture
def evidence():
    rng = np.random.default_rng(0)
    is_real = np.repeat([True, False], 500)
    a = rng.poisson(np.where(is_real, 6, 4))
    b = rng.poisson(np.where(is_real, 4, 6))
    return Evidence(a, b, is_real)


def test_trade_offs_are_symmetric_with_both_ends():
    trade_offs = SykesGrid().trade_offs
    assert len(trade_offs) == 13
    assert trade_offs[0] == 0
    assert trade_offs[6] == 1
    assert trade_offs[-1] == np.inf
    assert trade_offs[1:-1] * trade_offs[-2:0:-1] == pytest.approx(1)


def test_a_triangle():
    triangle = GriddedCurve(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    square = GriddedCurve(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    assert triangle.area == pytest.approx(0.5)
    assert triangle.iou(square) == pytest.approx(0.5, abs=0.005)
    assert triangle.iou(triangle) == 1


def test_fine_grids_tend_to_the_exact_curve(evidence):
    exact = PRCurve.of(ErrorRates.of(evidence))
    errors = [abs(SykesGrid(n).minimize(evidence).area - exact.area) for n in (11, 401)]
    assert errors[1] < min(errors[0], 0.005)


def test_a_grid_of_classifiers_lies_above_all_of_them(evidence):
    grid = SykesGrid()
    every_gamma = grid.sample(PRCurve.of(ErrorRates.of(evidence)))
    some = grid.minimize(evidence)
    assert (some.precision >= every_gamma.precision - 1e-12).all()
    assert (some.recall >= every_gamma.recall - 1e-12).all()
    assert some.area > every_gamma.area


def test_extremes_are_the_errors_of_the_extreme_classifiers():
    is_real = np.repeat([True, False], 4)
    near_real = np.array([200, 200, 100, 100, 999, 999, 999, 0])
    near_generated = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    curve = SykesGrid().minimize(Evidence(near_real, near_generated, is_real))
    assert curve.recall[0] == 0.5
    assert curve.precision[-1] == 0.75


def test_polygon_inflates_the_truth_at_large_shifts():
    grid = SykesGrid()
    small, large = (ShiftedGaussians(shift).truth for shift in (1.0, 3.0))
    assert grid.sample(small).area == pytest.approx(small.area, abs=0.005)
    assert grid.sample(large).area > 1.2 * large.area


def test_the_iou_of_curves_that_cross():
    """Two triangles of area ¼ that cross at (⅓, ⅓) share ⅙, and cover ⅓ together."""
    narrow = GriddedCurve(np.array([0.5, 0.0]), np.array([0.0, 1.0]))
    low = GriddedCurve(np.array([1.0, 0.0]), np.array([0.0, 0.5]))
    assert narrow.iou(low) == pytest.approx(0.5, abs=0.005)
    assert low.iou(narrow) == narrow.iou(low)
