"""Every engine returns the reference's integers and radii, to the bit, on any input."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine_cases import ENGINES, NASTY, assert_same, fold_of, measure, own_balls, plan_for
from precall.data.feature_sets import Rows
from precall.data.splits import HoldOut, NoSplit
from precall.engines.answers import Met, Relation
from precall.engines.cpu import rulers
from precall.engines.cpu.engine import CpuEngine
from precall.engines.cpu.grid import Grid, Slack
from precall.engines.cpu.kernel_choice import KERNELS, is_supported
from precall.engines.cpu.mutual import collect_mutually
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.tiling import bits
from precall.engines.cpu.tiling.tiles import pack_direct
from precall.engines.protocol import Balls, Between, Meeting, Neighbors
from precall.engines.reference import ReferenceEngine
from precall.neighbors.statistics import Ball, CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask
from precall.neighbors.tie_rules import TieRule
from precall.runtime.compiling import njit
from precall.runtime.threads import n_threads
from strategies import nasty_pairs

SUPPORTED = [name for name, kernel in KERNELS.items() if is_supported(kernel)]
code_limits, widened, narrowed, code_of = (
    njit()(inner.py_func)
    for inner in (rulers.code_limits, rulers.widened, rulers.narrowed, bits.code_of)
)


@settings(max_examples=150, deadline=None)
@given(
    nasty_pairs(),
    st.sampled_from([NoSplit(), HoldOut()]),
    st.sampled_from(SUPPORTED),
    st.sampled_from([None, 1, 41, 256]),
    st.booleans(),
    st.sampled_from([1, 2, 5]),
    st.sets(st.integers(1, 60), min_size=1, max_size=3),
    st.sampled_from(TieRule),
    st.sampled_from([0.0, 1e-5]),
)
@pytest.mark.slow
def test_cpu_is_the_reference(pair, split, kernel, chunk, direct, threads, ks, rule, offset):
    fold = fold_of(*pair, split)
    plan = plan_for(fold, ks, rule, offset)
    if not plan.requests:
        return
    found = measure(CpuEngine(kernel, chunk, is_direct=direct), fold, plan, threads)
    assert_same(found, measure(ReferenceEngine(), fold, plan))


@pytest.fixture(scope="module", params=NASTY)
def nasty_case(request):
    """Large enough for several panels, guesses of the limit, full candidate lists and far rows."""
    rng = np.random.default_rng(7)
    kind = NASTY[request.param]
    fold = fold_of(kind(rng, (700, 20)), kind(rng, (1100, 20)) * 1.001)
    plan = plan_for(fold, {1, 5, 30})
    return fold, plan, measure(ReferenceEngine(), fold, plan)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.slow
def test_every_kind_at_a_larger_size(nasty_case, name):
    fold, plan, expected = nasty_case
    assert_same(measure(ENGINES[name](), fold, plan), expected)


@pytest.mark.parametrize("kind", sorted(NASTY))
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.slow
def test_rows_among_themselves_meet_once(monkeypatch, kind, direct):
    """Few neighbours of many rows: two blocks meet once, and tell both sides."""
    met = []

    def collect(*arguments):
        met.append(len(arguments[0].rows))
        return collect_mutually(*arguments)

    monkeypatch.setattr("precall.engines.cpu.engine.collect_mutually", collect)
    rng = np.random.default_rng(7)
    fold = fold_of(NASTY[kind](rng, (1300, 20)), NASTY[kind](rng, (1000, 20)))
    plan = NeighborPlan(cross=plan_for(fold, {1, 4}).cross)
    expected = measure(ReferenceEngine(), fold, plan)
    for threads in (1, 3):
        found = measure(CpuEngine(is_direct=direct), fold, plan, threads)
        assert_same(found, expected)
    assert len(met) >= 4


@pytest.mark.parametrize("shift", [0.5, 30.0])
def test_separated_classes(engine, shift):
    """Balls that reach to the other class hold nearly all of their own."""
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(600, 8)), rng.normal(shift, 1, size=(500, 8)))
    plan = plan_for(fold, {3, 22})
    assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.slow
def test_sorted_rows(engine):
    """Guesses of the limit need no random order of the user's rows."""
    rows = np.sort(np.random.default_rng(1).normal(size=(1500, 4)), axis=0)
    fold = fold_of(rows, rows[::-1] + 0.01)
    plan = plan_for(fold, {5, 40})
    assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.slow
