import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from precall.headline.moments import Ellipsoid, Moments, few_directions, squared_norms

ROWS = np.random.default_rng(0).normal(size=(300, 5)) @ np.random.default_rng(1).normal(size=(5, 5))


def test_covariance_is_that_of_ledoit_and_wolf():
    covariance, shrinkage = ledoit_wolf(ROWS)
    found = Ellipsoid.of(Moments.of(ROWS, ROWS.mean(axis=0)))
    assert found.shrinkage == pytest.approx(shrinkage, rel=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6)
    np.testing.assert_allclose(found.mean, ROWS.mean(axis=0))


def test_sums_add_up():
    center = ROWS.mean(axis=0)
    first, second = (Moments.of(part, center) for part in (ROWS[:100], ROWS[100:]))
    whole = Moments.of(ROWS, center)
    np.testing.assert_allclose(first.plus(second).scatter, whole.scatter)
    np.testing.assert_allclose(whole.less(first).scatter, second.scatter)
    np.testing.assert_allclose(
        whole.around_mean.scatter / len(ROWS), np.cov(ROWS.T, bias=True), atol=1e-12
    )


def test_squared_radii_are_mahalanobis_distances():
    found = Ellipsoid.of(Moments.of(ROWS, ROWS.mean(axis=0)))
    centered = ROWS - found.mean
    expected = np.einsum("ij,jk,ik->i", centered, np.linalg.inv(found.covariance), centered)
    whitening = found.whitening()
    np.testing.assert_allclose(squared_norms(found.whiten(ROWS, whitening)), expected, rtol=1e-4)
    assert found.log_volume(whitening) == pytest.approx(
        np.linalg.slogdet(found.covariance)[1] / 2, rel=1e-4
    )


@pytest.mark.parametrize("rows", [np.zeros((60, 3)), np.ones((60, 3)), ROWS[:, [0, 0, 0]]])
def test_singular_covariances_are_none_afterwards(rows):
    found = Ellipsoid.of(Moments.of(rows, rows.mean(axis=0)))
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    assert np.isfinite(found.whitening()).all()


def test_many_features_are_sketched_so_that_inner_products_stay():
    rows = np.random.default_rng(0).normal(size=(40, 5000)).astype(np.float32)
    sketched = few_directions(rows)
    assert sketched.shape == (40, 2048)
    np.testing.assert_allclose(squared_norms(sketched), squared_norms(rows), rtol=0.2)
    assert few_directions(rows[:, :10]).shape == (40, 10)
