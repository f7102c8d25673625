"""Pairs of laws whose supports and densities are known (small version of benchmarks.headline)."""

import numpy as np
import pytest

import precall

N = 600
NAMES = ("support_precision", "support_recall", "recall_at_half")
CENTERS = 12 * np.linalg.qr(np.random.default_rng(3).normal(size=(16, 16)))[0][:10]


def gaussian(n, d, rng):
    return rng.normal(size=(n, d))


def cube(n, d, rng):
    return rng.uniform(size=(n, d))


def sphere(n, d, rng):
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def solid_ball(n, d, rng):
    return sphere(n, d, rng) * rng.uniform(size=(n, 1)) ** (1 / d)


def modes(*weights):
    def draw(n, d, rng):
        chosen = rng.choice(10, n, p=np.array(weights) / sum(weights))
        return CENTERS[chosen, :d] + rng.normal(size=(n, d))

    return draw


LAWS = {
    "Gaussian": gaussian,
    "mixture": modes(*[1.0] * 10),
    "cube": cube,
    "sphere": sphere,
    "integers": lambda n, d, rng: rng.poisson(5, (n, d)),
    "sparse counts": lambda n, d, rng: (
        (rng.uniform(size=(n, d)) < 0.003) * rng.integers(1, 4, (n, d))
    ),
    "Cauchy": lambda n, d, rng: rng.standard_cauchy((n, d)),
    "binary": lambda n, d, rng: rng.integers(0, 2, (n, d)),
    "rounded": lambda n, d, rng: rng.normal(size=(n, d)).round(1),
    "half constant": lambda n, d, rng: rng.normal(size=(n, d)) * (np.arange(d) % 2),
    "low rank": lambda n, d, rng: (
        rng.normal(size=(n, 3)) @ np.random.default_rng(6).normal(size=(3, d))
    ),
    "one value": lambda n, d, rng: np.full((n, d), 3.0),
}


def measure(real, generated, d=16, seeds=(0, 1), n=N, m=N, change=lambda x, y: (x, y)):
    """Mean of the three numbers over fresh draws."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng((seed, d))
        sets = change(real(n, d, rng), generated(m, d, rng))
        scores = precall.evaluate(*sets, estimators=(), scores=NAMES, seed=seed).scores
        found.append([scores[name].value for name in NAMES])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("name", LAWS)
def test_equal_laws_are_not_called_different(name):
    for d in (2, 16):
        precision, recall, at_half = measure(LAWS[name], LAWS[name], d, seeds=(0,))
        assert min(precision, recall) >= 0.98
        assert at_half >= 0.96


@pytest.mark.parametrize(("n", "m"), [(300, 1500), (1500, 300)])
def test_unequal_sizes_are_not_called_different(n, m):
    assert measure(gaussian, gaussian, 8, n=n, m=m, seeds=(0,)).min() >= 0.97


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_noise_far_away_costs_its_share(share):
    def spoiled(n, d, rng):
        rows = gaussian(n, d, rng)
        rows[: round(share * n)] += 50
        return rows

    precision, recall, at_half = measure(gaussian, spoiled)
    assert precision == pytest.approx(1 - share, abs=0.02)
    assert recall >= 0.97
    assert at_half >= 0.95


def test_a_dropped_mode_costs_its_share():
    precision, recall, at_half = measure(modes(*[1] * 10), modes(*[1] * 9, 0), seeds=range(3))
    deviation = np.sqrt(0.09 / (3 * N))
    assert recall == pytest.approx(0.9, abs=4 * deviation)
    assert at_half == pytest.approx(0.9, abs=4 * deviation)
    assert precision >= 0.97


def test_rare_modes_cost_recall_at_half_alone():
    rare = modes(*[0.02] * 3, *[0.94 / 7] * 7)
    precision, recall, at_half = measure(modes(*[1] * 10), rare, seeds=range(3))
    assert min(precision, recall) >= 0.95
    assert at_half == pytest.approx(0.82, abs=0.06)


@pytest.mark.parametrize("law", [gaussian, solid_ball, lambda *a: cube(*a) - 0.5])
def test_what_is_narrower_invents_nothing(law):
    def narrower(n, d, rng):
        return 0.3 * law(n, d, rng)

    precision, recall, at_half = measure(law, narrower)
    assert precision >= 0.95
    assert max(recall, at_half) <= 0.05
    precision, recall, _ = measure(narrower, law)
    assert precision <= 0.05
    assert recall >= 0.95


@pytest.mark.parametrize("radius", [0.5, 0.9, 1.1, 2.0])
def test_a_sphere_is_hollow(radius):
    found = measure(sphere, lambda n, d, rng: radius * sphere(n, d, rng), d=32, seeds=(0,))
    assert found.max() <= 0.05


@pytest.mark.parametrize("d", [1, 8])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_cubes_share_what_they_share(d, share):
    def shifted(n, d, rng):
        return cube(n, d, rng) + 1 - share ** (1 / d)

    np.testing.assert_allclose(measure(cube, shifted, d), share, atol=0.06)


def test_off_the_grid_is_outside():
    def off(n, d, rng):
        return np.where(rng.random((n, 1)) < 0.3, gaussian(n, d, rng), LAWS["rounded"](n, d, rng))

    assert measure(LAWS["rounded"], off)[0] == pytest.approx(0.7, abs=0.06)


SPOILED = {
    "real": lambda where: lambda x, y: (np.r_[x[:-1], np.full((1, x.shape[1]), where)], y),
    "generated": lambda where: lambda x, y: (x, np.r_[y[:-1], np.full((1, y.shape[1]), where)]),
    "unit": lambda where: lambda x, y: tuple(z * np.r_[where, np.ones(7)] for z in (x, y)),
}


@pytest.mark.parametrize("generated", [gaussian, lambda *a: gaussian(*a) * 0.3])
def test_neither_an_outlier_nor_a_unit_moves_a_number(generated):
    plain = measure(gaussian, generated, 8, (0,))
    for side in ("real", "generated"):
        for where in (10, 1e18):
            moved = measure(gaussian, generated, 8, (0,), change=SPOILED[side](where))
            np.testing.assert_allclose(moved, plain, atol=0.02)
    for factor in (1e3, 1e-3):
        moved = measure(gaussian, generated, 8, (0,), change=SPOILED["unit"](factor))
        np.testing.assert_allclose(moved, plain, atol=0.02)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_units_of_everything_do_not_matter(scale):
    plain = measure(gaussian, gaussian, 4, (0,), n=100, m=100)
    scaled = measure(
        gaussian, gaussian, 4, (0,), n=100, m=100, change=lambda x, y: (x * scale, y * scale)
    )
    np.testing.assert_allclose(scaled, plain, atol=0.01)


def test_points_apart_share_nothing():
    def point(where):
        return lambda n, d, rng: np.full((n, d), where)

    assert measure(point(0.0), point(1.0), 4, (0,)).max() <= 0.02
    assert measure(gaussian, point(0.0), 4, (0,))[1:].max() <= 0.05
    assert measure(point(0.0), gaussian, 4, (0,))[0] <= 0.05