def test_many_features():
    rng = np.random.default_rng(1)
    real, generated = (rng.normal(size=(150, 2048)).astype(np.float32) for _ in range(2))
    fold = fold_of(real, generated)
    plan = plan_for(fold, {5, 50})
    for kernel in SUPPORTED:
        found = measure(CpuEngine(kernel), fold, plan)
        assert_same(found, measure(ReferenceEngine(), fold, plan))


KINDS_BETWEEN = ["normal", "integer grid", "copies", "outlier", "some rows far", "two scales"]


@pytest.mark.parametrize("kind", KINDS_BETWEEN)
@pytest.mark.parametrize("is_one_set", [True, False])
def test_groups_tell_each_other_how_near_they_are(engine, kind, is_one_set):
    """With any limits: none, some that exclude most, and some that exclude everybody."""
    rng = np.random.default_rng(5)
    array = NASTY[kind](rng, (600, 12))
    one = Rows(array, rng.permutation(600)[:230])
    other = Rows(array if is_one_set else NASTY[kind](rng, (330, 12)), np.arange(330)[::-1].copy())
    reference = ReferenceEngine().open(1, lambda n_pairs: None)
    (near,), (back,) = reference.nearest(
        [Neighbors(one, (other,), [9]), Neighbors(other, (one,), [9])]
    )
    limits = near.squared[np.arange(230), rng.integers(0, 9, 230)], back.squared[:, 3] * 1.1
    limits[1][::7] = -1.0
    nothing_known = np.full(230, np.inf), np.full(330, np.inf)
    with engine.open(3, lambda n_pairs: None) as session:
        session.place(one, other)
        for depth in (1, 7):
            asked = [Between(one, other, depth, *within) for within in (nothing_known, limits)]
            pairs = zip(
                session.nearest_between(asked), reference.nearest_between(asked), strict=True
            )
            for found, expected in pairs:
                for mine, theirs in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(mine.squared, theirs.squared)


