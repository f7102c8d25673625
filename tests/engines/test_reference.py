"""The reference engine against definitions in plain Python, and against scikit-learn."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from engine_cases import fold_of
from engine_cases import measure as measure_with
from precall.data.splits import HoldOut
from precall.engines.reference import ReferenceEngine, squared_distances
from precall.neighbors.statistics import ROLES, Ball, CrossPlan, NeighborPlan
from strategies import pairs_with_k


def measure(fold, requests, **tiles):
    return measure_with(ReferenceEngine(**tiles), fold, NeighborPlan(frozenset(requests)))


def between(real, generated, **cross):
    """Both sides of what is found between the classes."""
    plan = NeighborPlan(cross=CrossPlan(**cross))
    found = measure_with(ReferenceEngine(), fold_of(real, generated), plan).cross
    return found.real, found.generated


def exact(x, y):
    """Squared distance of two integer rows, in Python's unbounded integers."""
    return sum((int(a) - int(b)) ** 2 for a, b in zip(x, y, strict=True))


def own_radius(points, i, k):
    """Squared distance to the k-th other point, excluded by index."""
    others = [exact(points[i], p) for j, p in enumerate(points) if j != i]
    return sorted(others)[k - 1]


def median_radius(points, k):
    return statistics.median(math.sqrt(own_radius(points, j, k)) for j in range(len(points)))


def counts_by_definition(ball, k, z, real, generated):
    """How many real and generated fit points are near z, word by word from the definitions."""
    to_real, to_generated = ([exact(z, p) for p in side] for side in (real, generated))
    if ball is Ball.REFERENCE:
        return [
            sum(d <= own_radius(side, j, k) for j, d in enumerate(distances))
            for side, distances in ((real, to_real), (generated, to_generated))
        ]
    if ball is Ball.MEAN:
        means = [
            math.fsum(math.sqrt(own_radius(side, j, k)) for j in range(len(side))) / len(side)
            for side in (real, generated)
        ]
        return [
            sum(math.sqrt(d) <= mean for d in distances)
            for mean, distances in zip(means, (to_real, to_generated), strict=True)
        ]
    if ball is Ball.OPPOSITE:
        radii = sorted(to_generated)[k - 1], sorted(to_real)[k - 1]
    else:
        radii = (sorted(to_real + to_generated)[k - 1],) * 2
    return [
        sum(d <= radius for d in distances)
        for radius, distances in zip(radii, (to_real, to_generated), strict=True)
    ]


@given(pairs_with_k(), st.sampled_from([(64, 1024), (1, 1), (3, 2)]))
def test_counts_without_a_split(pair, tiles):
    real, generated, k = pair
    found = measure(
        fold_of(real, generated),
        {(ball, k) for ball in Ball},
        query_tile=tiles[0],
        reference_tile=tiles[1],
    )
    assert found.is_real.tolist() == [True] * len(real) + [False] * len(generated)
    for ball in Ball:
        expected = [counts_by_definition(ball, k, z, real, generated) for z in [*real, *generated]]
        assert found.counts[ball, k].tolist() == expected, ball


@given(pairs_with_k())
def test_between_the_classes(pair):
    """Everything between the classes, word by word."""
    real, generated, k = pair
    balls = frozenset((role, k) for role in ROLES)
    sides = between(real, generated, balls=balls, nearest=True)
    for own, others, found in zip((real, generated), (generated, real), sides, strict=True):
        radii = [own_radius(others, j, k) for j in range(len(others))]
        for i, z in enumerate(own):
            distances = [exact(z, other) for other in others]
            nearest = min(distances)
            held = [d <= r for d, r in zip(distances, radii, strict=True)]
            assert found.held_by[k][i] == sum(held)
            assert found.holds[k][i] == sum(d <= own_radius(own, i, k) for d in distances)
            assert found.nearest.place[i] == distances.index(nearest)
            assert found.nearest.squared[i] == nearest
            in_nearest = any(h and d == nearest for h, d in zip(held, distances, strict=True))
            assert found.nearest.holds[k][i] == in_nearest


