import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precall.neighbors.statistics import Ball, Nearest, NeighborPlan, NeighborStatistics

DISTANCES = st.lists(st.integers(0, 9).map(float), max_size=8)


def nearest(values, depth=4):
    return Nearest.among(np.array([values], dtype=float).reshape(1, -1), depth)


@given(DISTANCES, DISTANCES, DISTANCES)
def test_merging_is_finding_among_all(a, b, c):
    whole = nearest(a + b + c).squared
    left = nearest(a).merge(nearest(b)).merge(nearest(c)).squared
    right = nearest(a).merge(nearest(b).merge(nearest(c))).squared
    np.testing.assert_array_equal(left, whole)
    np.testing.assert_array_equal(right, whole)
    np.testing.assert_array_equal(Nearest.none(1, 4).merge(nearest(a)).squared, nearest(a).squared)
    expected = [*sorted(a + b + c)[:4], *[np.inf] * 4][:4]
    assert whole.tolist() == [expected]


def test_kth_counts_from_one():
    assert nearest([5, 3, 9, 1]).kth(1).tolist() == [1]
    assert nearest([5, 3, 9, 1]).kth(4).tolist() == [9]


def test_plans_unite():
    plans = [NeighborPlan(frozenset({(Ball.UNION, k)})) for k in (7, 3, 7)]
    plan = NeighborPlan(frozenset({(Ball.MEAN, 5), (Ball.REFERENCE, 2)})).union(plans)
    assert plan.reach_ks == (3, 7)
    assert plan.radius_ks == (2, 5)
    assert plan.ks(Ball.MEAN) == (5,)


def statistics(counts, reach=0.0):
    n = len(counts)
    request = (Ball.UNION, 1)
    return NeighborStatistics(
        np.ones(n, bool), {request: np.array(counts)}, {request: np.full((n, 2), reach)}
    )


def test_counts_over_references_add_up_and_over_queries_follow():
    added = statistics([[1, 2]]).merge(statistics([[10, 20]]))
    assert added.counts[Ball.UNION, 1].tolist() == [[11, 22]]
    joined = NeighborStatistics.concat([statistics([[1, 2]]), statistics([[3, 4], [5, 6]])])
    assert joined.counts[Ball.UNION, 1].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert len(joined.is_real) == 3


def test_counts_within_other_radii_do_not_add_up():
    with pytest.raises(ValueError, match="same radii"):
        statistics([[1, 2]], reach=1.0).merge(statistics([[1, 2]], reach=2.0))
