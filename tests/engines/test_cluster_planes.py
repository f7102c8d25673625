"""Lines of a plane, and how what was found on them is merged."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from precall.engines.answers import Nearest
from precall.engines.cluster.cut import Cut, runs
from precall.engines.cluster.planes import columns, lines, merged, order_of_plane


def test_two_points_are_on_one_line():
    for q in (3, 5, 7):
        found = list(lines(q))
        assert len(found) == q * q + q
        pairs = [pair for line in found for pair in combinations(sorted(line), 2)]
        assert sorted(pairs) == sorted(combinations(range(q * q), 2))
        assert sorted(g for some in columns(q, 2) for g in some) == list(range(q * q))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([2, 4, 1000]), st.integers(1, 12), st.integers(1, 4)
)
def test_repetitions_are_taken_out(seed, n_values, depth, n_lines):
    """With many ties: every line repeats the distances within the group."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, n_values, (5, int(rng.integers(1, 9)))).astype(float)
    others = [rng.integers(0, n_values, (5, int(rng.integers(0, 9)))) for _ in range(n_lines)]
    found = merged(
        Nearest.among(own, depth),
        [Nearest.among(np.concatenate([own, other], axis=1), depth) for other in others],
    )
    expected = Nearest.among(np.concatenate([own, *others], axis=1), depth)
    np.testing.assert_array_equal(found.squared, expected.squared)


def test_planes_where_they_pay():
    assert order_of_plane(100_000, 2048, 6, 100_000, 2) == 5
    assert order_of_plane(100_000, 2048, 6, 100_000, 30) == 11  # enough for everybody
    assert order_of_plane(100_000, 2048, 6, 7_000, 2) == 17  # more lines, so that they fit
    assert order_of_plane(1_000, 64, 6, 1_000, 2) is None
    assert order_of_plane(400_000, 16, 633, 400_000, 2) is None


def test_pieces_fit_into_memory():
    cut = Cut(170_000_000, 2)
    assert not cut.fits_whole(2 * 100_000 * 2048, 4)
    sizes = [stop - start for start, stop in cut.queries(100_000, 2048, 4, is_whole=False)]
    assert sum(sizes) == 100_000
    assert 2 * max(sizes) * 2048 * (4 + 8) < 0.8 * 170_000_000
    assert runs(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert runs(2, 9) == [(0, 1), (1, 2)]
