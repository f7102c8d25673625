"""Clusters against the formula of Sajjadi et al. 2018."""

import re

import numpy as np
import pytest

import precall

PLACES = np.array([[0, 0], [40, 0], [0, 40], [40, 40], [90, 90]], dtype=float)


def at_places(counts, seed=0):
    """Samples so close to a few places that any clustering finds these."""
    rows = np.repeat(PLACES, counts, axis=0)
    return rows + np.random.default_rng(seed).normal(0, 0.01, rows.shape)


def original(real, generated, n_angles=101):
    """Precision and recall as the original program computes them from two histograms."""
    angles = np.linspace(1e-10, np.pi / 2 - 1e-10, n_angles)
    slopes = np.tan(angles)
    precision = np.minimum(slopes[:, None] * real, generated).sum(axis=1)
    return slopes, np.clip(precision, 0, 1), np.clip(precision / slopes, 0, 1)


@pytest.mark.parametrize("split", [False, True, precall.CrossFit(3)])
def test_the_curve_of_the_two_histograms(split):
    p, q = np.array([30, 60, 0, 60, 90]), np.array([90, 30, 60, 0, 60])
    result = precall.evaluate(
        at_places(p),
        at_places(q, seed=1),
        estimators=[precall.Clusters(n_clusters=5, runs=3)],
        scores=(),
        split=split,
    )
    slopes, precision, recall = original(p / p.sum(), q / q.sum())
    found = result.curves["clusters"].at(slopes)
    tolerance = 0.1 if split is True else 1e-9  # half of the samples are evaluated, or all
    np.testing.assert_allclose(found.precision, precision, atol=tolerance)
    np.testing.assert_allclose(found.recall, recall, atol=tolerance)


def test_toy_of_the_paper():
    """Real on one state, generated half on each: α_1 = β_1 = .5, α_∞ = .5, β_0 = 1."""
    result = precall.evaluate(
        at_places([100, 0, 0, 0, 0]),
        at_places([50, 50, 0, 0, 0]),
        estimators=[precall.Clusters(n_clusters=2, runs=2)],
        scores=(),
        split=False,
    )
    curve = result.curves["clusters"]
    assert curve.at(1.0) == pytest.approx((0.5, 0.5))
    assert (curve.max_precision, curve.max_recall) == (0.5, 1.0)


def test_runs_are_averaged_at_equal_trade_offs():
    rng = np.random.default_rng(0)
    real, generated = rng.normal(0, 1, (300, 4)), rng.normal(0.5, 1, (200, 4))

    def curve(runs):
        estimators = [precall.Clusters(n_clusters=6, runs=runs)]
        return precall.evaluate(
            real, generated, estimators=estimators, scores=(), split=False
        ).curves["clusters"]

    one, two = curve(1), curve(2)
    grid = np.tan(np.linspace(0.01, 1.5, 40))
    second = 2 * two.at(grid).precision - one.at(grid).precision  # what the other run must be
    assert (np.diff(second) >= -1e-12).all()
    assert not np.allclose(second, one.at(grid).precision)


def test_a_split_is_honest():
    """P = Q and nearly as many clusters as samples: adapted centres separate what is the same."""
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(2, 300, 8))
    estimators = [precall.Clusters(n_clusters=150, runs=2)]
    naive, honest = (
        precall.evaluate(real, generated, estimators=estimators, scores=(), split=split)
        .curves["clusters"]
        .at(1.0)
        .precision
        for split in (False, True)
    )
    assert naive < 0.75
    assert honest > 0.85


@pytest.mark.parametrize("scale", [1e-130, 1e149])
def test_scale_does_not_matter(scale):
    p, q = at_places([30, 60, 0, 60, 90]), at_places([90, 30, 60, 0, 60], seed=1)
    estimators = [precall.Clusters(n_clusters=5, runs=2)]
    plain, scaled = (
        precall.evaluate(p * s, q * s, estimators=estimators, scores=(), split=False)
        for s in (1.0, 2.0 ** np.round(np.log2(scale / 100)))
    )
    assert plain.curves["clusters"].fpr.tolist() == scaled.curves["clusters"].fpr.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: precall.Clusters(n_clusters=1),
            "n_clusters must be an integer of at least 2; got 1.",
        ),
        (lambda: precall.Clusters(runs=0), "runs must be an integer of at least 1; got 0."),
        (
            lambda: precall.evaluate(
                np.eye(8), np.eye(8), estimators=[precall.Clusters()], split=False, scores=()
            ),
            "n_clusters=20 needs at least 20 samples to fit on; real and generated have 16 "
            "together.",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        make()


def test_an_offset_does_not_matter():
    rng = np.random.default_rng(0)
    real = np.round(64 * rng.normal(size=(300, 16))) / 64
    generated = np.round(64 * rng.normal(size=(300, 16))) / 64
    generated[:150] += 8
    areas = []
    for offset in (0, 30_000):
        rows = [(side + offset).astype(np.float32) for side in (real, generated)]
        result = precall.evaluate(*rows, estimators=[precall.Clusters(5, 2)], scores=())
        areas.append(result.curves["clusters"].area)
    assert areas[0] == pytest.approx(areas[1], abs=0.02)
    assert areas[0] < 0.6


def test_evaluated_samples_far_from_the_fitted_ones():
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(2, 60, 3)).astype(np.float32)
    real[:3] *= 1e30
    result = precall.evaluate(real, generated, estimators=[precall.Clusters(4, 2)], scores=())
    assert 0 < result.curves["clusters"].area <= 1
