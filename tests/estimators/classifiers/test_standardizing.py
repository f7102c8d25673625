import numpy as np
import pytest

from precall.estimators.classifiers.scales import standardizing

IS_REAL = np.arange(1000) < 400


def rows_apart(apart, d=50, seed=0):
    rows = np.random.default_rng(seed).normal(3.0, 2.0, (1000, d))
    rows[IS_REAL] += 2.0 * np.asarray(apart)
    return rows


def test_the_difference_of_the_classes_does_not_count_as_deviation():
    apart = np.zeros(50)
    apart[:3] = 1.0, 6.0, 1000.0
    found = standardizing(rows := rows_apart(apart), IS_REAL)(rows)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-9)
    within = np.sqrt(0.4 * found[IS_REAL].var(axis=0) + 0.6 * found[~IS_REAL].var(axis=0))
    np.testing.assert_allclose(within[:2], 1.0, atol=0.08)
    assert found[IS_REAL, 2].min() - found[~IS_REAL, 2].max() > 10


def test_differences_by_chance_leave_no_trace_of_the_labels():
    """Else samples that were left out of training would tell their class by the scales."""
    rows = rows_apart(0.0)
    expected = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    np.testing.assert_allclose(standardizing(rows, IS_REAL)(rows), expected, rtol=1e-9, atol=1e-9)
    few = standardizing(rows[398:402], IS_REAL[398:402])(rows[398:402])
    np.testing.assert_allclose(few.std(axis=0), 1.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-18, 1.0, 1e18, 1e300])
def test_no_scale_overflows(scale):
    rows = np.stack([np.full(1000, 1.0), IS_REAL, np.linspace(-1, 1, 1000)], axis=1) * scale
    found = standardizing(rows, IS_REAL)(rows)
    assert np.isfinite(found).all()
    assert np.ptp(found[:, 0]) == 0.0
    assert np.ptp(found[:, 1]) > 10
