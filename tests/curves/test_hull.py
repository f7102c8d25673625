import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial import ConvexHull

from precall.curves.hull import lower_hull, swept_area

POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=40)


@given(POINTS)
def test_the_hull_minimises_every_trade_off(points):
    x, y = map(np.array, zip(*points, strict=True))
    hull_x, hull_y = map(np.array, lower_hull(x, y))
    for p, q in [(0, 1), (1, 0), (1, 1), (1, 7), (13, 2), (400, 1), (1, 400)]:
        assert (p * hull_x + q * hull_y).min() == (p * x + q * y).min()
    assert (np.diff(hull_x) > 0).all()
    assert (np.diff(hull_y) < 0).all()
    turns = np.diff(hull_x)[:-1] * np.diff(hull_y)[1:] - np.diff(hull_y)[:-1] * np.diff(hull_x)[1:]
    assert (turns > 0).all()
    assert set(zip(hull_x, hull_y, strict=True)) <= set(points)


def test_no_vertex_lies_inside_an_edge():
    line = np.arange(7)
    assert lower_hull(line, 6 - line) == ([0, 6], [6, 0])


def test_agrees_with_qhull():
    points = np.random.default_rng(0).integers(0, 10**6, (2000, 2))
    ours = set(zip(*lower_hull(*points.T), strict=True))
    theirs = {tuple(points[i].tolist()) for i in ConvexHull(points).vertices}
    assert ours <= theirs


def test_counts_never_overflow():
    big = 2**62
    x, y = np.array([0, 1, big]), np.array([big, big - 2, 0])
    assert lower_hull(x, y) == ([0, 1, big], [big, big - 2, 0])


def test_area_is_the_integral():
    f, g, low, high = 0.3, 0.2, 0.7, 2.5
    expected = quad(lambda lam: 0.5 * (f + g / lam) ** 2, low, high)[0]
    assert np.isclose(swept_area(*map(np.array, (f, g, low, high))), expected, rtol=1e-14)
    assert swept_area(*map(np.array, (0.0, 0.5, 2.0, np.inf))) == 0.5 * 0.25 / 2
    assert swept_area(*map(np.array, (0.5, 0.0, 0.0, 2.0))) == 0.5 * 0.25 * 2
