import re

import numpy as np
import pytest
from scipy import stats

import precall
from precall.truth import (
    Gaussian,
    Mixture,
    UniformBall,
    UniformBox,
    UniformShell,
    UniformTorus,
)

COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
SHAPES = {
    "gaussian": Gaussian([1.0, 2.0, 3.0], COVARIANCE),
    "diagonal": Gaussian([1.0, 2.0, 3.0], [1.0, 2.0, 0.5]),
    "box": UniformBox([0, 1, 2], [1, 3, 5]),
    "ball": UniformBall([1, 1, 1], 2.0),
    "shell": UniformShell([0, 0, 1], 1.0, 1.5),
    "torus": UniformTorus([0, 1, 0], 2.0, 0.7),
    "mixture": Mixture([UniformBall([0, 0, 0], 1.0), Gaussian(np.zeros(3))], [1, 3]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_samples_follow_the_density(shape):
    """Importance weights from a wide Gaussian: Σ f/g estimates any mean under f."""
    distribution = SHAPES[shape]
    proposal = Gaussian([0.5, 1.0, 1.5], 6.0)
    tried = proposal.sample(400_000, seed=1)
    ratio = np.exp(distribution.log_density(tried) - proposal.log_density(tried))
    assert ratio.mean() == pytest.approx(1, abs=0.02)
    drawn = distribution.sample(100_000, seed=2)
    for moment in (lambda x: x, lambda x: x**2, lambda x: x * np.roll(x, 1, axis=1)):
        np.testing.assert_allclose(
            (ratio[:, None] * moment(tried)).mean(axis=0), moment(drawn).mean(axis=0), atol=0.12
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_seeds_and_supports(shape):
    distribution = SHAPES[shape]
    drawn = distribution.sample(500, seed=7)
    assert drawn.shape == (500, distribution.n_features)
    np.testing.assert_array_equal(drawn, distribution.sample(500, seed=7))
    assert not np.array_equal(drawn, distribution.sample(500, seed=8))
    assert np.isfinite(distribution.log_density(drawn)).all()
    if (bounds := distribution.bounds()) is not None:
        assert ((drawn >= bounds[0]) & (drawn <= bounds[1])).all()
        assert distribution.log_density(bounds[1][None] + 1.0) == -np.inf


@pytest.mark.parametrize(("inner", "d"), [(0.0, 1), (0.0, 3), (1.2, 2), (0.5, 5)])
def test_radii_of_shells(inner, d):
    """The share of a ball within r grows as r^d."""
    shell = UniformShell(np.zeros(d), inner, 2.0)
    radius = np.linalg.norm(shell.sample(20_000, seed=3), axis=1)
    share = (radius**d - inner**d) / (2.0**d - inner**d)
    assert stats.kstest(share, "uniform").pvalue > 1e-3


def test_radii_of_tori():
    """The share of a torus beyond its central circle is ½ + (2/3π)·minor/major."""
    rows = UniformTorus([0, 0, 0], 2.0, 1.5).sample(100_000, seed=3)
    beyond = (np.hypot(rows[:, 0], rows[:, 1]) > 2.0).mean()
    assert beyond == pytest.approx(0.5 + 2 / (3 * np.pi) * 1.5 / 2.0, abs=0.006)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_another_space_are_refused(shape):
    message = "rows must have shape (n, 3) like this distribution; got shape (4, 1)."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        SHAPES[shape].log_density(np.zeros((4, 1)))


def test_gaussian_density_agrees_with_scipy():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    mean = np.array([1.0, 2.0, 3.0])
    for covariance in (COVARIANCE, np.diag([1.0, 2.0, 0.5]), 0.7 * np.eye(3)):
        expected = stats.multivariate_normal(mean, covariance).logpdf(rows)
        np.testing.assert_allclose(Gaussian(mean, covariance).log_density(rows), expected)
    np.testing.assert_allclose(Gaussian(mean, 0.7).log_density(rows), expected)


def test_labels_tell_the_component():
    mixture = Mixture(
        [UniformBox([0], [1]), UniformBox([5], [6]), UniformBox([9], [10])], [2, 1, 0]
    )
    rows, labels = mixture.sample_labelled(3000, seed=0)
    np.testing.assert_array_equal(labels, (rows[:, 0] > 2).astype(int))
    np.testing.assert_array_equal(rows, mixture.sample(3000, seed=0))
    assert (labels == 0).mean() == pytest.approx(2 / 3, abs=0.03)


def test_equality_of_parameters():
    assert Gaussian([0.0], 2.0).same_as(Gaussian([0.0], 2.0))
    assert not Gaussian([0.0], 2.0).same_as(Gaussian([0.0], 1.0))
    assert not UniformBox([0], [1]).same_as(Gaussian([0.0]))
    assert Mixture([Gaussian([0.0])]).same_as(Mixture([Gaussian([0.0])], [3.0]))


REFUSED = {
    "mean must be a vector of finite numbers; got shape ().": lambda: Gaussian(0.0),
    "covariance must be a number or have shape (2,) or (2, 2) like mean; got shape (3,).": (
        lambda: Gaussian([0, 0], [1, 1, 1])
    ),
    "covariance must be positive.": lambda: Gaussian([0, 0], -1),
    "covariance must be a symmetric matrix.": lambda: Gaussian([0, 0], [[1, 0.5], [0, 1]]),
    "covariance must be positive definite.": lambda: Gaussian([0, 0], [[1, 2], [2, 1]]),
    "components must be a list of at least one distribution.": lambda: Mixture([]),
    "covariance must be finite.": lambda: Gaussian([0, 0], np.inf),
    "mean must be a vector of finite numbers; got 'ab'.": lambda: Gaussian("ab"),
    "n must be an integer of at least 0; got -1.": lambda: Gaussian([0]).sample(-1, 0),
    "seed must be an integer of at least 0; got None.": lambda: Gaussian([0]).sample(1, None),
    "low and high must not exceed 1e+150.": lambda: UniformBox([-1e308], [1e308]),
    "components must all have the same number of features.": (
        lambda: Mixture([Gaussian([0]), Gaussian([0, 0])])
    ),
    "weights must have shape (1,), one number for each component; got shape (2,).": (
        lambda: Mixture([Gaussian([0])], [1, 2])
    ),
    "weights must be finite and non-negative, not all of them 0.": (
        lambda: Mixture([Gaussian([0])], [0])
    ),
    "low and high must be equally long, with low < high in every feature.": lambda: UniformBox(
        [1], [0]
    ),
    "radii must satisfy 0 <= inner < outer <= 1e+150; got inner=2 and outer=1.": lambda: (
        UniformShell([0], 2, 1)
    ),
    "radii must satisfy 0 < minor <= major <= 1e+150; got minor=2 and major=1.": (
        lambda: UniformTorus([0, 0, 0], 1, 2)
    ),
    "center must have three coordinates; got 2.": lambda: UniformTorus([0, 0], 2, 1),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        REFUSED[message]()
