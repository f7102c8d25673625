"""Groups of rows that meet once, and lists of what they have found."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from precall.engines.answers import Nearest
from precall.engines.cluster.cut import Cut, runs
from precall.engines.cluster.on_workers.recollections import Recollections
from precall.engines.cluster.own.groups import number_of_groups, pairs_of_groups
from precall.engines.cluster.own.lists import listed, merged, unlisted
from precall.engines.cluster.own.radii import RadiiOrders
from precall.engines.cluster.own.undivided import Size, undivided
from precall.engines.cluster.parts import Part

PLENTY = 10**9


def test_every_two_groups_meet_once():
    for n in (3, 4, 9):
        pairs = pairs_of_groups(n)
        assert len(set(pairs)) == len(pairs) == n * (n - 1) // 2
        assert all(i < j for i, j in pairs)


def test_every_pair_of_rows_is_compared_once():
    groups = [Part("set", None, (run,)) for run in runs(101, 5)]
    radii = RadiiOrders.in_groups(groups, (1, 4))
    orders = radii.groups | radii.pairs
    assert sum(order.n_pairs for order in orders.values()) == 101**2
    assert len(orders) == 5 + 10
    for merge in radii.answers:
        assert len(merge.lists) == len(set(merge.lists)) == 5
        assert set(merge.needs()) <= orders.keys()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 1000]), st.integers(1, 9), st.integers(1, 4))
def test_lists_of_pieces_are_merged(seed, n_values, depth, n_pieces):
    """Ties included; what a limit excludes is missing from some of the pieces."""
    rng = np.random.default_rng(seed)
    found = [rng.integers(0, n_values, (5, int(rng.integers(1, 9)))) for _ in range(n_pieces)]
    expected = Nearest.among(np.concatenate(found, axis=1).astype(float), depth)
    limits = expected.squared[:, -1] + rng.integers(0, 2, 5)
    lists = [listed(Nearest.among(of.astype(float), depth).within(limits)) for of in found]
    np.testing.assert_array_equal(merged(lists, depth).squared, expected.squared)
    for of, squared in zip(lists, found, strict=True):
        np.testing.assert_array_equal(
            unlisted(of, depth).squared,
            Nearest.among(squared.astype(float), depth).within(limits).squared,
        )


def test_groups_where_they_pay():
    assert number_of_groups(100_000, 2048, 6, 100_000, PLENTY, 2) == 4
    assert number_of_groups(100_000, 2048, 6, 100_000, PLENTY, 30) == 14  # enough for everybody
    assert number_of_groups(100_000, 2048, 6, 3_000, PLENTY, 2) == 34  # smaller, so that they fit
    assert number_of_groups(1_000, 64, 6, 1_000, PLENTY, 2) is None
    assert number_of_groups(400_000, 16, 633, 400_000, PLENTY, 2) is None
    assert number_of_groups(100_000, 2048, 6, 100_000, 10**6, 2) is None  # lists do not fit


def own(*sizes, n_features=256):
    """Sets of so many rows that are compared among themselves."""
    return [Size(n**2 // 2, n, n_features, True) for n in sizes]


def test_sets_that_are_no_more_than_the_share_of_a_worker():
    assert undivided(own(1000), 1) == {0: 0}
    assert undivided(own(1000, 700), 1) == {0: 0, 1: 0}
    assert undivided(own(1000, 1000), 2) == {0: 0, 1: 1}
    assert undivided(own(1000, 1000), 3) == {}  # somebody would have nothing to do
    assert undivided(own(1000, 400), 2) == {1: 0}  # what is cut fills up the rest
    assert undivided(own(1000, 1000, 1000), 2) == {1: 0, 2: 1}
    assert undivided(own(700, 700, 990), 2) == {2: 0, 0: 1, 1: 1}
    others = Size(10**6, 1000, 256, False)  # of two classes: always cut
    assert undivided([others, *own(1000, 1000)], 4) == {1: 0, 2: 1}


def test_sets_that_are_too_large_for_one_go():
    assert undivided(own(200_000), 1) == {0: 0}
    assert undivided(own(200_000, n_features=2048), 1) == {}
    assert undivided(own(201_000, n_features=1), 1) == {}


@given(st.lists(st.tuples(st.integers(1, 3000), st.booleans()), min_size=1), st.integers(1, 9))
def test_nobody_is_behind_with_what_is_not_cut(questions, n_workers):
    sizes = [Size(n * n, n, 9, is_own) for n, is_own in questions]
    workers = undivided(sizes, n_workers)
    loads = [0] * n_workers
    for i, worker in workers.items():
        assert sizes[i].is_own
        loads[worker] += sizes[i].n_pairs
    assert max(loads) <= 17 / 16 * sum(size.n_pairs for size in sizes) / n_workers


def test_pieces_fit_into_memory():
    cut = Cut(170_000_000, 2)
    assert not cut.fits_whole(2 * 100_000 * 2048, 4)
    sizes = [stop - start for start, stop in cut.queries(100_000, 2048, 4, is_whole=False)]
    assert sum(sizes) == 100_000
    assert 2 * max(sizes) * 2048 * (4 + 8) < 0.6 * 170_000_000
    assert runs(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert runs(2, 9) == [(0, 1), (1, 2)]


def test_pieces_of_a_meeting_are_no_longer_than_may_be_lost():
    few, many = Cut(10**9, 2), Cut(10**9, 20)
    assert few.both_sides(1e5**2 * 256) == (4, 1)
    assert few.both_sides(1e6**2 * 2048) == (69, 1)
    assert many.both_sides(1e5**2 * 256) == (6, 7)
    n_queries, n_references = many.both_sides(1e6**2 * 2048)
    assert n_queries * n_references >= 68


def test_the_oldest_is_forgotten_first():
    memory = Recollections()
    memory.most_bytes = 10
    for key in "abc":
        memory.keep(key, key.upper(), 4)
    assert [memory.get(key) for key in "abc"] == [None, "B", "C"]
    memory.keep("b", "new", 4)
    memory.keep("d", "D", 4)
    assert [memory.get(key) for key in "abcd"] == [None, "new", None, "D"]
    memory.keep("e", "too large", 11)
    assert memory.get("e") is None
