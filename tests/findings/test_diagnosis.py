"""Sentences, for results whose failures are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import precall
from precall.curves.pr_curve import PRCurve
from precall.findings.diagnosis import corner, diagnose
from precall.findings.samples import Extremes

PERFECT = PRCurve([0.0, 1.0], [1.0, 0.0])


def sentences(curve):
    return diagnose(curve, (None, None), (), Extremes(), (10_000, 10_000))


def test_nothing_is_wrong():
    assert sentences(PERFECT) == [
        "The two distributions are hard to tell apart.",
        "No clear sign that part of generated is unlike anything real (0.0 %).",
        "No clear sign that part of real is never generated (0.0 %).",
        "Little is re-weighted beyond that.",
    ]


def test_dropped_and_invented():
    dropped = PRCurve.from_histograms(real=[0.5, 0.5], generated=[1.0, 0.0])
    first, _, third, _ = sentences(dropped)
    assert first == "High precision, low recall: realistic, but part of the data is missing."
    assert third == "About 50.0 % of real is never generated."
    invented = PRCurve.from_histograms(real=[1.0, 0.0], generated=[0.6, 0.4])
    first, second, *_ = sentences(invented)
    assert first == "Low precision, high recall: everything is covered, but much is unrealistic."
    assert second == "About 40.0 % of generated is unlike anything real."


def test_a_little_is_dropped_or_invented():
    little = PRCurve.from_histograms(real=[0.85, 0.15], generated=[1.0, 0.0])
    assert sentences(little)[0] == (
        "High precision, fair recall: realistic, but a little of the data is missing."
    )
    assert sentences(little.swapped())[0] == (
        "Fair precision, high recall: everything is covered, but some of it is unrealistic."
    )


@given(share=st.floats(0.05, 1), other=st.floats(0.05, 1))
def test_the_corner_of_a_rectangle_is_its_corner(share, other):
    """Dropping and inventing whole modes, in any proportion."""
    curve = PRCurve.from_histograms(real=[other, 1 - other, 0.0], generated=[share, 0.0, 1 - share])
    precision, recall = corner(curve)
    assert (precision, recall) == pytest.approx((share, other), abs=1e-9)


def test_both_are_wrong():
    curve = PRCurve.from_histograms(real=[0.85, 0.15, 0.0], generated=[0.4, 0.0, 0.6])
    first, invented, dropped, _ = sentences(curve)
    assert first == (
        "Low precision, fair recall: much is unrealistic, and a little of the data is missing."
    )
    assert invented == "About 60.0 % of generated is unlike anything real."
    assert dropped == "About 15.0 % of real is never generated."


def test_re_weighted():
    curve = PRCurve.from_histograms(real=[0.9, 0.1], generated=[0.5, 0.5])
    assert sentences(curve)[0] == (
        "High precision and recall, but in the wrong proportions: some is over-produced, some "
        "under-produced."
    )
    curve = PRCurve.from_histograms(real=[0.9, 0.1], generated=[0.1, 0.9])
    assert "% of the mass is in the wrong proportion" in sentences(curve)[3]


def test_one_outlier_changes_no_word():
    """F_{1/8} and F_8 hardly move where α_∞ and β_0 jump to 1."""
    plain = PRCurve.from_histograms([0.7, 0.3, 0.0], [0.7, 0.0, 0.3])
    outlier = PRCurve.from_histograms([0.7, 0.2999, 0.0001], [0.7, 0.0001, 0.2999])
    assert outlier.max_precision == 1
    assert [text[:30] for text in sentences(plain)] == [text[:30] for text in sentences(outlier)]


def test_few_samples_are_hedged():
    rng = np.random.default_rng(0)
    result = precall.evaluate(
        rng.normal(size=(24, 3)), 0.5 + rng.normal(size=(24, 3)), scores=(), intervals=True
    )
    assert result.diagnosis()[-1] == (
        "With 24 real and 24 generated samples all of this is uncertain; take more."
    )


def test_without_a_split_there_is_no_diagnosis():
    rows = np.random.default_rng(0).normal(size=(2, 30, 3))
    result = precall.evaluate(*rows, scores=(), split=False)
    assert result.diagnosis() == ["A diagnosis needs curves, and a split to judge them by."]
