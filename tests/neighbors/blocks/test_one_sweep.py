"""Scores of blocks against the same scores of each block evaluated on its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import precall
from precall.data.feature_sets import FeatureSet
from precall.engines.cpu.engine import CpuEngine
from precall.neighbors.blocks.one_sweep import measure_blocks
from precall.neighbors.blocks.partitions import Partitions, _unpack
from precall.neighbors.statistics import ROLES, CrossPlan

PLAN = CrossPlan(
    balls=frozenset((role, k) for role in ROLES for k in (3, 5)),
    densities=frozenset({("real", 2), ("real", 5)}),
    fillings=frozenset({("real", 5)}),
    covers=frozenset((role, *ks) for role in ROLES for ks in ((9, 3), (3, 1))),
)


def blocks_of(sets, seed=0, threads=2):
    with CpuEngine().open(threads, lambda n_pairs: None) as session:
        return measure_blocks(session, sets, PLAN, seed)


def labels(partitions):
    return _unpack(partitions.low) + 2 * _unpack(partitions.high)


@given(st.integers(4, 60), st.integers(0, 5))
def test_partitions_are_balanced(n, seed):
    partitions = Partitions.draw(n, 1, (seed, 0))
    found = labels(partitions)
    assert found.shape == (n, 64)
    counts = np.array([np.bincount(column, minlength=4) for column in found.T])
    assert (counts == partitions.sizes(quarters=True)).all()
    halves = counts[:, [0, 1]] + counts[:, [2, 3]]
    assert (halves == partitions.sizes(quarters=False)).all()


@pytest.mark.parametrize(("n", "m", "dtype"), [(120, 90, np.float64), (400, 300, np.float32)])
def test_every_block_on_its_own(n, m, dtype):
    rng = np.random.default_rng(0)
    real = rng.normal(0, 1, (n, 4)).astype(dtype)
    generated = rng.normal(0.4, 1, (m, 4)).astype(dtype)
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    blocks = blocks_of(sets)
    of_real, of_generated = map(labels, blocks.partitions)
    names = ["precision", "recall", "coverage", "precision_coverage", "precision_cover",
             "recall_cover", "density"]  # fmt: skip
    for s in (0, 63, 64, 127):
        for quarters, b in [(False, 0), (False, 1), (True, 1), (True, 2)]:
            chosen = [
                label[:, s] == b if quarters else label[:, s] % 2 == b
                for label in (of_real, of_generated)
            ]
            scores = precall.evaluate(
                real[chosen[0]],
                generated[chosen[1]],
                estimators=(),
                scores=names,
            ).scores
            view = blocks.quarters if quarters else blocks
            found = {
                "precision": view.held("generated", 3),
                "recall": view.held("real", 3),
                "coverage": view.holds("real", 5),
                "precision_coverage": view.holds("generated", 5),
                "precision_cover": view.cover("generated", 9, 3),
                "recall_cover": view.cover("real", 9, 3),
                "density": view.balls_around("generated", 5) / 5,
            }
            for name, values in found.items():
                assert values[s, b] == pytest.approx(scores[name].value, abs=1e-12), (name, s, b)
            assert view.filling("real", 5)[s, b] == pytest.approx(
                _filling(real[chosen[0]], generated[chosen[1]], 5), abs=1e-12
            )


def _filling(real, generated, k):
    """Generated samples in the k-ball of each real one, at most k, over k."""
    among = np.linalg.norm(real[:, None] - real, axis=2)
    across = np.linalg.norm(real[:, None] - generated, axis=2)
    radii = np.sort(among, axis=1)[:, k]
    return np.minimum((across <= radii[:, None]).sum(axis=1), k).mean() / k


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    sets = tuple(FeatureSet.of(rng.normal(size=(2500, 3)), role) for role in ("real", "generated"))
    one, many = (blocks_of(sets, seed=1, threads=t) for t in (1, 3))
    around = [of.quarters.balls_around("generated", 5) for of in (one, many)]
    np.testing.assert_array_equal(*around)
    np.testing.assert_array_equal(one.held("real", 3), many.held("real", 3))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-130, 1.0, 1e140])
def test_scale_and_offset_change_nothing(scale, offset):
    rng = np.random.default_rng(0)
    rows = rng.integers(-50, 50, (2, 200, 3)).astype(float)

    def coverage(rows):
        sets = tuple(
            FeatureSet.of(side, role)
            for side, role in zip(rows, ("real", "generated"), strict=True)
        )
        return blocks_of(sets).quarters.holds("real", 5)

    np.testing.assert_allclose(coverage(scale * (rows + offset)), coverage(rows), atol=0.05)


def test_real_is_divided_alike_whoever_is_generated():
    one = Partitions.draw(50, 1, (3, 0))
    assert (one.low == Partitions.draw(50, 1, (3, 0)).low).all()
    assert not (one.low == Partitions.draw(50, 1, (3, 1)).low).all()
