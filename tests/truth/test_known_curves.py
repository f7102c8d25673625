import re

import numpy as np
import pytest

import precall
from precall.curves.analytic import GaussianShiftCurve
from precall.curves.pr_curve import PRCurve
from precall.truth import (
    Gaussian,
    Mixture,
    UniformBall,
    UniformBox,
    UniformShell,
    true_curve,
)

CENTRES = [Gaussian(np.full(64, mu)) for mu in (0.0, -5.0, 3.0, 5.0)]
P_WEIGHTS, Q_WEIGHTS = [0.3, 0.2, 0.5, 0.0], [0.0, 0.5, 0.2, 0.3]  # Sykes et al. 2024 §4.2


def test_two_gaussians_of_equal_covariance():
    covariance = np.array([[2.0, 1.0], [1.0, 3.0]])
    difference = np.array([1.0, -2.0])
    curve = true_curve(Gaussian([0, 0], covariance), Gaussian(difference, covariance))
    assert isinstance(curve, GaussianShiftCurve)
    expected = np.sqrt(difference @ np.linalg.solve(covariance, difference))
    assert curve.shift == pytest.approx(expected, rel=1e-14)
    mixed_forms = true_curve(Gaussian([0, 0], 2.0), Gaussian([2, 0], [[2.0, 0], [0, 2.0]]))
    assert mixed_forms.shift == pytest.approx(np.sqrt(2))


def test_equal_distributions():
    curve = true_curve(Gaussian([0.0, 1.0]), Gaussian([0.0, 1.0]))
    assert curve.area == 1
    assert curve.total_variation == 0


@pytest.mark.parametrize(
    ("d", "shift", "share"), [(1, 8, 0.2), (2, 6, 0.16), (3, 4, 0.216), (4, 4, 0.1296)]
)
def test_cubes(d, shift, share):
    """Cheema & Urner 2023, appendix B.2."""
    low = np.zeros(d)
    curve = true_curve(UniformBox(low, low + 10), UniformBox(low + shift, low + 10 + shift))
    assert curve.max_precision == pytest.approx(share)
    assert curve.max_recall == pytest.approx(share)
    assert curve.area == pytest.approx(share**2)


def test_boxes_of_different_size():
    inside = true_curve(UniformBox([0.0], [10.0]), UniformBox([2.0], [4.0]))
    assert (inside.max_precision, inside.max_recall) == (1.0, pytest.approx(0.2))
    apart = true_curve(UniformBox([0.0], [1.0]), UniformBox([1.0], [2.0]))
    assert apart.area == 0


def test_labelled_mixtures():
    p, q = Mixture(CENTRES, P_WEIGHTS), Mixture(CENTRES, Q_WEIGHTS)
    labelled = true_curve(p, q, labelled=True)
    expected = PRCurve.from_histograms(P_WEIGHTS, Q_WEIGHTS)
    np.testing.assert_array_equal(labelled.fpr, expected.fpr)
    # Modes this far apart in 64 dimensions are as good as labelled.
    assert true_curve(p, q, n_samples=20_000).iou(expected) == pytest.approx(1, abs=0.03)


def test_mixtures_whose_components_are_apart():
    boxes = [UniformBox([4.0 * i], [4.0 * i + 1]) for i in range(4)]
    curve = true_curve(Mixture(boxes, P_WEIGHTS), Mixture(boxes[::-1], Q_WEIGHTS[::-1]))
    expected = PRCurve.from_histograms(P_WEIGHTS, Q_WEIGHTS)
    np.testing.assert_array_equal(curve.fpr, expected.fpr)
    np.testing.assert_array_equal(curve.fnr, expected.fnr)


def test_components_without_weight_do_not_count():
    """A component that neither carries may overlap the others: the curve is still exact."""
    boxes = [UniformBox([0.0], [1.0]), UniformBox([4.0], [5.0]), UniformBox([0.5], [4.5])]
    curve = true_curve(Mixture(boxes, [0.25, 0.75, 0]), Mixture(boxes, [0.5, 0.5, 0]))
    np.testing.assert_array_equal(curve.fpr, PRCurve.from_histograms([1, 3], [1, 1]).fpr)


def test_disjoint_supports_that_boxes_cannot_tell_apart():
    curve = true_curve(UniformBall([0, 0, 0], 1.0), UniformShell([0, 0, 0], 1.5, 2.0))
    assert curve.area == 0


def test_monte_carlo_against_the_closed_form():
    p, q = Gaussian(np.zeros(4)), Gaussian(np.full(4, 0.8))
    exact = true_curve(p, q)
    estimated = true_curve(Mixture([p]), q, n_samples=100_000)
    assert isinstance(estimated, PRCurve)
    assert estimated.iou(exact) > 0.985
    again = true_curve(Mixture([p]), q, n_samples=100_000)
    np.testing.assert_array_equal(again.fpr, estimated.fpr)


def test_refusals():
    for message, call in {
        "p and q must have the same number of features; got 1 and 2.": (
            lambda: true_curve(Gaussian([0]), Gaussian([0, 0]))
        ),
        "labelled=True needs p and q to be mixtures.": (
            lambda: true_curve(Gaussian([0]), Gaussian([1]), labelled=True)
        ),
        "p and q must be distributions; got 1 and 2.": lambda: true_curve(1, 2),
        "n_samples must be an integer of at least 1; got 0.": (
            lambda: true_curve(Gaussian([0]), Gaussian([1], 2.0), n_samples=0)
        ),
    }.items():
        with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
            call()
