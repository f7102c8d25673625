"""Blocks read off a table of distances are what the reference measures of the same samples."""

from dataclasses import replace

import numpy as np
import pytest

from engine_cases import measure
from precall.data.feature_sets import FeatureSet
from precall.data.splits import NoSplit
from precall.engines.cpu.engine import CpuEngine
from precall.engines.reference import ReferenceEngine
from precall.neighbors.blocks.distance_table import DistanceTable
from precall.neighbors.statistics import ROLES, CrossPlan, NeighborPlan
from precall.neighbors.tie_rules import TieRule

KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "offset": lambda rng, shape: rng.normal(size=shape) + 1e4,
    "integers": lambda rng, shape: rng.integers(0, 4, shape),
    "duplicates": lambda rng, shape: rng.normal(size=shape)[
        rng.integers(0, shape[0] // 3, shape[0])
    ],
    "one point": lambda rng, shape: np.full(shape, 0.1),
    "huge": lambda rng, shape: rng.normal(size=shape) * 1e140,
}


def block_of(features, members):
    return replace(features, rows=features.select(members))


def by_reference(sets, blocks, plan):
    parts = [block_of(side, members) for side, members in zip(sets, blocks, strict=True)]
    (fold,) = NoSplit().folds(*parts, seed=0)
    return measure(ReferenceEngine(), fold, NeighborPlan(cross=plan)).cross


def table_of(sets, threads=2):
    with CpuEngine().open(threads, lambda n_pairs: None) as session:
        return DistanceTable.of(session, sets)


def own_balls(*ks):
    return frozenset((role, k) for role in ROLES for k in ks)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3, 30])
@pytest.mark.parametrize("rule", [TieRule.CLOSED, TieRule.OPEN])
def test_a_block_is_what_the_reference_makes_of_it(kind, d, rule):
    rng = np.random.default_rng(d)
    sets = (
        FeatureSet.of(KINDS[kind](rng, (90, d)), "real"),
        FeatureSet.of(KINDS[kind](rng, (70, d)), "generated"),
    )
    table = table_of(sets)
    plan = CrossPlan(
        balls=own_balls(1, 2, 9),
        nearest=True,
        soft=own_balls(1, 4),
        clipped=frozenset({3, 5}),
        tie_rule=rule,
    )
    for _ in range(4):
        blocks = [np.sort(rng.choice(len(side), 30 + d, replace=False)) for side in sets]
        found = table.statistics(*blocks, plan)
        expected = by_reference(sets, blocks, plan)
        for role in ROLES:
            ours, theirs = getattr(found, role), getattr(expected, role)
            for name in ("holds", "held_by", "clipped"):
                for k, counts in getattr(theirs, name).items():
                    np.testing.assert_array_equal(getattr(ours, name)[k], counts, err_msg=name)
            for k, holds in theirs.nearest.holds.items():
                np.testing.assert_array_equal(ours.nearest.holds[k], holds)
            np.testing.assert_array_equal(ours.nearest.place, theirs.nearest.place)
            for k in (1, 4):
                np.testing.assert_allclose(ours.soft(k), theirs.soft(k), atol=1e-4)


def test_radii_are_distances_in_units_of_their_own():
    rng = np.random.default_rng(0)
    sets = (
        FeatureSet.of(rng.normal(size=(50, 4)), "real"),
        FeatureSet.of(rng.normal(size=(40, 4)), "generated"),
    )
    blocks = np.arange(0, 50, 2), np.arange(0, 40, 2)
    plan = CrossPlan(balls=own_balls(1, 3), nearest=True)
    found = table_of(sets).statistics(*blocks, plan).real
    expected = by_reference(sets, blocks, plan).real
    unit = found.nearest.squared[0] / expected.nearest.squared[0]
    np.testing.assert_allclose(found.nearest.squared, unit * expected.nearest.squared, rtol=1e-5)
    for k in (1, 3):
        radii = unit * expected.squared_radii[k]
        np.testing.assert_allclose(found.squared_radii[k], radii, rtol=1e-5)


def test_a_table_does_not_depend_on_threads():
    rng = np.random.default_rng(0)
    sets = (
        FeatureSet.of(rng.normal(size=(300, 4)), "real"),
        FeatureSet.of(rng.normal(size=(200, 4)), "generated"),
    )
    one, three = (table_of(sets, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.between, three.between)
    for c in (0, 1):
        np.testing.assert_array_equal(one.neighbors[c].squared, three.neighbors[c].squared)
