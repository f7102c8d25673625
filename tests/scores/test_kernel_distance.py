"""Kernel distances against their definition, exact sums and float64."""

import math
from fractions import Fraction

import numpy as np
import pytest

import precall
from precall.data.feature_sets import FeatureSet, Rows
from precall.engines.cpu.engine import CpuEngine
from precall.runtime.threads import single_threaded_libraries
from precall.scores import kernel_distance as kernel
from precall.scores.kernel_distance import subsets

RNG = np.random.default_rng(0)


def sets(real, generated):
    return FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")


def session(threads=1):
    return CpuEngine().open(threads, lambda n_pairs: None)


def kernel_distance(real, generated, threads=1, **how):
    return kernel.kernel_distance(session(threads), real, generated, **how)


def kernel_distances_of_blocks(real, generated, blocks, threads):
    return kernel.kernel_distances_of_blocks(session(threads), (real, generated), blocks)


def by_definition(x, y):
    """Unbiased MMD² with full kernel matrices in float64."""
    (n, d), x, y = x.shape, x.astype(np.float64), y.astype(np.float64)

    def kernel(one, other):
        linear = one @ other.T / d + 1
        return linear * linear * linear

    within = [kernel(z, z) for z in (x, y)]
    between = kernel(x, y).mean()
    return sum((k.sum() - np.trace(k)) / (n * (n - 1)) for k in within) - 2 * between


def exactly(x, y):
    """The same in rational numbers."""
    n, d = x.shape
    x, y = ([[Fraction(float(value)) for value in row] for row in rows] for rows in (x, y))

    def mean(pairs):
        cubes = [(sum(a * b for a, b in zip(*pair, strict=True)) / d + 1) ** 3 for pair in pairs]
        return sum(cubes) / len(cubes)

    within = [mean([(z[i], z[j]) for i in range(n) for j in range(i)]) for z in (x, y)]
    return float(sum(within) - 2 * mean([(a, b) for a in x for b in y]))


def pairs_of(real, generated, size):
    for rng in np.random.default_rng(0).spawn(100):
        x, y = (rows[np.sort(rng.choice(len(rows), size, False))] for rows in (real, generated))
        yield x, y


def by_subsets(real, generated, size):
    with single_threaded_libraries():  # threads cost more than they save in small products
        values = [by_definition(x, y) for x, y in pairs_of(real, generated, size)]
    return np.mean(values), np.std(values)


@pytest.fixture
def precisions(monkeypatch):
    """What each subset was measured in, in order."""
    seen, mmd = [], subsets._mmd
    monkeypatch.setattr(subsets, "_mmd", lambda *how: (seen.append(how[-1]), mmd(*how))[1])
    return seen


@pytest.mark.parametrize(("n", "d"), [(2, 1), (60, 4), (250, 3), (251, 3), (700, 2), (520, 300)])
def test_one_subset_is_the_definition(n, d):
    """Of all samples, whatever tiles they are cut into."""
    rng = np.random.default_rng(n)
    real, generated = rng.normal(size=(n, d)), rng.normal(0.5, 1, size=(n, d))
    found = kernel_distance(*sets(real, generated), n_subsets=3)
    assert found.mean == pytest.approx(by_definition(real, generated), rel=1e-11)
    assert found.standard_deviation is None  # every subset is the whole
    assert found.subset_size == n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("offset", "scale"), [(0, 1), (0, 1e-9), (0, 1e12), (3, 1), (1e3, 1), (1e6, 1), (-1e6, 1e3)]
)
def test_offsets_and_scales_cost_no_digits(dtype, offset, scale):
    rng = np.random.default_rng(1)
    real = (offset + scale * rng.normal(size=(30, 3))).astype(dtype)
    generated = (offset + scale * rng.normal(0.2, 1, size=(30, 3))).astype(dtype)
    found = kernel_distance(*sets(real, generated))
    assert found.mean == pytest.approx(exactly(real, generated), rel=1e-8)


def test_an_outlier_costs_no_digits():
    """Its kernel with itself, 10¹⁸ times the others, is never added."""
    rng = np.random.default_rng(2)
    real, generated = rng.normal(size=(2, 30, 3))
    real[7] *= 1e6
    assert kernel_distance(*sets(real, generated)).mean == pytest.approx(
        exactly(real, generated), rel=1e-9
    )


