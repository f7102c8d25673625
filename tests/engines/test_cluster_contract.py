"""The cluster engine keeps the contract: any cut, any number of workers, any kernels."""

import sys
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest

from cluster_cases import Cutting, start
from engine_cases import NASTY, assert_same, fold_of, measure, own_balls, plan_for
from precall.data.feature_sets import Rows
from precall.data.splits import HoldOut
from precall.engines.cluster.engine import Cluster
from precall.engines.cluster.gathering import Gathering
from precall.engines.cluster.orders import KthOrder
from precall.engines.cluster.own.radii import RadiiOrders
from precall.engines.cpu.engine import CpuEngine
from precall.engines.protocol import Balls, Meeting, Neighbors
from precall.neighbors.statistics import CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask

pytestmark = pytest.mark.filterwarnings("default", "ignore::precall.PrecallWarning")  # Dask's own
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module", params=[1, 2, 3])
def client(request):
    client, cluster = start(request.param)
    with cluster, client:
        yield client


@pytest.fixture(scope="module")
def two():
    client, cluster = start(2)
    with cluster, client:
        yield client


@pytest.mark.parametrize(("kind", "seed"), [("outlier", 0), ("duplicates", 1)])
def test_any_cut_on_any_number_of_workers(client, kind, seed, monkeypatch):
    monkeypatch.setattr("precall.engines.cluster.placed_sets._BLOCK_BYTES", 20_000)
    rng = np.random.default_rng(seed)
    split = HoldOut() if seed else None
    fold = fold_of(NASTY[kind](rng, (300, 20)), NASTY[kind](rng, (360, 20)) * 1.001, split)
    plan = plan_for(fold, {1, 5, 30})
    expected = measure(CpuEngine(), fold, plan)
    memory = 10 ** rng.uniform(4.7, 5.5)  # a few dozen to a few hundred rows
    for engine in (Cluster(client), Cutting(client, int(memory), int(rng.integers(1, 4)))):
        assert_same(measure(engine, fold, plan), expected)


@pytest.mark.parametrize("kind", sorted(NASTY))
@pytest.mark.slow
def test_every_kind(two, kind):
    rng = np.random.default_rng(7)
    fold = fold_of(NASTY[kind](rng, (500, 20)), NASTY[kind](rng, (600, 20)) * 1.001)
    plan = plan_for(fold, {1, 5})
    expected = measure(CpuEngine(), fold, plan)
    for engine in (Cluster(two), Cutting(two, 250_000)):
        assert_same(measure(engine, fold, plan), expected)


@pytest.fixture
def small_groups(monkeypatch):
    """Rows meet in groups, however few they are; says how many questions were asked so."""
    monkeypatch.setattr("precall.engines.cluster.placed_sets._BLOCK_BYTES", 5000)
    monkeypatch.setattr("precall.engines.cluster.own.groups._FEWEST_PRODUCTS", 10**4)
    monkeypatch.setattr("precall.engines.cluster.own.groups._PER_NEIGHBOR", 1)
    monkeypatch.setattr("precall.engines.cluster.own.undivided._MOST_ROWS", 0)
    met, of = [], RadiiOrders.in_groups

    def noted(groups, ks):
        met.append(len(groups))
        return of(groups, ks)

    monkeypatch.setattr(RadiiOrders, "in_groups", noted)
    return met


def test_rows_among_themselves_in_groups(two, small_groups):
    """Every two groups meet once, and look for nothing that is farther than what is known."""
    for seed, kind in enumerate(("normal", "integer grid", "duplicates", "one point", "outlier")):
        rng = np.random.default_rng(seed)
        fold = fold_of(NASTY[kind](rng, (700, 6)), NASTY[kind](rng, (500, 6)))
        plan = NeighborPlan(cross=CrossPlan(balls=own_balls({1, 4, 20})))
        expected = measure(CpuEngine(), fold, plan)
        for engine in (Cluster(two), Cutting(two, 200_000), Cutting(two, 10**7, 4)):
            small_groups.clear()
            assert_same(measure(engine, fold, plan), expected)
            assert len(small_groups) == 2


def kinds_of_orders(monkeypatch):
    """Note what is submitted: its kind, and how many rows it is about."""
    submit, submitted = Gathering.submit, []

    def noted(self, order, names, terms, made=(), worker=None, **options):
        if isinstance(order, KthOrder):
            submitted.append((len(order.queries), worker))
        return submit(self, order, names, terms, dict(made), worker, **options)

    monkeypatch.setattr(Gathering, "submit", noted)
    return submitted


