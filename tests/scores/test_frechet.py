"""Fréchet distances against closed forms and against the usual formulas."""

import re

import numpy as np
import pytest
from scipy.linalg import sqrtm

import precall
from precall.data.feature_sets import FeatureSet
from precall.engines.cpu.engine import CpuEngine
from precall.scores.frechet import (
    Moments,
    distance_of_moments,
    distance_of_samples,
    frechet_distance,
)

RNG = np.random.default_rng(0)


def sets(real, generated):
    return FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")


def random_covariance(rng, d):
    factor = rng.normal(size=(d, d))
    return factor @ factor.T / d + 0.1 * np.eye(d)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_commuting_gaussians_in_closed_form(scale):
    """‖μ₁−μ₂‖² + Σ(√a − √b)² where both covariances have the same eigenvectors."""
    d = 20
    basis = np.linalg.qr(RNG.normal(size=(d, d)))[0]
    a, b = RNG.uniform(0.1, 3, d), RNG.uniform(0.1, 3, d)
    shift = RNG.normal(size=d)
    real = Moments(np.zeros(d), scale * (basis * a) @ basis.T)
    generated = Moments(shift * np.sqrt(scale), scale * (basis * b) @ basis.T)
    expected = scale * (np.sum(shift**2) + np.sum((np.sqrt(a) - np.sqrt(b)) ** 2))
    assert frechet_distance(real, generated) == pytest.approx(expected, rel=1e-8)


def test_it_is_the_sqrtm_formula():
    for d in (2, 30):
        first, second = random_covariance(RNG, d), random_covariance(RNG, d)
        means = RNG.normal(size=(2, d))
        root = sqrtm(first @ second).real
        expected = np.sum((means[0] - means[1]) ** 2) + np.trace(first + second - 2 * root)
        found = frechet_distance(Moments(means[0], first), Moments(means[1], second))
        assert found == pytest.approx(expected, rel=1e-9)


def test_features_of_very_different_variance():
    """Small variances keep their share beside a feature with 10⁸ times as much."""
    sd = np.r_[1e4, np.ones(63)]
    first, second = np.diag(sd**2), np.diag(np.r_[sd[0], 2 * sd[1:]] ** 2)
    basis = np.linalg.qr(RNG.normal(size=(64, 64)))[0]
    for turn in (np.eye(64), basis):
        real, generated = (
            Moments(np.zeros(64), turn @ covariance @ turn.T) for covariance in (first, second)
        )
        assert frechet_distance(real, generated) == pytest.approx(63, rel=1e-4)
        assert frechet_distance(real, real) <= 1e-6
    rows = RNG.normal(size=(300, 16))
    rows[:, 0] *= 1e4
    assert frechet_distance(rows, rows[::-1]) <= 1e-4


def test_moments_are_numpys():
    rows = RNG.normal(3, 2, size=(3000, 300)).astype(np.float32)
    found = Moments.of(FeatureSet.of(rows, "real"))
    np.testing.assert_allclose(found.mean, rows.mean(axis=0, dtype=float), rtol=1e-10)
    np.testing.assert_allclose(found.covariance, np.cov(rows.T.astype(float)), atol=1e-10)


def test_moments_do_not_depend_on_threads():
    features = FeatureSet.of(RNG.normal(size=(2500, 600)), "real")
    one, five = (Moments.of(features, threads=threads) for threads in (1, 5))
    assert np.array_equal(one.covariance, five.covariance)


