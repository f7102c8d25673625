"""Trained classifiers and clusters against expected curves (003 Fig. 2, 3; 000 §4)."""

import numpy as np
import pytest

import precall
from precall.truth import Gaussian, Mixture, UniformShell

pytestmark = pytest.mark.slow

SHIFTS = {1.0: 0.98, 5 / 3: 0.97, 7 / 3: 0.955, 3.0: 0.93}


def evaluate(real, generated, *estimators, folds=5, seed=0):
    return precall.evaluate(
        real,
        generated,
        estimators=estimators,
        scores=(),
        split=precall.CrossFit(folds),
        seed=seed,
    )


@pytest.mark.parametrize("shift", SHIFTS)
def test_gaussian_shift(shift):
    """n = m = 10 000, d = 64, five folds, mean of 5 seeds."""
    p, q = Gaussian(np.zeros(64)), Gaussian(np.full(64, shift / 8))
    truth = precall.true_curve(p, q)
    found = []
    for seed in range(5):
        real, generated = p.sample(10_000, seed=2 * seed), q.sample(10_000, seed=2 * seed + 1)
        result = evaluate(
            real.astype(np.float32), generated.astype(np.float32), "classifier", seed=seed
        )
        found.append(result.curves["classifier"].iou(truth))
    assert np.mean(found) >= SHIFTS[shift]


def test_more_features_than_samples():
    """P = Q, n = 500, d = 2000: near the trivial curve, not near the origin."""
    real, generated = np.random.default_rng(0).normal(size=(2, 500, 2000))
    curve = evaluate(real, generated, "classifier").curves["classifier"]
    assert curve.area > 0.9
    assert curve.f_score(1) > 0.9


def xor_corners(turned):
    """Two of the corners of a square, opposite ones."""
    corners = ([1.5, -1.5 if turned else 1.5], [-1.5, 1.5 if turned else -1.5])
    return Mixture(tuple(map(Gaussian, corners)))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (UniformShell(np.zeros(4), 1.0, 2.0), UniformShell(np.zeros(4), 1.6, 2.4)),
        (xor_corners(turned=False), xor_corners(turned=True)),
        (Gaussian(np.zeros(4), 1.0), Gaussian(np.zeros(4), 4.0)),
    ],
    ids=["concentric shells", "xor", "widths"],
)
def test_what_only_a_nonlinear_classifier_can_see(p, q):
    truth = precall.true_curve(p, q, n_samples=200_000)
    real, generated = p.sample(10_000, seed=0), q.sample(10_000, seed=1)
    result = evaluate(real, generated, precall.Trained("best"), "classifier")
    assert result.curves["classifier_best"].iou(truth) >= 0.9
    assert result.curves["classifier"].area > 0.75  # near the trivial curve's 1
    assert "linear" not in result.protocol.choices["classifier_best"]


def modes(labels, n, d, seed):
    """Samples of well separated clusters, as many of each."""
    centers = np.random.default_rng(99).normal(0, 10, (160, d))
    chosen = np.resize(labels, n)
    return centers[chosen] + np.random.default_rng(seed).normal(size=(n, d))


def rectangle(precision, recall):
    """The curve of distributions that share this much of their mass, in proportion."""
    return precall.PRCurve.from_histograms(
        real=[recall, 1 - recall, 0], generated=[precision, 0, 1 - precision]
    )


@pytest.mark.parametrize("q", range(1, 10))
def test_first_q_of_ten_clusters_against_the_first_five(q):
    """003 Fig. 2: α_∞ = min(1, 5/q), β_0 = min(1, q/5)."""
    real, generated = modes(np.arange(5), 2000, 32, 0), modes(np.arange(q), 2000, 32, 1)
    truth = rectangle(min(1, 5 / q), min(1, q / 5))
    result = evaluate(real, generated, "classifier", "clusters", folds=2)
    assert result.curves["classifier"].iou(truth) > 0.95
    assert result.curves["clusters"].iou(truth) > 0.95


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_eighty_clusters_with_a_share_in_common(share):
    """003 Fig. 3: 20 clusters mix the modes up and overestimate, the classifier does not."""
    first = round(80 * (1 - share))
    real = modes(np.arange(80), 4000, 256, 0)
    generated = modes(np.arange(first, first + 80), 4000, 256, 1)
    truth = rectangle(share, share)
    result = evaluate(real, generated, "classifier", "clusters", folds=2)
    assert result.curves["classifier"].iou(truth) > 0.9
    assert result.curves["clusters"].area > truth.area + 0.1


ETA = 0.001


def slack(n, m, folds, grid):
    """How far below the truth an honest curve may fall, λ by λ, at confidence 1 − η."""
    real, generated = (np.sqrt(np.log(2 * folds / ETA) / (2 * size / folds)) for size in (n, m))
    return grid * real + generated


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("split", [True, precall.CoinFlip(), precall.CrossFit(2)], ids=str)
def test_no_estimator_with_a_split_falls_below_the_truth(split, shift):
    n, m, d = 1000, 700, 8
    p, q = Gaussian(np.zeros(d)), Gaussian(np.full(d, shift / np.sqrt(d)))
    real, generated = p.sample(n, seed=5), q.sample(m, seed=6)
    names = ("linear", "forest", "boosting", "mlp", "knn", "kernel", "best")
    estimators = [
        *map(precall.Trained, names),
        precall.Clusters(runs=3),
        *(cls("cv") for cls in (precall.IPR, precall.Coverage, precall.KNN, precall.Parzen)),
    ]
    result = precall.evaluate(real, generated, estimators=estimators, split=split, scores=())
    grid = np.tan(np.linspace(0.02, 1.55, 50))
    truth = np.minimum(grid, 1) if shift == 0 else precall.true_curve(p, q).at(grid).precision
    folds = 2 if isinstance(split, precall.CrossFit) else 1
    part = 1 if folds == 2 else 0.45  # evaluated share
    for name, curve in {**result.curves, "all": result.best_curve}.items():
        parts = 2 * folds if name == "all" else folds
        lowest = truth - slack(part * n, part * m, parts, grid)
        assert (curve.at(grid).precision >= lowest).all(), name