@pytest.mark.parametrize("kind", ["normal", "duplicates", "outlier"])
def test_a_set_each(two, kind, monkeypatch):
    """Two sets of nearly the same size, each compared among itself by a worker of its own."""
    submitted = kinds_of_orders(monkeypatch)
    rng = np.random.default_rng(2)
    fold = fold_of(NASTY[kind](rng, (510, 20)), NASTY[kind](rng, (500, 20)))
    plan = NeighborPlan(cross=CrossPlan(balls=own_balls({1, 4}), nearest=True))
    expected = measure(CpuEngine(), fold, plan)
    assert_same(measure(Cluster(two), fold, plan), expected)
    assert submitted == [(510, 0), (500, 1)]
    submitted.clear()
    engine = Cutting(two, 10**8)
    monkeypatch.setattr(Cutting, "cut", replace(engine.cut, n_kinds=2))  # a GPU and a CPU, say
    assert_same(measure(engine, fold, plan), expected)
    assert len(submitted) > 2
    assert {worker for _, worker in submitted} == {None}


def test_scouts_go_ahead(two, monkeypatch):
    """Pieces that begin with what scouts and earlier pieces have found make up the whole."""
    monkeypatch.setattr("precall.engines.cluster.meetings._FEWEST_SCOUTS", 10)
    for seed, kind in enumerate(("normal", "integer grid", "copies", "some rows far")):
        rng = np.random.default_rng(seed)
        fold = fold_of(NASTY[kind](rng, (400, 6)), NASTY[kind](rng, (300, 6)))
        plan = plan_for(fold, {1, 4})
        expected = measure(CpuEngine(), fold, plan)
        assert_same(measure(Cluster(two), fold, plan), expected)


def test_a_set_that_was_moved_is_another(two):
    """Radii are the same to the bit; what one model is to the real samples says nothing of it."""
    rng = np.random.default_rng(0)
    real, generated = rng.integers(0, 9, (2, 300, 5)).astype(float)
    rows = Rows(real)
    with Cluster(two).open(1, lambda n_pairs: None) as session, CpuEngine().open(1, print) as cpu:
        for other in (Rows(generated), Rows(generated + 3.0)):
            balls = Balls(rows, other, np.full((1, 300), 2.0), np.full((1, 300), 3.0))
            meeting = Meeting(balls, True, np.ones((1, 300)))
            cpu.place(rows, other)
            assert_same(session.relate([meeting])[0], cpu.relate([meeting])[0])


def test_selections_in_any_order(two):
    """The nearest of all, of rows that do not stand in their order, and twice."""
    rng = np.random.default_rng(0)
    array = rng.integers(0, 4, (300, 3)).astype(float)
    rows = Rows(array, rng.integers(0, 300, 200)), Rows(array, rng.permutation(300)[:90])
    found = []
    for engine in (CpuEngine(), Cutting(two, 20_000)):
        with engine.open(1, lambda n_pairs: None) as session:
            session.place(*rows)
            found.append(session.nearest([Neighbors(rows[0], rows, [25])])[0])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine.squared, theirs.squared)


def test_sums_over_rows(two):
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(500, 7)))
    with CpuEngine().open(1, print) as cpu, Cutting(two, 40_000).open(1, lambda n: None) as ours:
        center = cpu.total(rows) / 500
        np.testing.assert_allclose(ours.total(rows), cpu.total(rows), 1e-12)
        np.testing.assert_allclose(ours.scatter(rows, center), cpu.scatter(rows, center), 1e-12)


def test_progress_counts_every_pair(two):
    rng = np.random.default_rng(1)
    fold = fold_of(rng.normal(size=(300, 5)), rng.normal(size=(200, 5)))
    plan, advances = plan_for(fold, {3}), []
    measure(Cutting(two, 50_000), fold, plan, advance=advances.append)
    assert sum(advances) == Ask(fold, plan).n_pairs


def report_always():
    from precall.engines.cluster.on_workers import carrying_out

    carrying_out._REPORT_EVERY = 0.0


def test_progress_within_an_order():
    """A long order says how far it is; in the end every pair has been counted once."""
    client, cluster = start(1)
    with cluster, client:
        client.run(report_always)
        rng = np.random.default_rng(1)
        fold = fold_of(rng.normal(size=(3000, 40)), rng.normal(size=(2500, 40)))
        plan, advances = NeighborPlan(cross=CrossPlan(balls=own_balls({3}))), []
        with Cluster(client).open(1, advances.append) as session:
            rows = fold.real.fit
            session.kth([Neighbors(rows, (rows,), [4])])
        assert sum(advances) == 3000**2
        assert len([n for n in advances if n > 0]) > 1
        advances.clear()
        measure(Cluster(client), fold, plan, advance=advances.append)
        assert min(advances) >= 0
        assert sum(advances) == Ask(fold, plan).n_pairs


def use_kernel(name):
    from precall.engines.cluster.on_workers import workbench

    workbench.best_engine = lambda: CpuEngine(name)


def test_workers_of_different_kernels():
    client, cluster = start(2)
    with cluster, client:
        worker = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
        client.run(use_kernel, "portable", workers=[worker])
        rng = np.random.default_rng(3)
        fold = fold_of(rng.normal(size=(600, 20)), rng.normal(size=(500, 20)))
        plan = plan_for(fold, {1, 5})
        expected = measure(CpuEngine(), fold, plan)
        for engine in (Cluster(client), Cutting(client, 250_000)):
            assert_same(measure(engine, fold, plan), expected)
