import numpy as np
import pytest

from precall.headline.moments import Ellipsoid, Moments
from precall.headline.shell import RadialLaw, _without_itself, is_hollow

RNG = np.random.default_rng(0)
N = 1000


def radii_of(rows):
    return np.einsum("ij,ij->i", rows, rows)


def on_sphere(d):
    rows = RNG.normal(size=(N, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("d", [1, 2, 8, 64])
def test_what_falls_outwards_is_full(d):
    full = {
        "Gaussian": RNG.normal(size=(N, d)),
        "cube": RNG.uniform(-1, 1, (N, d)),
        "ball": on_sphere(d) * RNG.uniform(size=(N, 1)) ** (1 / d),
        "Student": RNG.standard_t(3, (N, d)),
        "Laplace": RNG.laplace(size=(N, d)),
        "point": np.zeros((N, d)),
    }
    assert [name for name, rows in full.items() if is_hollow(radii_of(rows), d)] == []


@pytest.mark.parametrize("d", [2, 8, 64])
def test_spheres_are_hollow_though_one_sample_is_not_on_it(d):
    rows = on_sphere(d) * RNG.normal(1, 0.2 / d, (N, 1))
    assert is_hollow(radii_of(rows), d)
    rows[0] = 0
    assert is_hollow(radii_of(rows), d)


def test_a_full_law_is_seldom_called_hollow():
    """The uniform ball is the law on the edge: F(s) = s^{d/2}, so that no other is worse."""
    rng = np.random.default_rng(1)
    called = [is_hollow(rng.uniform(size=N) ** (2 / 10), 10) for _ in range(300)]
    assert np.mean(called) <= 0.02


def test_the_law_of_a_sphere_asks_both_ways_and_that_of_a_gaussian_one():
    squared = RNG.normal(1, 0.01, N)
    outlyingness = RadialLaw.of(squared, 16).outlyingness(np.array([0.8, 1.0, 1.2]))
    assert outlyingness[1] < min(outlyingness[0], outlyingness[2])
    squared = RNG.chisquare(16, N)
    outlyingness = RadialLaw.of(squared, 16).outlyingness(np.array([0.0, 16.0, 40.0]))
    assert (np.diff(outlyingness) > 0).all()


def test_radii_without_oneself_are_those_of_the_others():
    """Shrinkage as it is: the others have nearly the same."""
    rows = RNG.normal(size=(60, 4)) * [1, 2, 3, 4]
    whole = Ellipsoid.of(Moments.of(rows, rows.mean(axis=0)))
    own = whole.whiten(rows, whole.whitening())
    found = _without_itself(radii_of(own.astype(float)), whole)
    for i in (0, 17, 59):
        others = np.delete(rows, i, axis=0)
        ellipsoid = Ellipsoid.of(Moments.of(others, others.mean(axis=0)))
        expected = radii_of(ellipsoid.whiten(rows[[i]], ellipsoid.whitening()).astype(float))
        assert found[i] == pytest.approx(expected[0], rel=0.02)
