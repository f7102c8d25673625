"""Every engine returns the reference's integers and radii, to the bit, on any input."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from precall.data.feature_sets import FeatureSet, Rows
from precall.data.splits import HoldOut, NoSplit
from precall.engines.cpu.engine import CpuEngine
from precall.engines.cpu.grid import Grid
from precall.engines.cpu.kernel_choice import KERNELS, is_supported
from precall.engines.cpu.pairs import integer_limits
from precall.engines.reference import ReferenceEngine
from precall.neighbors.statistics import Ball, CrossPlan, NeighborPlan
from precall.neighbors.tie_rules import TieRule

SUPPORTED = [name for name, kernel in KERNELS.items() if is_supported(kernel)]


def measure(engine, fold, plan, threads=2):
    return engine.measure(
        fold.real, fold.generated, plan, threads=threads, progress=lambda done, total: None
    )


def fold_of(real, generated, split=None):
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    return (split or NoSplit()).folds(*sets, seed=0)[0]


def plan_for(fold, ks, rule=TieRule.CLOSED, offset=0.0):
    smallest = min(len(fold.real.fit), len(fold.generated.fit))
    ks = frozenset(k for k in ks if k < smallest)
    has_split = fold.real.fit is not fold.real.evaluated
    cross = CrossPlan(ks, rule, True, ks, offset, ks, ks)
    requests = frozenset((ball, k) for ball in Ball for k in ks)
    return NeighborPlan(requests, None if has_split else cross)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.is_real, expected.is_real)
    assert found.counts.keys() == expected.counts.keys()
    for request, counts in expected.counts.items():
        np.testing.assert_array_equal(found.counts[request], counts, err_msg=str(request))
    assert found.squared_reach.keys() == expected.squared_reach.keys()
    for request, reach in expected.squared_reach.items():
        np.testing.assert_array_equal(found.squared_reach[request], reach, err_msg=str(request))
    assert (found.cross is None) == (expected.cross is None)
    if expected.cross is not None:
        assert_same_cross(found.cross, expected.cross)


def assert_same_cross(found, expected):
    for name in ("squared_radii", "counts", "squared_realism", "soft", "clipped"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours.keys() == theirs.keys()
        for k in theirs:
            np.testing.assert_array_equal(ours[k], theirs[k], err_msg=f"{name} {k}")
    assert (found.nearest is None) == (expected.nearest is None)
    if expected.nearest is not None:
        np.testing.assert_array_equal(found.nearest.place, expected.nearest.place)
        np.testing.assert_array_equal(found.nearest.squared, expected.nearest.squared)
        for k, holds in expected.nearest.holds.items():
            np.testing.assert_array_equal(found.nearest.holds[k], holds, err_msg=str(k))


# Each takes a generator and a shape, and returns data that is unkind in its own way.
NASTY = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "offset 1e6": lambda rng, shape: rng.normal(size=shape) + 1e6,
    "scale 1e-41": lambda rng, shape: rng.normal(size=shape) * 1e-41,
    "scale 1e18": lambda rng, shape: rng.normal(size=shape) * 1e18,
    "scale 1e-160": lambda rng, shape: rng.normal(size=shape) * 1e-160,
    "duplicates": lambda rng, shape: rng.normal(size=shape)[rng.integers(0, 2, shape[0])],
    "one point": lambda rng, shape: np.full(shape, 0.1),
    "integer grid": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "tenths": lambda rng, shape: rng.integers(0, 10, shape) / 10,
    "outlier": lambda rng, shape: np.where(
        np.arange(shape[0])[:, None] == 0, 1e18, rng.normal(size=shape)
    ),
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "vanishing in float32": lambda rng, shape: 1.0 + rng.integers(0, 4, shape) * 2.0**-40,
    "nearly tied": lambda rng, shape: rng.integers(0, 3, shape) * (1 + 1e-15),
    "two scales": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape),
    "low rank": lambda rng, shape: rng.normal(size=(shape[0], 1)) * np.arange(1.0, shape[1] + 1),
}


@st.composite
def nasty_pairs(draw):
    """Two sets, of one kind or of two, float32 or float64, from 2 to a few hundred rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.sampled_from([1, 2, 3, 7, 32, 65]))
    kinds = draw(st.tuples(st.sampled_from(sorted(NASTY)), st.sampled_from(sorted(NASTY))))
    if draw(st.booleans()):
        kinds = (kinds[0], kinds[0])
    sets = []
    for kind in kinds:
        rows = NASTY[kind](rng, (draw(st.integers(2, 150)), d))
        dtype = draw(st.sampled_from([np.float32, np.float64]))
        fits = np.abs(rows).max() < 1e38
        sets.append(rows.astype(dtype) if fits else rows)
    return tuple(sets)