@pytest.mark.parametrize(
    ("real", "generated"),
    [
        (RNG.normal(size=(3000, 16)), RNG.normal(0.1, 1, size=(2500, 16))),
        (RNG.gamma(0.5, 1, size=(2000, 64)), RNG.gamma(0.5, 1, size=(2000, 64))),
        (RNG.normal(10, 1, size=(2000, 8)), RNG.normal(10, 1, size=(2000, 8))),
        (RNG.integers(0, 256, (2000, 8)), RNG.integers(0, 256, (2000, 8))),
        (RNG.standard_cauchy((2000, 3)), RNG.standard_cauchy((2000, 3))),
    ],
    ids=["Gaussians", "nonnegative", "offset", "integers", "heavy tails"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_cannot_be_told_from_float64(real, generated, dtype, precisions):
    real, generated = real.astype(dtype), generated.astype(dtype)
    mean, deviation = by_subsets(real, generated, 300)
    found = kernel_distance(*sets(real, generated), subset_size=300)
    assert precisions.count(np.float32) == 100
    assert abs(found.mean - mean) <= 1e-6 * deviation
    assert found.standard_deviation == pytest.approx(deviation, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-22, 1e19, 1e22])
def test_float32_that_under_or_overflows_is_not_used(scale, precisions):
    """Nor does it warn: any warning is an error in these tests."""
    real, generated = (scale * RNG.normal(0.1, 1, size=(1200, 5)) for _ in range(2))
    found = kernel_distance(*sets(real, generated), subset_size=100)
    assert precisions.count(np.float32) == subsets._N_TRIALS
    if scale > 1:  # smaller ones are beyond the plain formula
        mean, deviation = by_subsets(real, generated, 100)
        assert found.mean == pytest.approx(mean, abs=1e-9 * deviation)


def test_float32_is_not_used_where_subsets_do_not_differ(precisions):
    real, generated = RNG.normal(size=(200, 4)), np.tile(RNG.normal(size=4), (201, 1))
    kernel_distance(*sets(real, generated))
    assert precisions.count(np.float32) == subsets._N_TRIALS


def test_few_subsets_are_measured_in_float64(precisions):
    kernel_distance(*sets(*RNG.normal(size=(2, 300, 4))), n_subsets=16, subset_size=50)
    assert precisions == [np.float64] * 16


def test_subsets_unlike_those_that_were_tried_are_measured_in_float64(precisions):
    """One outlier, that was in none of them."""
    rng = np.random.default_rng(3)
    real, generated = rng.normal(size=(2, 5000, 8))
    drawn = np.zeros(5000, dtype=int)
    for i, subset in enumerate(np.random.default_rng(0).spawn(100)):
        drawn[subset.choice(5000, 100, replace=False)] += 1000 if i < subsets._N_TRIALS else 1
    outlier = int(np.argmax(np.where(drawn < 1000, drawn, 0)))
    real[outlier] = 1e6
    found = kernel_distance(*sets(real, generated), subset_size=100)
    assert precisions.count(np.float64) >= subsets._N_TRIALS + drawn[outlier]
    patient = [
        subsets._mmd(session(), (Rows(x), Rows(y)), np.float64)
        for x, y in pairs_of(real, generated, 100)
    ]
    assert found.mean == pytest.approx(np.mean(patient), rel=1e-9)
    assert found.standard_deviation == pytest.approx(np.std(patient), rel=1e-9)


@pytest.mark.slow
def test_it_is_seeded_unbiased_and_the_same_for_any_number_of_threads():
    for d in (6, 300):
        pair = sets(RNG.normal(size=(1500, d)), RNG.normal(size=(1400, d)))
        how = {"subset_size": 400}
        first, again = (kernel_distance(*pair, seed=4, threads=t, **how) for t in (1, 3))
        assert first == again
        assert first != kernel_distance(*pair, seed=5, **how)
        assert abs(first.mean) < 4 * first.standard_deviation


def test_threads_change_nothing_in_float64():
    pair = sets(*(1e20 * RNG.normal(size=(2, 1200, 6))))
    first, again = (kernel_distance(*pair, threads=t, subset_size=400) for t in (1, 3))
    assert first == again
    assert math.isfinite(first.mean)


def test_constant_features_are_at_no_distance():
    same = np.full((1500, 4), 3.0)
    assert kernel_distance(*sets(same, same)).mean == 0
    assert kernel_distance(*sets(same, same)).standard_deviation == 0
    far = kernel_distance(*sets(same, 2 * same))
    assert far.mean == pytest.approx(10**3 + 37**3 - 2 * 19**3)


def test_values_that_would_overflow_are_refused():
    rows = RNG.normal(size=(30, 2)) * 1e60
    message = r"^score 'kernel_distance' overflows for values beyond 1e\+24; real has"
    with pytest.raises(precall.InputError, match=message):
        precall.evaluate(rows, rows + 1, estimators=(), scores=["kernel_distance"])


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_blocks_are_what_they_are_on_their_own(offset):
    rng = np.random.default_rng(1)
    real, generated = rng.normal(offset, 1, (200, 5)), rng.normal(offset + 0.3, 1, (160, 5))
    blocks = [
        (rng.choice(200, 60, replace=False), rng.choice(160, 60, replace=False)) for _ in range(7)
    ]
    found = kernel_distances_of_blocks(*sets(real, generated), blocks, threads=1)
    expected = [kernel_distance(*sets(real[i], generated[j])).mean for i, j in blocks]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    threaded = kernel_distances_of_blocks(*sets(real, generated), blocks, threads=3)
    np.testing.assert_array_equal(found, threaded)


def test_a_block_of_unequal_sizes():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(9, 3)), rng.normal(size=(6, 3))
    (found,) = kernel_distances_of_blocks(*sets(x, y), [(np.arange(9), np.arange(6))], threads=1)
    cubes = [(one @ other.T / 3 + 1) ** 3 for one, other in ((x, x), (y, y), (x, y))]
    within = sum(
        (cube.sum() - np.trace(cube)) / (n * (n - 1))
        for cube, n in zip(cubes[:2], (9, 6), strict=True)
    )
    assert found == pytest.approx(within - 2 * cubes[2].mean())