HOSTILE = {
    "rank deficient": lambda n: RNG.normal(size=(n, 3)) @ RNG.normal(size=(3, 40)),
    "fewer samples than features": lambda n: RNG.normal(size=(n // 10, 60)),
    "constant": lambda n: np.full((n, 5), 3.7),
    "duplicated columns": lambda n: np.repeat(RNG.normal(size=(n, 4)), 5, axis=1),
    "huge offset": lambda n: RNG.normal(size=(n, 8)) + 1e9,
    "tiny": lambda n: RNG.normal(size=(n, 8)) * 1e-130,
    "large": lambda n: RNG.normal(size=(n, 8)) * 1e100,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_features(kind):
    """Never NaN or negative; 0 of a set with itself, up to rounding; a shift is seen in full."""
    rows = HOSTILE[kind](300)
    covariance = Moments.of(FeatureSet.of(rows, "real")).covariance
    spread = max(np.trace(covariance), np.finfo(float).tiny)
    assert 0 <= frechet_distance(rows, rows[::-1]) <= 1e-9 * spread
    if kind != "large":
        moved = rows + 2.0 * np.abs(rows).max()
        distance = frechet_distance(rows, moved)
        expected = np.sum((rows.mean(axis=0) - moved.mean(axis=0)) ** 2)
        assert distance == pytest.approx(expected, rel=1e-6)


def test_constant_against_spread():
    """Against a point mass only the spread and the shift are left."""
    rows = RNG.normal(size=(500, 6))
    found = frechet_distance(rows, np.zeros((10, 6)))
    expected = np.sum(rows.mean(axis=0) ** 2) + np.trace(np.cov(rows.T))
    assert found == pytest.approx(expected, rel=1e-10)


def test_moments_from_a_file(tmp_path):
    rows, other = RNG.normal(size=(200, 5)), RNG.normal(1, 2, size=(300, 5))
    path = tmp_path / "statistics.npz"
    np.savez(path, mu=rows.mean(axis=0), sigma=np.cov(rows.T))
    assert frechet_distance(path, other) == pytest.approx(frechet_distance(rows, other), rel=1e-10)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"mu": np.zeros(3)}, "has no sigma; it holds mu."),
        (
            {"mu": np.zeros(3), "sigma": np.eye(2)},
            "mu must have shape (d,) and sigma (d, d); got (3,) and (2, 2).",
        ),
        ({"mu": np.array([np.nan]), "sigma": np.eye(1)}, "mu or sigma holds NaN or infinity."),
        (
            {"mu": np.zeros(2), "sigma": np.array([[1.0, 5.0], [0.0, 1.0]])},
            "sigma is not symmetric, so it is no covariance.",
        ),
        ({"mu": np.array([None]), "sigma": np.eye(1)}, "it is no .npz file of plain numbers."),
        ({"mu": np.zeros(2), "sigma": -np.eye(2)}, "sigma is no covariance: it has negative"),
        (
            {"mu": np.zeros(2), "sigma": np.array([[1.0, 5.0], [5.0, 1.0]])},
            "sigma is no covariance: it has negative eigenvalues, down to -0.67 of the largest.",
        ),
        (
            {"mu": np.zeros(0), "sigma": np.zeros((0, 0))},
            "mu must have shape (d,) and sigma (d, d); got (0,) and (0, 0).",
        ),
    ],
)
def test_bad_moment_files(tmp_path, arrays, message):
    path = tmp_path / "statistics.npz"
    np.savez(path, **arrays)
    with pytest.raises(precall.InputError, match=re.escape(message)):
        frechet_distance(path, path)


def test_files_that_are_no_moments(tmp_path):
    path = tmp_path / "statistics.npz"
    path.write_bytes(b"\x80\x04nonsense")
    with pytest.raises(precall.InputError, match=r"^real: .* is not a valid \.npz archive: "):
        frechet_distance(path, path)
    with pytest.raises(precall.InputError, match=r"^real: cannot read .*: No such file or dir"):
        frechet_distance(tmp_path / "absent.npz", path)


def test_too_few_samples_are_said():
    rows = RNG.normal(size=(20, 50))
    result = precall.evaluate(rows, rows + 1, estimators=(), scores=["frechet_distance"])
    assert (
        "frechet_distance: real has 20 samples of 50 features, too few for a covariance of full "
        "rank; the distance is biased upwards." in result.warnings
    )


def test_a_deficient_covariance_is_said():
    rows = RNG.normal(size=(20, 50))
    with pytest.warns(
        precall.PrecallWarning, match=r"^real has 20 samples of 50 features, too few"
    ):
        frechet_distance(rows, rows + 1)


@pytest.mark.parametrize(("n", "m", "d"), [(5, 9, 20), (30, 12, 31), (2, 2, 3)])
def test_few_samples_need_no_covariances(n, m, d):
    rng = np.random.default_rng(n)
    real = FeatureSet.of(rng.normal(3, 1, (n, d)), "real")
    generated = FeatureSet.of(rng.normal(0, 2, (m, d)), "generated")
    expected = distance_of_moments(Moments.of(real), Moments.of(generated))
    same = FeatureSet.of(np.ones((n, d)), "real")
    with CpuEngine().open(1, lambda n_pairs: None) as session:
        found = distance_of_samples(session, real, generated)
        assert distance_of_samples(session, same, same) == 0
    assert found == pytest.approx(expected, rel=1e-9)