@settings(max_examples=150, deadline=None)
@given(
    nasty_pairs(),
    st.sampled_from([NoSplit(), HoldOut()]),
    st.sampled_from(SUPPORTED),
    st.sampled_from([None, 1, 41, 256]),
    st.sampled_from([1, 2, 5]),
    st.sets(st.integers(1, 60), min_size=1, max_size=3),
    st.sampled_from(TieRule),
    st.sampled_from([0.0, 1e-5]),
)
def test_cpu_is_the_reference(pair, split, kernel, chunk, threads, ks, rule, offset):
    fold = fold_of(*pair, split)
    plan = plan_for(fold, ks, rule, offset)
    if not plan.requests:
        return
    found = measure(CpuEngine(kernel, chunk), fold, plan, threads)
    assert_same(found, measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize("kind", NASTY)
@pytest.mark.parametrize("kernel", SUPPORTED)
def test_every_kind_at_a_larger_size(kind, kernel):
    """Large enough for several panels, guesses of the limit, full candidate lists and far rows."""
    rng = np.random.default_rng(7)
    real, generated = NASTY[kind](rng, (700, 20)), NASTY[kind](rng, (1100, 20)) * 1.001
    fold = fold_of(real, generated)
    plan = plan_for(fold, {1, 5, 30})
    assert_same(measure(CpuEngine(kernel), fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize("shift", [0.5, 30.0])
def test_separated_classes(shift):
    """Balls that reach to the other class hold nearly all of their own."""
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(600, 8)), rng.normal(shift, 1, size=(500, 8)))
    plan = plan_for(fold, {3, 22})
    assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


def test_sorted_rows():
    """Guesses of the limit need no random order of the user's rows."""
    rows = np.sort(np.random.default_rng(1).normal(size=(1500, 4)), axis=0)
    fold = fold_of(rows, rows[::-1] + 0.01)
    plan = plan_for(fold, {5, 40})
    assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


def test_many_features():
    rng = np.random.default_rng(1)
    real, generated = (rng.normal(size=(150, 2048)).astype(np.float32) for _ in range(2))
    fold = fold_of(real, generated)
    plan = plan_for(fold, {5, 50})
    for kernel in SUPPORTED:
        found = measure(CpuEngine(kernel), fold, plan)
        assert_same(found, measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize("balls", [{Ball.UNION}, {Ball.REFERENCE}, {Ball.MEAN}, {Ball.OPPOSITE}])
def test_plans_of_one_ball(balls):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)), HoldOut())
    plan = NeighborPlan(frozenset((ball, 4) for ball in balls))
    assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize(
    "cross",
    [
        CrossPlan(frozenset({2, 7})),
        CrossPlan(nearest=True),
        CrossPlan(realism_ks=frozenset({3})),
        CrossPlan(soft_ks=frozenset({1, 4})),
        CrossPlan(clipped_ks=frozenset({2, 5})),
    ],
)
def test_plans_of_one_thing_between_the_classes(cross):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)))
    plan = NeighborPlan(cross=cross)
    assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize("d", [1, 64])
