"""Exact statistics of shares."""

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from precall.findings.shares import clopper_pearson, compare_shares, holm


def test_by_hand():
    assert clopper_pearson(0, 10, 0.05) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson(10, 10, 0.05) == (pytest.approx(0.025**0.1), 1.0)
    assert clopper_pearson(0, 0, 0.05) == (0.0, 1.0)
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    one, other = compare_shares([(6, 1), (4, 9)], 10, 10, 0.05)
    assert one.p_value == other.p_value == pytest.approx(2 * fisher_exact([[6, 4], [1, 9]])[1])


@pytest.mark.parametrize(
    ("counts", "finding"),
    [
        ((200, 0), "dropped"),
        ((0, 200), "invented"),
        ((200, 100), "under-produced"),
        ((100, 200), "over-produced"),
        ((100, 101), "as it should be"),
        ((1, 0), "as it should be"),
    ],
)
def test_findings(counts, finding):
    rest = 1000 - counts[0], 1000 - counts[1]
    assert compare_shares([counts, rest], 1000, 1000, 0.05)[0].finding == finding


def test_equal_shares_are_called_different_as_rarely_as_promised():
    rng, shares, wrong = np.random.default_rng(0), np.full(8, 1 / 8), 0
    for _ in range(300):
        counts = list(zip(*(rng.multinomial(n, shares).tolist() for n in (500, 300)), strict=True))
        found = compare_shares(counts, 500, 300, 0.05)
        wrong += any(part.finding != "as it should be" for part in found)
    assert wrong <= binom.ppf(0.9999, 300, 0.05)
