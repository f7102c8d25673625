"""The largest deviation along a path, against draws of it."""

import numpy as np
import pytest

from precall.uncertainty.simultaneous import BandOfDifference, largest_deviation


@pytest.mark.parametrize("error", [0.05, 0.002])
@pytest.mark.parametrize("n_points", [1, 20])
def test_against_draws(n_points, error):
    """Deviations along a smooth path, a random combination of a few fixed shapes."""
    rng = np.random.default_rng(0)
    place = np.linspace(0, 1, n_points)
    shapes = np.stack([np.cos(f * place + f) for f in (1.0, 2.0, 4.0, 7.0)])
    shapes /= np.linalg.norm(shapes, axis=0)
    largest = np.abs(rng.normal(size=(400_000, 4)) @ shapes).max(axis=1)
    found = largest_deviation(rng.normal(size=(4000, 4)) @ shapes, error, degrees=10**6)
    assert found == pytest.approx(np.quantile(largest, 1 - error), rel=0.03)


def test_few_degrees_of_freedom_reach_farther():
    shapes = np.random.default_rng(0).normal(size=(200, 5))
    assert largest_deviation(shapes, 0.01, 10) > largest_deviation(shapes, 0.01, 1000)


def test_what_never_varies_is_left_out():
    deviations = np.zeros((50, 3))
    deviations[:, 1] = np.random.default_rng(0).normal(size=50)
    assert largest_deviation(deviations, 0.05, 10**6) == pytest.approx(1.96, abs=0.01)
    assert largest_deviation(np.zeros((50, 3)), 0.05, 10**6) == pytest.approx(1.96, abs=0.01)


def test_where_a_band_leaves_out_0():
    band = BandOfDifference((0.5, 1.0, 2.0), (0.2, 0.0, -0.3), (0.1, -0.1, -0.4), (0.3, 0.1, -0.2))
    assert (band.better, band.worse) == ((0.5,), (2.0,))
