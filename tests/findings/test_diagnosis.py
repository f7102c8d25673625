"""Sentences about the whole of both samples, for numbers and results whose failures are known."""

import numpy as np
import pytest

import precall
from precall.curves.pr_curve import PRCurve
from precall.findings.diagnosis import diagnose
from precall.findings.reasons import Reason, Reasons
from precall.findings.samples import Extremes
from precall.scores import Score

PERFECT = PRCurve([0.0, 1.0], [1.0, 0.0])
RE_WEIGHTED = PRCurve.from_histograms(real=[0.8, 0.2], generated=[0.5, 0.5])


def support(value, surely=0.0, interval=None):
    return Score(value, interval=interval, surely_outside=surely, surely_epsilon=0.006)


def sentences(precision, recall, at_half, curve=PERFECT, **more):
    scores = {
        "support_precision": precision,
        "support_recall": recall,
        "recall_at_half": at_half,
    }
    reasons = Reasons(generated=(Reason("norm too large", 0.3, (4, 2)),))
    return diagnose(scores, reasons, curve, (), Extremes(), **more)


def test_nothing_is_wrong():
    assert sentences(support(1.0), support(0.998), Score(0.99)) == [
        "The two distributions are hard to tell apart.",
        "No clear sign that generated leaves the support of real (support precision 1.000).",
        "No clear sign that real leaves the support of generated (support recall 0.998).",
        "Recall at ½ is 0.990: the share of real that is generated at least half as often as it "
        "should be, what is rarer counted in proportion.",
        "Little is re-weighted: about 0 % of the mass (total variation by the best curve).",
    ]


def test_what_a_test_is_sure_of_is_said_with_the_share_that_it_leaves_out():
    first, second, *_ = sentences(support(0.7, 0.25, (0.66, 0.74)), support(1.0), Score(0.99))
    assert first == (
        "Low support precision, high recall at ½: hardly anything is too rare, but much is "
        "unrealistic."
    )
    assert second == (
        "At least 25.0 % of generated is outside of the support of real, by tests that at least "
        "99.4 % of real pass (support precision 0.700, interval 0.660 – 0.740): norm too large "
        "(30.0 %: rows 4, 2)."
    )


def test_what_no_test_is_sure_of_may_be():
    unsure = Score(0.7, interval=(0.3, 1.0))
    first, *_ = sentences(support(0.85), support(1.0), unsure)
    assert first == (
        "Fair support precision, low recall at ½: some of it may be unrealistic, and part of the "
        "data may be missing or too rare."
    )
    sure = Score(0.7, interval=(0.6, 0.8))
    first, *_ = sentences(support(0.95), support(1.0), sure)
    assert first == (
        "High support precision, low recall at ½: realistic, but part of the data is missing or "
        "too rare."
    )


def test_what_is_re_weighted_is_called_so_with_its_total_variation():
    first, *_, last = sentences(
        support(1.0), support(1.0), Score(0.95), RE_WEIGHTED, name="knn", variation=(0.25, 0.36)
    )
    assert first == (
        "High support precision and recall at ½, but in the wrong proportions: some is "
        "over-produced, some under-produced."
    )
    assert last == (
        "About 30 % of the mass is re-weighted, missing mass included (total variation by the knn "
        "curve, interval 25 – 36 %)."
    )


def test_without_the_headline_nothing_is_said_about_supports():
    first, last = diagnose({}, Reasons(), RE_WEIGHTED, (), Extremes())
    assert first == "Without the headline nothing is said about supports."
    assert last.startswith("About 30 % of the mass is re-weighted")


def test_without_a_split_or_a_headline_there_is_no_diagnosis():
    rows = np.random.default_rng(0).normal(size=(2, 30, 3))
    result = precall.evaluate(*rows, scores=(), split=False)
    assert result.diagnosis()[0] == (
        "A diagnosis needs the headline, or curves and a split to judge them by."
    )


@pytest.mark.parametrize("estimators", [["knn"], ["knn", "coverage"]])
def test_its_total_variation_is_that_of_the_curve_that_is_shown(estimators):
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(300, 4)), 0.5 * rng.normal(size=(300, 4))
    result = precall.evaluate(
        real, generated, estimators=estimators, scores=(), headline=False, intervals=True
    )
    name = "knn" if len(estimators) == 1 else "best"
    curve = result.curves["knn"] if name == "knn" else result.best_curve
    low, high = result.bands[name].summaries["total_variation"]
    assert result.diagnosis()[1] == (
        f"About {100 * curve.total_variation:.0f} % of the mass is re-weighted, missing mass "
        f"included (total variation by the {name} curve, interval {100 * low:.0f} – "
        f"{100 * high:.0f} %)."
    )


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 0.7), (0.2, 0.9), (0.0, 1.0)])
def test_a_law_within_another_invents_nothing(shift, scale):
    """Gaussians: nothing generated is far out, though its densities are others."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        real = rng.normal(size=(1000, 16))
        generated = shift + scale * rng.normal(size=(1000, 16))
        result = precall.evaluate(real, generated, estimators=(), scores=["precision"], seed=seed)
        assert not any("of generated is outside" in text for text in result.diagnosis())
