import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

import precall
from precall.curves.pr_curve import PRCurve
from strategies import weights

HISTOGRAMS = st.integers(1, 6).flatmap(lambda n: st.tuples(weights(n), weights(n)))
LAMBDAS = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 201), [np.inf]])
REWEIGHTED = PRCurve.from_histograms(
    [0.3, 0.2, 0.5, 0], [0, 0.5, 0.2, 0.3]
)  # Sykes et al. 2024, Fig. 3
EMPTY = PRCurve([0.0], [0.0])
SQUARE = PRCurve([0.0, 1.0], [1.0, 0.0])


def curves():
    return HISTOGRAMS.map(lambda pair: PRCurve.from_histograms(*pair))


def region(curve, recall):
    """Precision on a grid of recall: an independent way to areas."""
    return np.asarray(curve.precision_at(recall))


def test_sajjadis_toy():
    curve = PRCurve.from_histograms(real=[1, 0], generated=[0.5, 0.5])
    assert curve.at(1.0) == (0.5, 0.5)
    assert (curve.max_precision, curve.max_recall) == (0.5, 1.0)


@pytest.mark.parametrize("q", range(1, 11))
def test_mode_dropping_with_labels_is_a_rectangle(q):
    """Simon et al. 2019, Fig. 2: real has 5 of 10 classes, generated the first q."""
    classes = np.arange(10)
    curve = PRCurve.from_histograms(classes < 5, classes < q)
    assert curve.max_precision == pytest.approx(min(1, 5 / q), abs=1e-15)
    assert curve.max_recall == pytest.approx(min(1, q / 5), abs=1e-15)
    assert curve.area == pytest.approx(curve.max_precision * curve.max_recall, abs=1e-15)
    np.testing.assert_allclose(curve.median(), (curve.max_precision, curve.max_recall))


@given(HISTOGRAMS)
def test_the_curve_is_the_shared_mass(pair):
    """Sykes et al. 2024, Eq. 1: α_λ = Σ min(λp, q), at every λ."""
    p, q = (np.array(side) / sum(side) for side in pair)
    curve = PRCurve.from_histograms(*pair)
    for lam in (0.01, 0.5, 1.0, 1.7, 40.0):
        shared = np.minimum(lam * p, q).sum()
        np.testing.assert_allclose(curve.at(lam), (shared, shared / lam), rtol=1e-12, atol=1e-15)
    assert curve.max_precision == pytest.approx(q[p > 0].sum(), abs=1e-12)
    assert curve.max_recall == pytest.approx(p[q > 0].sum(), abs=1e-12)


@given(curves())
def test_precision_is_concave_and_rises_recall_falls(curve):
    precision, recall = curve.at(LAMBDAS)
    assert (np.diff(precision) >= -1e-15).all()
    assert (np.diff(recall) <= 1e-15).all()
    lam, alpha = LAMBDAS[1:-1], precision[1:-1]
    chords = np.interp(lam[1:-1], lam[::2], alpha[::2])  # every other point, joined
    assert (alpha[1:-1] >= chords - 1e-12).all()
    assert precision[-1] == curve.max_precision
    assert recall[0] == curve.max_recall
    assert (precision[0], recall[-1]) == (0, 0)


