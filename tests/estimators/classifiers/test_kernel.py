import numpy as np
import pytest
from scipy.stats import gaussian_kde

from precall.estimators.classifiers import KernelDiscriminant


def rings(n, seed=0):
    rng = np.random.default_rng(seed)
    is_real = np.arange(2 * n) < n
    angle = rng.uniform(0, 2 * np.pi, 2 * n)
    radius = np.where(is_real, 1.0, 2.0) + rng.normal(0, 0.1, 2 * n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), is_real


def test_against_kernel_densities_of_scipy():
    rows, is_real = rings(200)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    ours = KernelDiscriminant(bandwidths=(0.5,)).fit(rows, is_real)
    h = np.sqrt(ours._squared_bandwidth)
    slope, offset = ours._calibration
    densities = []
    for side in (rows[is_real], rows[~is_real]):
        kde = gaussian_kde(side.T)
        kde.set_bandwidth(1.0)
        kde._data_covariance = np.eye(2) * h**2
        kde._data_cho_cov = np.eye(2) * h
        kde._compute_covariance()
        densities.append(np.log(kde(rows.T)))
    truth = slope * (densities[0] - densities[1]) + offset
    np.testing.assert_allclose(ours.decision_function(rows), truth, rtol=1e-8, atol=1e-8)


def test_it_sees_rings():
    rows, is_real = rings(400)
    fresh, truth = rings(400, seed=1)
    found = KernelDiscriminant().fit(rows, is_real)
    assert np.mean((found.decision_function(fresh) > 0) == truth) > 0.98
    assert found.choice.startswith("bandwidth ")


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads):
    rows, is_real = rings(400)
    one, many = (KernelDiscriminant(threads=t).fit(rows, is_real) for t in (1, threads))
    np.testing.assert_array_equal(one.decision_function(rows), many.decision_function(rows))


def test_copies_of_one_sample_are_no_obstacle():
    rows, is_real = np.ones((40, 3)), np.arange(40) < 20
    assert np.isfinite(KernelDiscriminant().fit(rows, is_real).decision_function(rows)).all()
    assert np.isfinite(
        KernelDiscriminant().fit(rows[18:22], is_real[18:22]).decision_function(rows)
    ).all()
