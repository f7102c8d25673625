"""The GPU engine keeps the contract: the reference's integers and radii, to the bit."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_cases import NASTY, assert_same, fold_of, measure, own_balls, plan_for
from gpu_cases import GPU_ENGINES, IS_INTERPRETED, little_room, torch
from precall.data.feature_sets import FeatureSet
from precall.data.splits import HoldOut
from precall.engines.cpu.engine import CpuEngine
from precall.engines.gpu import levels, nearest
from precall.engines.gpu.engine import GpuEngine
from precall.engines.gpu.plain import PlainTiles
from precall.engines.reference import ReferenceEngine
from precall.neighbors.blocks.one_sweep import measure_blocks
from precall.neighbors.statistics import ROLES, CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask, open_sweeps
from strategies import nasty_pairs

SIZES = (40, 46) if IS_INTERPRETED else (150, 170)
only_compiled = pytest.mark.skipif(IS_INTERPRETED, reason="interpreted kernels are too slow")


@pytest.fixture(params=GPU_ENGINES)
def gpu(request):
    return GPU_ENGINES[request.param]()


def assert_as_reference(engine, real, generated, ks, split=None):
    fold = fold_of(real, generated, split)
    plan = plan_for(fold, ks)
    with np.errstate(all="ignore"):  # the interpreter casts as kernels do, but complains
        found = measure(engine, fold, plan)
    assert_same(found, measure(ReferenceEngine(), fold, plan))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["normal", "outlier", "tenths"] if IS_INTERPRETED else NASTY)
def test_every_kind(gpu, kind, dtype):
    if IS_INTERPRETED and dtype == "float32" and kind != "normal":
        pytest.skip("interpreted kernels are too slow")
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        real, generated = (NASTY[kind](rng, (n, 16)).astype(dtype) for n in SIZES)
    assert_as_reference(gpu, real, generated, {3} if IS_INTERPRETED else {1, 5, 30})


@only_compiled
@settings(max_examples=40, deadline=None)
@given(pair=nasty_pairs(), seed=st.integers(0, 2))
def test_random_pairs(pair, seed):
    engine = (GpuEngine("cpu", tiles=PlainTiles()), little_room())[seed % 2]
    with np.errstate(all="ignore"):
        fold = fold_of(*pair, HoldOut() if seed == 2 and min(map(len, pair)) > 3 else None)
        plan = plan_for(fold, {1, 3})
        if plan.requests:
            assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))


@only_compiled
@pytest.mark.parametrize("d", [1, 64, 300])
def test_guessed_limits(gpu, d, monkeypatch):
    """Lists that were guessed too short are made again, and whatever is unproven is measured."""
    monkeypatch.setattr(nearest, "_SAMPLE", 16)
    rng = np.random.default_rng(2)
    assert_as_reference(gpu, rng.normal(size=(300, d)), rng.normal(0.3, 1, (260, d)), {1, 7, 40})


@only_compiled
@pytest.mark.parametrize(
    "kind",
    {
        "far clusters": lambda rng, n: rng.normal(size=(n, 8)) + 1e4 * rng.integers(0, 2, (n, 1)),
        "narrow clusters": lambda rng, n: (
            1e-9 * rng.normal(size=(n, 8)) + rng.integers(0, 2, (n, 1))
        ),
        "copies": lambda rng, n: np.repeat(rng.normal(size=(n // 10, 8)), 10, axis=0),
        "five percent far": lambda rng, n: (
            rng.normal(size=(n, 8)) * np.where(np.arange(n) % 20, 1, 1e4)[:, None]
        ),
    }.items(),
    ids=lambda item: item[0],
)
def test_data_without_resolution(gpu, kind):
    rng = np.random.default_rng(3)
    assert_as_reference(gpu, kind[1](rng, 200), kind[1](rng, 220), {1, 5})


@only_compiled
def test_both_dtypes_and_a_split(gpu):
    rng = np.random.default_rng(1)
    real, generated = rng.normal(size=(90, 5)).astype(np.float32), rng.normal(size=(80, 5))
    assert_as_reference(gpu, real, generated, {2, 9}, HoldOut())


@only_compiled
def test_the_nearest_of_all(gpu):
    """Every depth at once, for those who merge lists."""
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(60, 4)), rng.normal(size=(50, 4)))
    from precall.engines.protocol import Neighbors

    question = Neighbors(fold.real.fit, (fold.real.fit, fold.generated.fit), [25])
    found = []
    for engine in (gpu, ReferenceEngine()):
        with engine.open(1, lambda n: None) as session:
            session.place(fold.real.fit, fold.generated.fit)
            found.append([of.squared for of in session.nearest([question])[0]])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@only_compiled
def test_progress_counts_every_pair(gpu):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(300, 5)), rng.normal(size=(200, 5)))
    plan, advances = plan_for(fold, {3}), []
    measure(gpu, fold, plan, advance=advances.append)
    assert sum(advances) == Ask(fold, plan).n_pairs


def rows_that_products_round(rng):
    """Float16 holds every row, but their norms leave float32 no digits for distances."""
    centers = rng.integers(-900, 900, (20, 64))
    return (centers[rng.integers(0, 20, 400)] + rng.integers(-3, 4, (400, 64))).astype(float)


@only_compiled
@pytest.mark.parametrize(
    ("bound", "make"),
    [("error", rows_that_products_round), ("lost", lambda rng: rng.normal(size=(600, 64)))],
)
def test_a_bound_of_zero_is_noticed(bound, make, monkeypatch):
    """With a bound replaced by 0 the answers are wrong: the bounds do the work."""
    rng = np.random.default_rng(1)
    fold = fold_of(make(rng), make(rng))
    plan = NeighborPlan(cross=CrossPlan(balls=own_balls({5, 30})))
    expected = measure(ReferenceEngine(), fold, plan)
    engine = GpuEngine("cpu", tiles=PlainTiles())
    assert_same(measure(engine, fold, plan), expected)
    of = levels.Doubt.of.__func__

    def without(cls, *arguments):
        doubt = of(cls, *arguments)
        return dataclasses.replace(doubt, **{bound: torch.zeros_like(doubt.error)})

    monkeypatch.setattr(levels.Doubt, "of", classmethod(without))
    with pytest.raises(AssertionError):
        assert_same(measure(engine, fold, plan), expected)


@only_compiled
def test_values_are_checked_as_on_the_host(gpu):
    rows = np.random.default_rng(0).normal(size=(30, 4))
    with gpu.open(1, lambda n: None) as session:
        from precall.data.feature_sets import ReadFeatures

        found = FeatureSet.checked(ReadFeatures.of(rows, "real"), session)
    expected = FeatureSet.of(rows, "real")
    assert found.fingerprint == expected.fingerprint
    assert np.array_equal(found.row_hashes, expected.row_hashes)


@only_compiled
def test_memory_that_runs_out_halves_the_room(monkeypatch):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(200, 5)), rng.normal(size=(180, 5)))
    plan = plan_for(fold, {3})
    engine, refused = GpuEngine("cpu", tiles=PlainTiles(), room=2**26), []
    near = PlainTiles.near

    def refuse_once(self, *arguments, **options):
        if len(refused) < 2:
            refused.append(1)
            raise torch.OutOfMemoryError("no room")
        near(self, *arguments, **options)

    monkeypatch.setattr(PlainTiles, "near", refuse_once)
    assert_same(measure(engine, fold, plan), measure(ReferenceEngine(), fold, plan))
    assert len(refused) == 2


@only_compiled
def test_blocks_of_intervals(gpu, monkeypatch):
    """Without ties who is around whom is the same in every block, however it was found."""
    from precall.engines.gpu import products

    rng = np.random.default_rng(1)
    real, generated = rng.normal(size=(300, 5)), rng.normal(0.3, 1, (260, 5))
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    plan, find, tall = CrossPlan(balls=own_balls({3, 5})), products._vicinity, []

    def no_room(own, part, *arguments):
        if part.stop - part.start > 40:
            tall.append(part)
            raise torch.OutOfMemoryError("no room")
        return find(own, part, *arguments)

    monkeypatch.setattr(products, "_vicinity", no_room)
    found = []
    for engine in (gpu, CpuEngine()):
        with engine.open(2, lambda n: None) as session:
            session.place(*(side.rows for side in sets))
            found.append(measure_blocks(session, sets, plan, seed=0))
    assert tall
    for role in ROLES:
        for k in (3, 5):
            ours, theirs = (of.quarters.held(role, k) for of in found)
            np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_array_equal(*(of.holds(role, k) for of in found))


@only_compiled
def test_global_flags_are_left_as_found():
    before = torch.get_float32_matmul_precision()
    rng = np.random.default_rng(1)
    with open_sweeps(GpuEngine("cpu", tiles=PlainTiles())) as sweeps:
        assert sweeps.engine == "gpu (cpu)"
        fold = fold_of(rng.normal(size=(50, 5)), rng.normal(size=(40, 5)))
        sweeps.session.place(fold.real.fit, fold.generated.fit)
        sweeps.measure([Ask(fold, plan_for(fold, {3}))])
    assert torch.get_float32_matmul_precision() == before
    assert not torch.is_inference_mode_enabled()