def test_lists_that_are_too_long_to_keep(monkeypatch):
    """Groups are asked one way and the other then; and where most candidates cannot be told."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(300, 4)), np.arange(200)), Rows(rng.normal(size=(150, 4)))
    question = Between(*rows, 5, np.full(200, 0.3), np.full(150, 0.4))
    (expected,) = ReferenceEngine().open(1, lambda n: None).nearest_between([question])
    for most in (0, 2**26):
        monkeypatch.setattr("precall.engines.cpu.meeting.between._MOST_BYTES", most)
        with CpuEngine().open(1, lambda n: None) as session:
            session.place(*rows)
            (found,) = session.nearest_between([question])
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine.squared, theirs.squared)


@pytest.mark.parametrize(
    "kind", ["normal", "integer grid", "copies", "some rows far", "two scales"]
)
def test_a_meeting_that_goes_on(engine, kind):
    """Pieces that begin with what others have found, or with hints of it, make up the whole."""
    rng = np.random.default_rng(2)
    real, generated = (Rows(NASTY[kind](rng, (n, 6))) for n in (260, 210))
    around = [rng.choice(np.square(rng.normal(size=50)), (n, 1)) for n in (260, 210)]
    weights = rng.normal(size=(2, 260))
    whole = Meeting(Balls(real, generated, around[0].T, around[1].T), True, weights, 0.1)
    (expected,) = ReferenceEngine().open(1, lambda n: None).relate([whole])
    with engine.open(2, lambda n: None) as session:
        session.place(real, generated)
        parts, hint = [], Met.nobody(210, 1, 1, 2)
        for start, stop in ((0, 90), (90, 200), (200, 260)):
            part = slice(start, stop)
            balls = Balls(
                real.select(np.arange(start, stop)), generated, around[0].T[:, part], around[1].T
            )
            known = Relation(Met.nobody(stop - start, 1, 1, 0), hint)
            meeting = Meeting(balls, True, weights[:, part], 0.1)
            parts += session.relate_further([meeting], [known])
            hint = parts[-1].of_references.as_hint()
        assert_same(Relation.over_queries(parts), expected)
        (twice,) = session.relate_further([whole], [expected])
    assert_same(twice, expected.merge(expected))


@pytest.mark.parametrize("balls", [{Ball.UNION}, {Ball.REFERENCE}, {Ball.MEAN}, {Ball.OPPOSITE}])
def test_plans_of_one_ball(engine, balls):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)), HoldOut())
    plan = NeighborPlan(frozenset((ball, 4) for ball in balls))
    assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize(
    "cross",
    [
        CrossPlan(balls=own_balls({2, 7})),
        CrossPlan(balls=frozenset({("real", 2)})),
        CrossPlan(densities=frozenset({("generated", 3)})),
        CrossPlan(covers=frozenset({("real", 6, 2)})),
        CrossPlan(nearest=True),
        CrossPlan(realism=frozenset({3})),
        CrossPlan(soft=own_balls({1, 4})),
        CrossPlan(soft=frozenset({("real", 4)})),
        CrossPlan(clipped=frozenset({2, 5})),
    ],
)
def test_plans_of_one_thing_between_the_classes(engine, cross):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)))
    plan = NeighborPlan(cross=cross)
    assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize("d", [1, 64])
@pytest.mark.slow
def test_soft_cover_that_does_not_saturate(d):
    """A few samples far from most others: many factors just below 1, more than a list holds."""
    rng = np.random.default_rng(1)
    real = np.r_[rng.normal(size=(6000, d)), rng.normal(4, 1, size=(50, d))]
    fold = fold_of(real.astype(np.float32), rng.normal(size=(60, d)).astype(np.float32))
    plan = NeighborPlan(cross=CrossPlan(soft=own_balls({1, 4, 40})))
    assert_same(measure(CpuEngine(), fold, plan), measure(ReferenceEngine(), fold, plan))


@pytest.mark.slow
def test_soft_cover_by_more_than_a_list_holds():
    """All of one class at the same distance, just within R: a product of thousands of factors."""
    rng = np.random.default_rng(1)
    sphere = rng.normal(size=(4500, 64))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    above = np.zeros((200, 65))
    above[:, -1] = np.linspace(0.3, 1.0, len(above))
    fold = fold_of(np.c_[sphere, np.zeros(len(sphere))].astype(np.float32), above)
    plan = NeighborPlan(cross=CrossPlan(soft=own_balls({1, 2})))
    expected = measure(ReferenceEngine(), fold, plan)
    for k in (1, 2):
        soft = expected.cross.generated.soft(k)
        assert ((soft > 0) & (soft < 1)).any(), k
    for kernel in SUPPORTED:
        assert_same(measure(CpuEngine(kernel), fold, plan), expected)


def test_memory_mapped_and_fortran_ordered_input(engine, tmp_path):
    rng = np.random.default_rng(1)
    for order in "CF":
        paths = []
        for name in ("real", "generated"):
            paths.append(tmp_path / f"{name}{order}.npy")
            np.save(paths[-1], np.array(rng.normal(size=(90, 6)), order=order))
        fold = fold_of(*paths)
        plan = plan_for(fold, {4})
        assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))


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


def test_a_direct_distance_that_is_off_is_noticed(monkeypatch):
    """With rows changed by 1e-5 of themselves in direct tiles the answers are wrong."""
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(900, 16)), rng.normal(size=(900, 16)))
    plan = plan_for(fold, {5, 30})
    expected = measure(ReferenceEngine(), fold, plan)
    assert_same(measure(CpuEngine(is_direct=True), fold, plan), expected)

    def perturbed(base, rows, height):
        return pack_direct(base * (1 + 1e-5 * (np.arange(len(base)) % 7)[:, None]), rows, height)

    monkeypatch.setattr("precall.engines.cpu.rows.pack_direct", perturbed)
    with pytest.raises(AssertionError):
        assert_same(measure(CpuEngine(is_direct=True), fold, plan), expected)


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
def test_limits_of_grid_codes_are_safe(threshold, error, step, q):
    """Q ≤ inner proves D ≤ R for every D that the bound allows, and Q > outer disproves it."""
    relative = 1e-14
    inner, outer = code_limits(threshold, error, Ruler(False, step, relative, 0.0))
    assert inner <= outer
    radius = np.sqrt(np.longdouble(threshold))
    root = np.longdouble(step) * np.sqrt(np.longdouble(q))
    if error == 0.0 and step != 1.0:
        return  # exact arithmetic is only claimed for powers of two
    if q <= inner:
        assert root + step * np.longdouble(error) <= radius * (1 + 1e-17)
    if q > outer:
        assert root - step * np.longdouble(error) > radius * (1 - 1e-17)


@given(
    st.floats(0, 1e300),
    st.floats(0, 1e300) | st.floats(0.999, 1.001) | st.floats(1 - 1e-5, 1 + 1e-5),
    st.sampled_from([1, 64, 4096]),
)
@example(0.0, 0.0, 64)
@example(5e-324, 5e-324, 64)
def test_limits_of_direct_codes_are_safe(threshold, other, n_features):
    """A code up to inner proves D̂² ≤ t for every D̂² that F allows, one above outer disproves it."""
    slack = Slack.of(n_features)
    fast = threshold * other if 0.99 < other < 1.01 else other
    inner, outer = code_limits(threshold, 0.0, Ruler(True, 1.0, slack.relative, slack.absolute))
    code, doubt = code_of(fast), slack.relative * fast + slack.absolute
    assert 0 <= inner <= outer
    assert (code == 0) == (fast == 0.0)
    if 0 < code <= inner:
        assert np.longdouble(fast) + doubt <= np.longdouble(threshold)
    if code > outer:
        assert np.longdouble(fast) - doubt > np.longdouble(threshold)


@given(st.floats(0, 1e300), st.floats(0, 1e300) | st.floats(0.999, 1.001))
def test_direct_codes_that_differ_by_more_than_the_bound_order_pairs(one, other):
    """Beyond ``widened`` and up to ``narrowed`` no two D̂² can be in the other order."""
    other = one * other if 0.99 < other < 1.01 else other
    slack = Slack.of(64)
    ruler = Ruler(True, 1.0, slack.relative, slack.absolute)
    code, far = code_of(one), code_of(other)
    highest = one + (slack.relative * one + slack.absolute)
    lowest = one - (slack.relative * one + slack.absolute)
    if far > widened(code, 0.0, ruler):
        assert other - (slack.relative * other + slack.absolute) > highest
    if 0 < far <= narrowed(code, 0.0, ruler):
        assert other + (slack.relative * other + slack.absolute) < lowest


def test_threads_from_the_environment(monkeypatch):
    monkeypatch.setenv("PRECALL_NUM_THREADS", "3")
    assert n_threads(None) == 3
    assert n_threads(2) == 2
    monkeypatch.setenv("PRECALL_NUM_THREADS", "many")
    with pytest.raises(
        ValueError, match=r"^PRECALL_NUM_THREADS must be a positive integer; got 'many'\.$"
    ):
        n_threads(None)


def test_progress_counts_every_pair(engine):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(900, 5)), rng.normal(size=(700, 5)))
    plan, advances = plan_for(fold, {3}), []
    measure(engine, fold, plan, advance=advances.append)
    assert sum(advances) == Ask(fold, plan).n_pairs
    assert len(advances) > 4


def test_balls_between_classes_need_all_samples(engine):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)), HoldOut())
    with pytest.raises(ValueError, match="only defined without a split"):
        measure(engine, fold, NeighborPlan(cross=CrossPlan(balls=own_balls({2}))))


SHOW_DIGEST = """
import hashlib, sys
import llvmlite.binding
import numpy as np