def test_soft_cover_that_does_not_saturate(d):
    """A few samples far from most others: many factors just below 1, more than a list holds."""
    rng = np.random.default_rng(1)
    real = np.r_[rng.normal(size=(6000, d)), rng.normal(4, 1, size=(50, d))]
    fold = fold_of(real.astype(np.float32), rng.normal(size=(60, d)).astype(np.float32))
    plan = NeighborPlan(cross=CrossPlan(soft_ks=frozenset({1, 4, 40})))
    assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


def test_soft_cover_by_more_than_a_list_holds():
    """All of one class at the same distance, just within R: a product of thousands of factors."""
    rng = np.random.default_rng(1)
    sphere = rng.normal(size=(4500, 64))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    above = np.zeros((200, 65))
    above[:, -1] = np.linspace(0.3, 1.0, len(above))
    fold = fold_of(np.c_[sphere, np.zeros(len(sphere))].astype(np.float32), above)
    plan = NeighborPlan(cross=CrossPlan(soft_ks=frozenset({1, 2})))
    expected = measure(ReferenceEngine(), fold, plan)
    for k, soft in expected.cross.soft.items():
        assert ((soft[4500:] > 0) & (soft[4500:] < 1)).any(), k
    for kernel in SUPPORTED:
        assert_same(measure(CpuEngine(kernel), fold, plan), expected)


def test_memory_mapped_and_fortran_ordered_input(tmp_path):
    rng = np.random.default_rng(1)
    for order in "CF":
        paths = []
        for name in ("real", "generated"):
            paths.append(tmp_path / f"{name}{order}.npy")
            np.save(paths[-1], np.array(rng.normal(size=(90, 6)), order=order))
        fold = fold_of(*paths)
        plan = plan_for(fold, {4})
        assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


def test_a_bound_of_zero_is_noticed(monkeypatch):
    """With the grid's error bound replaced by 0 the answers are wrong: the bound does the work."""
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(900, 16)), rng.normal(size=(900, 16)))
    plan = plan_for(fold, {5, 30})
    expected = measure(ReferenceEngine(), fold, plan)
    place_all = Grid.place_all

    def without_error(self, rows):
        placed = place_all(self, rows)
        placed.error[:] = 0.0
        return placed

    monkeypatch.setattr(Grid, "place_all", without_error)
    with pytest.raises(AssertionError):
        assert_same(measure(CpuEngine(), fold, plan), expected)


@settings(max_examples=200, deadline=None)
@given(nasty_pairs())
@example((np.array([[0.0], [2.0**-60]]), np.array([[-1000.0], [1e15]])))
def test_the_bound_holds(pair):
    """|D − s√Q| ≤ ρ + ρ′, in long double arithmetic."""
    real, generated = (np.asarray(side, dtype=np.float64) for side in pair)
    grid = Grid.around([Rows(real), Rows(generated)])
    a, b = grid.place(real), grid.place(generated)
    difference = real[:, None].astype(np.longdouble) - generated
    true = np.sqrt((difference**2).sum(axis=2))
    steps = a.q[:, None].astype(np.int64) - b.q
    on_grid = np.longdouble(grid.step) * np.sqrt((steps**2).sum(axis=2).astype(np.longdouble))
    allowed = np.longdouble(grid.step) * (a.error[:, None] + b.error).astype(np.longdouble)
    assert (np.abs(true - on_grid) <= allowed * (1 + 1e-15) + true * 1e-17).all()
    assert (a.norm == (a.q.astype(np.int64) ** 2).sum(axis=1)).all()


@given(
    st.floats(0, 1e12),
    st.floats(0, 1e4),
    st.sampled_from([1e-9, 1.0, 3.7, 1e6]),
    st.integers(0, 2**31 - 9),
)
def test_integer_limits_are_safe(threshold, error, step, q):
    """Q ≤ inner proves D ≤ R for every D that the bound allows, and Q > outer disproves it."""
    relative = 1e-14
    inner, outer = integer_limits(threshold, error, step, relative, 0.0)
    assert inner <= outer
    radius = np.sqrt(np.longdouble(threshold))
    root = np.longdouble(step) * np.sqrt(np.longdouble(q))
    if error == 0.0 and step != 1.0:
        return  # exact arithmetic is only claimed for powers of two
    if q <= inner:
        assert root + step * np.longdouble(error) <= radius * (1 + 1e-17)
    if q > outer:
        assert root - step * np.longdouble(error) > radius * (1 - 1e-17)


