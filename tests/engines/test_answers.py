"""Answers are a monoid: any cut into shards, in any order, gives the same bits."""

from dataclasses import astuple
from functools import reduce

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_cases import ENGINES, NASTY
from precall.data.feature_sets import Rows
from precall.engines.answers import Met, Nearest, Relation
from precall.engines.protocol import Balls, Limits, Meeting, Neighbors

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
    np.testing.assert_array_equal(nearest([]).merge(nearest(a)).squared, nearest(a).squared)
    expected = [*sorted(a + b + c)[:4], *[np.inf] * 4][:4]
    assert whole.tolist() == [expected]


def test_kth_counts_from_one():
    assert nearest([5, 3, 9, 1]).kth([1, 4]).tolist() == [[1, 9]]


@st.composite
def cut_sets(draw):
    """Two placed sets, and each of them cut into shards of random rows, in random order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = NASTY[draw(st.sampled_from(["integer grid", "normal", "duplicates", "cauchy"]))]
    rows, cuts = [], []
    for _ in range(2):
        n = draw(st.integers(3, 60))
        rows.append(Rows(kind(rng, (n, 3))))
        order = rng.permutation(n)
        at = np.sort(rng.integers(0, n + 1, draw(st.integers(0, 3))))
        parts = [np.sort(part) for part in np.split(order, at) if len(part)]
        cuts.append([Rows(rows[-1].array, part) for part in parts])
    return rng, rows, cuts


def meeting_of(rng, queries, references, whole):
    """Balls and weights of some rows, which belong to the rows and not to the shard."""
    balls = Balls(
        queries,
        references,
        whole["around_queries"][:, queries.stored],
        whole["around_references"][:, references.stored],
    )
    return Meeting(balls, nearest=True, weights=whole["weights"][:, queries.stored], offset=0.5)


def assert_equal(found, expected):
    for ours, theirs in zip(astuple(found), astuple(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def put_back(met, parts):
    """Rows of shards, in the order that they have in the whole."""
    return met.select(np.argsort(np.concatenate([part.stored for part in parts])))


@settings(max_examples=60)
@given(cut_sets(), st.sampled_from(sorted(ENGINES)))
def test_any_cut_gives_the_same_relation(cut, name):
    rng, (queries, references), (query_parts, reference_parts) = cut
    whole = {
        "around_queries": rng.integers(0, 20, (2, len(queries))).astype(float),
        "around_references": rng.integers(0, 20, (1, len(references))).astype(float),
        "weights": rng.integers(-1, 9, (1, len(queries))).astype(float),
    }
    with ENGINES[name]().open(2, lambda n_pairs: None) as session:
        session.place(queries, references)
        (expected,) = session.relate([meeting_of(rng, queries, references, whole)])
        rows = []
        for part in query_parts:
            asked = [meeting_of(rng, part, other, whole) for other in reference_parts]
            rows.append(Relation.over_references(session.relate(asked)))
        found = Relation.over_queries(rows)
    assert_equal(put_back(found.of_queries, query_parts), expected.of_queries)
    assert_equal(put_back(found.of_references, reference_parts), expected.of_references)
    nobody = Met.nobody(len(queries), 2, 1, 0)
    assert_equal(nobody.merge(expected.of_queries), expected.of_queries)


@settings(max_examples=60)
@given(cut_sets(), st.sampled_from(sorted(ENGINES)))
def test_any_cut_gives_the_same_neighbours_counts_and_sums(cut, name):
    rng, (queries, references), (_, parts) = cut
    depth, limits = min(5, len(references)), np.array([0.0, 1.0, 3.0])
    around = rng.integers(0, 20, (2, len(queries))).astype(float)
    own = rng.integers(0, 20, (1, len(references))).astype(float)

    def balls(rows):
        return Balls(queries, rows, around, own[:, rows.stored])

    with ENGINES[name]().open(2, lambda n_pairs: None) as session:
        session.place(queries, references)
        whole = session.nearest([Neighbors(queries, (references,), range(1, depth + 1))])
        shards = session.nearest([Neighbors(queries, (p,), range(1, depth + 1)) for p in parts])
        merged = reduce(Nearest.merge, (shard[0] for shard in shards))
        np.testing.assert_array_equal(merged.squared, whole[0][0].squared)
        (kth,) = session.kth([Neighbors(queries, (references,), [1, depth])])
        np.testing.assert_array_equal(kth[:, 0], whole[0][0].kth([1, depth]))
        (counts,) = session.count([balls(references)])
        np.testing.assert_array_equal(sum(session.count([balls(p) for p in parts])), counts)
        (sums,) = session.log_sums([Limits(queries, references, limits)], -40.0)
        added = sum(session.log_sums([Limits(queries, p, limits) for p in parts], -40.0))
        np.testing.assert_allclose(np.exp(added), np.exp(sums), rtol=0, atol=1e-12)


@given(cut_sets())
def test_both_classes_and_their_union(cut):
    _, (queries, references), _ = cut
    ks = [1, min(len(queries), len(references))]
    for name in ENGINES:
        with ENGINES[name]().open(1, lambda n_pairs: None) as session:
            session.place(queries, references)
            (found,) = session.kth([Neighbors(queries, (queries, references), ks)])
        squared = ((queries.array[:, None] - np.r_[queries.array, references.array]) ** 2).sum(-1)
        n = len(queries)
        for i, part in enumerate((squared[:, :n], squared[:, n:], squared)):
            expected = np.sort(part, axis=1)[:, np.array(ks) - 1]
            np.testing.assert_allclose(found[:, i], expected, rtol=1e-12)