if sys.argv[1] == "bare":  # before anything is compiled
    llvmlite.binding.get_host_cpu_features = dict

from precall.data.feature_sets import FeatureSet
from precall.data.splits import NoSplit
from precall.engines.cpu.engine import CpuEngine
from precall.neighbors.statistics import ROLES, Ball, CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask, Sweeps

rng = np.random.default_rng(0)
sets = [FeatureSet.of(rng.normal(size=(n, 9)), "x") for n in (300, 200)]
(fold,) = NoSplit().folds(*sets, seed=0)
ks, balls = frozenset({3}), frozenset((role, 3) for role in ROLES)
cross = CrossPlan(balls=balls, nearest=True, realism=ks, clipped=ks)
plan = NeighborPlan(frozenset((ball, 5) for ball in Ball), cross)
engine = CpuEngine()
with engine.open(1, lambda n_pairs: None) as session:
    session.place(*(side.rows for side in sets))
    (found,) = Sweeps(session).measure([Ask(fold, plan)])
digest = hashlib.sha256()
maps = [found.counts, found.squared_reach]
for side in (found.cross.real, found.cross.generated):
    maps += [side.holds, side.held_by, side.nearest.holds, side.squared_realism, side.clipped]
    digest.update(side.nearest.place.tobytes() + side.nearest.squared.tobytes())
for part in maps:
    for key in sorted(part, key=str):
        digest.update(np.ascontiguousarray(part[key]).tobytes())
print(engine.kernel.name, digest.hexdigest())
"""


@pytest.mark.slow
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