def test_threads_from_the_environment(monkeypatch):
    from precall.engines.protocol import n_threads

    monkeypatch.setenv("PRECALL_NUM_THREADS", "3")
    assert n_threads(None) == 3
    assert n_threads(2) == 2
    monkeypatch.setenv("PRECALL_NUM_THREADS", "many")
    with pytest.raises(
        ValueError, match=r"^PRECALL_NUM_THREADS must be a positive integer; got 'many'\.$"
    ):
        n_threads(None)


def test_progress_reaches_the_end():
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(900, 5)), rng.normal(size=(700, 5)))
    for engine in (CpuEngine(), ReferenceEngine()):
        calls = []
        engine.measure(
            fold.real,
            fold.generated,
            plan_for(fold, {3}),
            threads=2,
            progress=lambda done, total, calls=calls: calls.append((done, total)),
        )
        assert len(calls) > 4
        assert calls[-1][0] == calls[-1][1]
        assert all(earlier[0] <= later[0] for earlier, later in pairwise(calls))


@pytest.mark.parametrize("engine", [CpuEngine(), ReferenceEngine()])
def test_balls_between_classes_need_all_samples(engine):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)), HoldOut())
    with pytest.raises(ValueError, match="only defined without a split"):
        measure(engine, fold, NeighborPlan(cross=CrossPlan(frozenset({2}))))


SHOW_DIGEST = """
import hashlib, sys
import llvmlite.binding
import numpy as np

if sys.argv[1] == "bare":  # before anything is compiled
    llvmlite.binding.get_host_cpu_features = dict

from precall.engines.cpu.engine import CpuEngine
from precall.data.feature_sets import FeatureSet
from precall.neighbors.statistics import Ball, CrossPlan, NeighborPlan
from precall.data.splits import NoSplit

rng = np.random.default_rng(0)
sets = (FeatureSet.of(rng.normal(size=(n, 9)), "x") for n in (300, 200))
(fold,) = NoSplit().folds(*sets, seed=0)
ks = frozenset({3})
cross = CrossPlan(ks, nearest=True, realism_ks=ks, soft_ks=ks, clipped_ks=ks)
plan = NeighborPlan(frozenset((ball, 5) for ball in Ball), cross)
engine = CpuEngine()
found = engine.measure(
    fold.real, fold.generated, plan, threads=1, progress=lambda done, total: None
)
digest = hashlib.sha256()
between = found.cross
maps = (
    between.counts,
    between.nearest.holds,
    between.squared_realism,
    between.soft,
    between.clipped,
)
for part in (found.counts, found.squared_reach, *maps):
    for key in sorted(part, key=str):
        digest.update(np.ascontiguousarray(part[key]).tobytes())
digest.update(between.nearest.place.tobytes() + between.nearest.squared.tobytes())
print(engine.kernel.name, digest.hexdigest())
"""


def test_a_machine_without_vector_extensions(tmp_path):
    """Everything compiled for a generic CPU, with no feature to be had: the same bits."""
    outputs = {}
    for machine, extra in (("own", {}), ("bare", {"NUMBA_CPU_NAME": "generic"})):
        environment = {**os.environ, **extra}
        if machine == "bare":
            environment["NUMBA_CACHE_DIR"] = str(tmp_path)
        command = [sys.executable, "-c", SHOW_DIGEST, machine]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        outputs[machine] = done.stdout.split()
    assert outputs["bare"][0] == "portable"
    assert outputs["bare"][1] == outputs["own"][1]


def test_an_unsupported_kernel_is_refused(monkeypatch):
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", dict)
    with pytest.raises(ValueError, match=r"^kernel='avx2' needs a CPU with avx2, bmi, "):
        CpuEngine("avx2")
    assert CpuEngine().kernel.name == "portable"
