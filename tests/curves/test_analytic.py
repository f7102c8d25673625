import math
import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import precall
from precall.curves.analytic import GaussianShiftCurve
from precall.curves.hull import lower_hull
from precall.curves.pr_curve import PRCurve

SHIFTS = [1.0, 5 / 3, 7 / 3, 3.0]
BUMPY = PRCurve([0, 0.1, 0.3, 0.9], [0.95, 0.6, 0.3, 0])


def polygon(curve, n=4001):
    """A hull with vertices on the curve: slightly too large, by O(1/n²)."""
    quantiles = np.linspace(-9, 9 + curve.shift, n)
    fpr = np.concatenate([[0], norm.cdf(quantiles), [1]])
    fnr = np.concatenate([[1], norm.sf(quantiles + curve.shift), [0]])
    return PRCurve(*lower_hull(fpr, fnr))


@pytest.mark.parametrize("shift", SHIFTS)
def test_closed_form(shift):
    lam = np.geomspace(1e-3, 1e3, 101)
    u = np.log(lam)
    alpha = lam * norm.cdf(-(u + shift**2 / 2) / shift) + norm.cdf((u - shift**2 / 2) / shift)
    precision, recall = GaussianShiftCurve(shift).at(lam)
    np.testing.assert_allclose(precision, alpha, rtol=0, atol=1e-12)
    np.testing.assert_allclose(recall, alpha / lam, rtol=1e-12)


@pytest.mark.parametrize("shift", SHIFTS)
def test_area_against_another_quadrature(shift):
    curve = GaussianShiftCurve(shift)
    expected = quad(lambda w: curve.at(1 / w).precision ** 2, 1e-300, 1, epsabs=1e-12, limit=500)
    assert curve.area == pytest.approx(expected[0], abs=1e-10)


@pytest.mark.parametrize("shift", SHIFTS)
def test_agrees_with_a_fine_polygon(shift):
    curve = GaussianShiftCurve(shift)
    hull = polygon(curve)
    assert curve.iou(hull) == pytest.approx(1, abs=1e-4)
    assert hull.iou(curve) == curve.iou(hull)
    np.testing.assert_allclose(curve.median(), hull.median(), atol=1e-5)
    for b in (1 / 8, 1, 8):
        assert curve.f_score(b) == pytest.approx(hull.f_score(b), abs=1e-5)
    assert curve.jensen_shannon == pytest.approx(hull.jensen_shannon, abs=1e-5)
    assert curve.hellinger == pytest.approx(hull.hellinger, abs=1e-4)
    assert curve.total_variation == pytest.approx(hull.total_variation, abs=1e-6)
    assert curve.kl_divergence() == pytest.approx(hull.kl_divergence(), rel=1e-3)
    for grid in (0.2, 0.5, 0.9):
        assert curve.precision_at(grid) == pytest.approx(hull.precision_at(grid), abs=1e-5)
        assert curve.recall_at(grid) == pytest.approx(hull.recall_at(grid), abs=1e-5)


@pytest.mark.parametrize("shift", SHIFTS)
def test_iou_with_a_crossing_curve(shift):
    """Against adaptive quadrature in another variable, split at all corners and crossings."""
    curve = GaussianShiftCurve(shift)

    def alphas(theta):
        lam = math.tan(theta)
        return curve.at(lam).precision / math.sin(theta), BUMPY.at(lam).precision / math.sin(theta)

    angles = np.linspace(1e-9, np.pi / 2 - 1e-9, 2001)
    excess = np.array([a - b for a, b in map(alphas, angles)])
    near = angles[:-1][excess[:-1] * excess[1:] < 0]
    points = sorted([*np.arctan(BUMPY.trade_offs), *near, *(near + angles[1] - angles[0])])
    edges = [1e-12, *points, np.pi / 2 - 1e-12]

    def integral(choose):
        """In polar coordinates the area is ½∫r² dθ, r = α/sin θ."""
        return sum(
            quad(lambda t: 0.5 * choose(*alphas(t)) ** 2, a, b, limit=400)[0]
            for a, b in pairwise(edges)
        )

    assert curve.iou(BUMPY) == pytest.approx(integral(min) / integral(max), abs=1e-8)


@pytest.mark.parametrize("shift", [2e-4, 1e-3, 5e-3, 0.02, 0.1])
def test_small_shifts(shift):
    """The curve bends within a few shifts of ln λ = 0, and its area falls short by about one."""
    curve = GaussianShiftCurve(shift)

    def deficit(t):
        precision = curve.at(np.exp(shift * t)).precision
        return shift * (1 - precision**2) * np.exp(-shift * t)

    expected = 1 - sum(quad(deficit, a, b, epsabs=1e-14)[0] for a, b in ((0, 5), (5, 12), (12, 40)))
    assert curve.area == pytest.approx(expected, abs=1e-10)
    square = PRCurve([0, 1], [1, 0])
    assert curve.iou(square) == pytest.approx(curve.area, abs=1e-10)


@pytest.mark.parametrize("shift", [40.0, 80.0, 1e5])
def test_far_apart(shift):
    curve = GaussianShiftCurve(shift)
    assert curve.precision_at(0.5) == pytest.approx(0, abs=1e-80)
    assert curve.chi2_divergence() == math.inf
    assert curve.iou(GaussianShiftCurve(shift)) == 1
    assert curve.hellinger == 1
    assert curve.area == pytest.approx(0, abs=1e-80)


def test_a_crossing_between_corners_is_seen():
    """One affine piece of a hull cuts the curve twice between two edges of the panels."""
    curve = GaussianShiftCurve(1.0)
    fpr, fnr = (float(rate) for rate in curve.error_rates_at(np.array(1.0)))
    hull = PRCurve([0, fpr + 1e-4, 1], [1, fnr + 1e-4, 0])
    lam = np.exp(np.linspace(-30, 30, 6_000_001))
    ours, theirs = curve.at(lam).recall ** 2, hull.at(lam).recall ** 2
    shared = np.trapezoid(np.minimum(ours, theirs), lam)
    joint = np.trapezoid(np.maximum(ours, theirs), lam)
    assert curve.iou(hull) == pytest.approx(shared / joint, abs=1e-8)


def test_ends():
    curve = GaussianShiftCurve(1.0)
    assert curve.at([0.0, np.inf]) == (pytest.approx([0, 1]), pytest.approx([1, 0]))
    assert (curve.max_precision, curve.max_recall) == (1, 1)
    assert curve.precision_at([0.0, 1.0]).tolist() == [1, 0]
    assert curve.iou(PRCurve([0.0], [0.0])) == 0
    assert curve.iou(GaussianShiftCurve(1.0)) == 1
    wider = GaussianShiftCurve(2.0)
    assert curve.iou(wider) == pytest.approx(wider.area / curve.area)
    fpr, tpr = curve.roc()
    np.testing.assert_allclose([fpr[0], tpr[0], fpr[-1], tpr[-1]], [0, 0, 1, 1])
    epsilon, delta = curve.mode_collapse_region()
    assert (delta >= epsilon).all()
    assert (np.diff(epsilon) >= 0).all()
    assert curve.chi2_divergence() == pytest.approx(math.e - 1)


def test_refusals():
    for shift in (0.0, -1.0, 1e7, math.inf, math.nan):
        message = f"shift must be a positive number up to 1e+06; got {shift!r}."
        with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
            GaussianShiftCurve(shift)
    with pytest.raises(precall.InputError, match=r"^recall must lie in \[0, 1\]; got 2\.$"):
        GaussianShiftCurve(1.0).precision_at(2)
