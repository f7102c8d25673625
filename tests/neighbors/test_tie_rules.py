"""A threshold says exactly what the rounded comparison would have said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precall.neighbors.tie_rules import TieRule, largest_square_within


def root32(squared):
    with np.errstate(over="ignore", under="ignore"):
        return np.sqrt(squared.astype(np.float32))


INSIDE = {
    TieRule.CLOSED: lambda d2, r2: d2 <= r2,
    TieRule.OPEN: lambda d2, r2: d2 < r2,
    TieRule.OPEN_FLOAT64: lambda d2, r2: np.sqrt(d2) < np.sqrt(r2),
    TieRule.CLOSED_FLOAT64: lambda d2, r2: np.sqrt(d2) <= np.sqrt(r2),
    TieRule.OPEN_FLOAT32: lambda d2, r2: root32(d2) < root32(r2),
    TieRule.CLOSED_FLOAT32: lambda d2, r2: root32(d2) <= root32(r2),
}
squares = st.one_of(
    st.floats(0, 1e300, allow_subnormal=True),
    st.integers(0, 10**6).map(float),
    st.floats(0, 100, width=32).map(float),
)


@pytest.mark.parametrize("rule", TieRule)
@given(radius=squares, steps=st.integers(-3, 3), other=squares)
def test_threshold_decides_as_the_rule_does(rule, radius, steps, other):
    r2 = np.array([radius])
    threshold = rule.thresholds(r2)
    near = r2.copy()
    for _ in range(abs(steps)):  # its neighbours, in either precision
        near = np.nextafter(near, np.inf if steps > 0 else 0.0)
    with np.errstate(over="ignore", under="ignore"):
        near32 = np.nextafter(r2.astype(np.float32), np.float32(np.inf if steps > 0 else 0))
    for d2 in (r2, near, near32.astype(np.float64), np.array([other]), np.maximum(threshold, 0)):
        if np.isfinite(d2).all():
            assert (d2 <= threshold) == INSIDE[rule](d2, r2)


@given(st.floats(0, 1e150))
def test_largest_square_is_the_largest(root):
    squared = largest_square_within(np.array([root]))
    assert np.sqrt(squared) <= root < np.sqrt(np.nextafter(squared, np.inf))
