from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_cases import fold_of, measure
from precall.engines.reference import ReferenceEngine, squared_distances
from precall.neighbors.statistics import (
    ROLES,
    Ball,
    CrossPlan,
    CrossStatistics,
    NearestOther,
    NeighborPlan,
    NeighborStatistics,
    SideStatistics,
)
from strategies import pairs_with_k


def test_plans_unite():
    plans = [NeighborPlan(frozenset({(Ball.UNION, k)})) for k in (7, 3, 7)]
    plan = NeighborPlan(frozenset({(Ball.MEAN, 5), (Ball.REFERENCE, 2)})).union(plans)
    assert plan.reach_ks == (3, 7)
    assert plan.radius_ks("real") == (2, 5)
    assert plan.ks(Ball.MEAN) == (5,)


def test_only_the_radii_that_are_needed_are_asked_for():
    cross = CrossPlan(
        balls=frozenset({("real", 3)}),
        covers=frozenset({("generated", 9, 3)}),
        soft=frozenset({("real", 4)}),
        clipped=frozenset({5}),
    )
    assert cross.radius_ks("real") == (3, 4, 5)
    assert cross.radius_ks("generated") == (9,)
    assert cross.every_k == {3, 9}


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


def met_by(side, squared, kept, other_radii, k):
    """What samples are to some samples of the other class, from distances and radii."""
    squared, other_radii = squared[:, kept], other_radii[kept]
    least = squared.min(axis=1, initial=np.inf)
    is_nearest, held = squared == least[:, None], squared <= other_radii
    places = np.where(is_nearest, kept, len(squared) + 10**6).min(axis=1, initial=10**9)
    with np.errstate(divide="ignore"):
        logs = np.minimum(np.log(np.sqrt(squared)), 0.0).sum(axis=1)
    return SideStatistics(
        squared_radii=side.squared_radii,
        holds={k: (squared <= side.squared_radii[k][:, None]).sum(axis=1)},
        held_by={k: held.sum(axis=1)},
        nearest=NearestOther(places, least, {k: (held & is_nearest).any(axis=1)}),
        squared_realism={},
        log_missed={k: logs},
        clipped={},
    )


def assert_same(found, expected, path=""):
    if is_dataclass(expected):
        for field in fields(expected):
            ours, theirs = getattr(found, field.name), getattr(expected, field.name)
            assert_same(ours, theirs, f"{path}.{field.name}")
    elif isinstance(expected, dict):
        for key, values in expected.items():
            assert_same(found[key], values, f"{path}[{key}]")
    elif expected is not None and "log" in path:
        np.testing.assert_allclose(np.exp(found), np.exp(expected), 0, 1e-12, err_msg=path)
    elif expected is not None:
        np.testing.assert_array_equal(found, expected, err_msg=path)


@given(pairs_with_k(), st.integers(0, 2**32 - 1))
def test_what_is_found_between_the_classes_merges_and_concatenates(pair, seed):
    """Cut the other class, and the samples themselves, into random parts: nothing is lost."""
    real, generated, k = pair
    balls = frozenset((role, k) for role in ROLES)
    plan = NeighborPlan(cross=CrossPlan(balls=balls, nearest=True))
    whole = measure(ReferenceEngine(), fold_of(real, generated), plan).cross.real
    squared, radii = squared_distances(real, generated), None
    radii = measure(ReferenceEngine(), fold_of(real, generated), plan).cross.generated
    other_radii = radii.squared_radii[k]
    rng = np.random.default_rng(seed)
    kept = rng.random(len(generated)) < 0.5
    parts = [
        met_by(whole, squared, np.flatnonzero(chosen), other_radii, k) for chosen in (kept, ~kept)
    ]
    everything = met_by(whole, squared, np.arange(len(generated)), other_radii, k)
    for name in ("holds", "held_by", "nearest"):
        assert_same(getattr(everything, name), getattr(whole, name), name)
    for one, other in (parts, parts[::-1]):
        assert_same(one.merge(other), everything)
        merged = as_statistics(one).merge(as_statistics(other))
        assert_same(merged, as_statistics(everything))
    cut = len(real) // 2
    first, second = (select(everything, part) for part in (slice(cut), slice(cut, None)))
    joined = NeighborStatistics.concat([as_statistics(first), as_statistics(second)])
    assert_same(joined.cross, as_statistics(everything).cross)
    assert_same(SideStatistics.concat([first, second]), everything)


def as_statistics(side):
    cross = CrossStatistics(side, side)
    return NeighborStatistics(np.ones(0, bool), {}, {}, cross)


def select(side, part):
    def of(mapping):
        return {key: values[part] for key, values in mapping.items()}

    nearest = side.nearest
    return SideStatistics(
        of(side.squared_radii),
        of(side.holds),
        of(side.held_by),
        NearestOther(nearest.place[part], nearest.squared[part], of(nearest.holds)),
        {},
        of(side.log_missed),
        {},
    )