@given(curves())
def test_exchanging_the_classes_mirrors_everything(curve):
    mirror = curve.swapped()
    assert mirror.max_precision == curve.max_recall
    assert mirror.area == pytest.approx(curve.area, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(mirror.median(), curve.median()[::-1], rtol=1e-9, atol=1e-12)
    assert mirror.f_score(8) == pytest.approx(curve.f_score(1 / 8), rel=1e-12)
    assert mirror.total_variation == pytest.approx(curve.total_variation, abs=1e-12)
    np.testing.assert_allclose(
        mirror.kl_divergence(), curve.kl_divergence(reverse=True), rtol=1e-9, atol=1e-12
    )


@given(curves())
def test_the_best_at_a_given_recall_lies_on_the_curve(curve):
    for share in (0.1, 0.5, 0.9, 1.0):
        recall, precision = share * curve.max_recall, share * curve.max_precision
        if recall * precision > 0:
            best = curve.precision_at(recall)
            assert curve.at(best / recall) == pytest.approx((best, recall), abs=1e-9)
            best = curve.recall_at(precision)
            assert curve.at(precision / best) == pytest.approx((precision, best), abs=1e-9)


def test_beyond_the_curve():
    curve = REWEIGHTED
    assert curve.precision_at(0.0) == curve.max_precision
    assert curve.precision_at(0.71) == 0.0
    assert curve.recall_at(1.0) == 0.0
    assert curve.precision_at([0.0, 1.0]).tolist() == [curve.max_precision, 0.0]
    assert EMPTY.precision_at([0.0, 0.5]).tolist() == [0.0, 0.0]


@given(curves())
def test_area_against_a_grid(curve):
    recall = (np.arange(20_000) + 0.5) / 20_000
    assert curve.area == pytest.approx(region(curve, recall).mean(), abs=2e-4)


@given(curves(), curves())
def test_iou_against_a_grid(one, two):
    recall = (np.arange(20_000) + 0.5) / 20_000
    a, b = region(one, recall), region(two, recall)
    joint = np.maximum(a, b).sum()
    if joint > 1000:
        assert one.iou(two) == pytest.approx(np.minimum(a, b).sum() / joint, abs=5e-3)
    assert one.iou(two) == pytest.approx(two.iou(one), abs=1e-12)
    assert one.iou(one) == 1.0


def test_empty_curves():
    assert EMPTY.area == 0
    assert EMPTY.median() == (0, 0)
    assert EMPTY.f_score() == 0
    assert EMPTY.iou(EMPTY) == 1
    assert EMPTY.iou(SQUARE) == 0
    assert EMPTY.total_variation == 1
    assert EMPTY.at([0.0, 1.0, np.inf]).precision.tolist() == [0, 0, 0]


@given(curves(), st.sampled_from([1 / 8, 0.5, 1.0, 2.0, 8.0]))
def test_f_score_is_the_best_on_the_curve(curve, b):
    precision, recall = curve.at(np.geomspace(1e-3, 1e3, 4001))
    with np.errstate(invalid="ignore"):
        tried = (1 + b**2) * precision * recall / (b**2 * precision + recall)
    best = np.nan_to_num(tried).max()
    assert curve.f_score(b) >= best - 1e-12
    assert curve.f_score(b) == pytest.approx(best, abs=2e-3)


def test_the_largest_and_smallest_b():
    assert REWEIGHTED.f_score(1e200) == pytest.approx(REWEIGHTED.max_recall)
    assert REWEIGHTED.f_score(1e-200) == pytest.approx(REWEIGHTED.max_precision)


def test_masses_of_any_size():
    huge = PRCurve.from_histograms([1e308, 1e308], [1e-300, 0])
    assert (huge.max_precision, huge.max_recall) == (1, 0.5)


def test_a_large_b_weighs_recall():
    drops = PRCurve.from_histograms([0.5, 0.5], [1, 0])  # precision 1, recall ½
    assert drops.f_score(8) == pytest.approx(65 / (64 / 0.5 + 1))
    assert drops.f_score(1 / 8) == pytest.approx((1 + 1 / 64) / (1 / 64 / 0.5 + 1))


@given(curves())
def test_the_median_halves_the_area(curve):
    precision, recall = curve.median()
    if curve.area == 0:
        return
    grid = (np.arange(4000) + 0.5) / 4000
    alpha = region(curve, grid)
    below_ray = np.minimum(alpha, grid * precision / recall).mean()
    assert below_ray == pytest.approx(curve.area / 2, abs=2e-3)


def test_roc_and_mode_collapse_region():
    fpr, tpr = REWEIGHTED.roc()
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    np.testing.assert_allclose(tpr, [0, 0.3, 0.8, 1, 1])
    epsilon, delta = REWEIGHTED.mode_collapse_region()
    # A set with 30 % of real and nothing of generated: the mode that was dropped.
    assert (0.0, pytest.approx(0.3)) in list(zip(epsilon, delta, strict=True))
    assert (epsilon[0], delta[0], epsilon[-1], delta[-1]) == (0, 0, 1, 1)
    assert (delta >= epsilon).all()


def test_samples_on_rays():
    precision, recall = SQUARE.sample(3)
    np.testing.assert_allclose(precision, [0, 1, 1], atol=1e-15)
    np.testing.assert_allclose(recall, [1, 1, 0], atol=1e-15)


def test_plot():
    display = REWEIGHTED.plot(iso_f=True, label="model", color="red")
    assert display.line_.get_label() == "model"
    x, y = display.line_.get_data()
    np.testing.assert_array_equal(x, display.recall)
    corner = REWEIGHTED.at(2.5)
    assert any(np.allclose(point, corner[::-1]) for point in zip(x, y, strict=True))
    assert display.ax_.get_xlabel() == "recall: how much of real is covered"
    same_axes = SQUARE.plot(display.ax_)
    assert same_axes.ax_ is display.ax_
    plt.close("all")


REFUSED = {
    "fpr and fnr are not the vertices of a curve: they must be equally long and not empty; "
    "got shapes (2,) and (1,).": lambda: PRCurve([0, 1], [0]),
    "fpr and fnr are not the vertices of a curve: all rates must lie in [0, 1].": lambda: PRCurve(
        [0, 2], [1, 0]
    ),
    "fpr and fnr are not the vertices of a curve: fpr must begin and fnr end with 0; "
    "got 0.1 and 0.0.": lambda: PRCurve([0.1, 1], [1, 0]),
    "fpr and fnr are not the vertices of a curve: fpr must increase and fnr decrease from each "
    "vertex to the next.": lambda: PRCurve([0, 0.5, 0.5, 1], [1, 0.5, 0.4, 0]),
    "fpr and fnr are not the vertices of a curve: they are not convex.": lambda: PRCurve(
        [0, 0.9, 1], [1, 0.9, 0]
    ),
    "trade_off must lie in [0, inf]; got -1.": lambda: SQUARE.at([1.0, -1.0]),
    "recall must lie in [0, 1]; got 1.5.": lambda: SQUARE.precision_at(1.5),
    "precision must lie in [0, 1]; got nan.": lambda: SQUARE.recall_at(np.nan),
    "b must be a positive number; got 0.": lambda: SQUARE.f_score(0),
    "n_angles must be at least 2; got 1.": lambda: SQUARE.sample(1),
    "real and generated must be histograms over the same states; got shapes (2,) and (3,).": (
        lambda: PRCurve.from_histograms([1, 1], [1, 1, 1])
    ),
    "generated must hold finite, non-negative masses, not all of them 0.": (
        lambda: PRCurve.from_histograms([1, 1], [0, 0])
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        REFUSED[message]()


@given(st.lists(curves(), min_size=1, max_size=4))
def test_mean_is_taken_at_equal_trade_offs(given_curves):
    mean = PRCurve.mean(given_curves)
    for i in range(2):
        expected = np.mean([curve.at(LAMBDAS)[i] for curve in given_curves], axis=0)
        np.testing.assert_allclose(mean.at(LAMBDAS)[i], expected, rtol=1e-12, atol=1e-12)


def test_no_mean_of_nothing():
    message = "curves must hold at least one curve; got none."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        PRCurve.mean([])


def test_mean_reaches_its_ends_exactly():
    """A last step that misses 1 by an ulp would make the Kullback-Leibler divergence infinite."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        given_curves = [PRCurve.from_histograms(*rng.integers(1, 50, (2, 6))) for _ in range(3)]
        mean = PRCurve.mean(given_curves)
        assert (mean.max_precision, mean.max_recall) == (1.0, 1.0)
        assert mean.kl_divergence() < np.inf