@given(pairs_with_k())
def test_realism_and_soft_cover(pair):
    real, generated, k = pair
    soft = frozenset({("real", k)})
    _, found = between(real, generated, realism=frozenset({k}), soft=soft)
    radii = np.sqrt([float(own_radius(real, j, k)) for j in range(len(real))])
    mean = 1.2 * radii.mean()
    for z, realism, covered in zip(generated, found.squared_realism[k], found.soft(k), strict=True):
        distances = np.sqrt([float(exact(z, other)) for other in real])
        kept = radii <= np.median(radii)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.nan_to_num(radii[kept] / distances[kept], nan=1.0, posinf=np.inf)
            factors = np.nan_to_num(np.minimum(1, distances / mean), nan=0.0)
        assert np.sqrt(realism) == pytest.approx(ratios.max())
        assert covered == pytest.approx(1 - factors.prod(), abs=1e-12)


@given(pairs_with_k())
def test_clipped_balls_of_other_real_samples(pair):
    real, generated, k = pair
    sides = between(real, generated, clipped=frozenset({k}))
    median = median_radius(real, k)
    radii = [min(math.sqrt(own_radius(real, j, k)), median) for j in range(len(real))]
    for is_real, rows, found in zip((True, False), (real, generated), sides, strict=True):
        expected = [
            sum(
                math.sqrt(exact(z, center)) <= radii[j]
                for j, center in enumerate(real)
                if not (is_real and i == j)
            )
            for i, z in enumerate(rows)
        ]
        assert found.clipped[k].tolist() == expected


@given(pairs_with_k())
def test_counts_with_a_split(pair):
    real, generated, _ = pair
    fold = fold_of(real, generated, HoldOut())
    fit_real, fit_generated, *evaluated = (
        rows.tile(0, len(rows))
        for rows in (
            fold.real.fit,
            fold.generated.fit,
            fold.real.evaluated,
            fold.generated.evaluated,
        )
    )
    k = min(len(fit_real), len(fit_generated)) - 1
    if k == 0:
        return
    found = measure(fold, {(ball, k) for ball in Ball})
    for ball in Ball:
        expected = [
            counts_by_definition(ball, k, z, fit_real, fit_generated)
            for side in evaluated
            for z in side
        ]
        assert found.counts[ball, k].tolist() == expected, ball


def test_radii_and_counts_agree_with_scikit_learn():
    rng = np.random.default_rng(3)
    real, generated = rng.normal(size=(300, 7)), rng.normal(0.4, 1, size=(200, 7))
    found = measure(fold_of(real, generated), {(Ball.OPPOSITE, 6), (Ball.REFERENCE, 5)})
    queries = np.concatenate([real, generated])
    reach = [
        NearestNeighbors(n_neighbors=6, algorithm="brute").fit(side).kneighbors(queries)[0][:, -1]
        for side in (generated, real)
    ]
    np.testing.assert_allclose(
        np.sqrt(found.squared_reach[Ball.OPPOSITE, 6]), np.stack(reach, 1), rtol=1e-12, atol=1e-7
    )
    radius = NearestNeighbors(n_neighbors=5).fit(real).kneighbors()[0][:, -1]
    distance = np.linalg.norm(queries[:, None] - real, axis=2)
    np.testing.assert_array_equal(
        found.counts[Ball.REFERENCE, 5][:, 0], (distance <= radius * (1 + 1e-12)).sum(axis=1)
    )


def test_distances_are_added_one_by_one_in_order():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 50)) * 10.0 ** np.arange(-25, 25)
    for x, row in zip(a, squared_distances(a, b), strict=True):
        for y, found in zip(b, row, strict=True):
            total = 0.0
            for p, q in zip(x.tolist(), y.tolist(), strict=True):
                total += (p - q) * (p - q)
            assert found == total


@pytest.mark.parametrize("tiles", [(1, 1), (7, 13), (64, 4096)])
@pytest.mark.slow
def test_tiles_change_nothing(tiles):
    rng = np.random.default_rng(1)
    real, generated = rng.normal(size=(90, 5)).astype(np.float32), rng.normal(size=(70, 5))
    fold = fold_of(real, generated)
    requests = {(ball, k) for ball in Ball for k in (1, 4, 20)}
    expected = measure(fold, requests)
    found = measure(fold, requests, query_tile=tiles[0], reference_tile=tiles[1])
    for request in requests:
        np.testing.assert_array_equal(found.counts[request], expected.counts[request])
    for request, reach in expected.squared_reach.items():
        np.testing.assert_array_equal(found.squared_reach[request], reach)
