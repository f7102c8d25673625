"""Workers of a cluster compute with the engine of a GPU or of the CPU: the same bits, mixed too."""

import sys

import cloudpickle
import numpy as np
import pytest

from cluster_cases import Cutting, start
from engine_cases import NASTY, assert_same, fold_of, measure, plan_for
from gpu_cases import HAS_GPU, IS_INTERPRETED, torch
from precall.engines.best_here import best_engine
from precall.engines.cluster.engine import Cluster
from precall.engines.cpu.engine import CpuEngine
from precall.engines.gpu.engine import GpuEngine
from precall.engines.gpu.plain import PlainTiles

pytestmark = [
    pytest.mark.filterwarnings("default", "ignore::precall.PrecallWarning"),  # Dask's own
    pytest.mark.skipif(IS_INTERPRETED, reason="interpreted kernels are too slow"),
]
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def use_device():
    """Take a worker for one with a GPU; where there is none, its operations run on the CPU."""
    from precall.engines.cluster.on_workers import workbench

    workbench.best_engine = lambda: GpuEngine(
        "cuda" if torch.cuda.is_available() else "cpu", tiles=PlainTiles()
    )


def use_cpu():
    from precall.engines.cluster.on_workers import workbench

    workbench.best_engine = CpuEngine


def note_sessions():
    """Have a worker remember the kinds of sessions that it opens."""
    from precall.engines.cluster.on_workers import workbench

    make = workbench.best_engine
    workbench.kinds = set()

    def noted():
        engine = make()
        workbench.kinds.add(type(engine).__name__)
        return engine

    workbench.best_engine = noted


def kinds_opened():
    from precall.engines.cluster.on_workers import workbench

    return workbench.kinds


@pytest.fixture(scope="module", params=["a GPU and a CPU", "two GPUs"])
def client(request):
    client, cluster = start(2)
    with cluster, client:
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        client.run(use_device, workers=workers[:1])
        client.run(use_device if request.param == "two GPUs" else use_cpu, workers=workers[1:])
        client.run(note_sessions)
        yield client
        kinds = client.run(kinds_opened)
        expected = {"GpuEngine"} if request.param == "two GPUs" else {"CpuEngine", "GpuEngine"}
        assert set().union(*kinds.values()) == expected
        assert all(len(opened) == 1 for opened in kinds.values())


@pytest.mark.parametrize("kind", ["normal", "integer grid", "outlier", "tiny clusters"])
def test_any_cut_on_any_device(client, kind, monkeypatch):
    """Held whole and part by part, in meetings of groups, and with scouts that go ahead."""
    monkeypatch.setattr("precall.engines.cluster.own.groups._FEWEST_PRODUCTS", 10**4)
    monkeypatch.setattr("precall.engines.cluster.own.groups._PER_NEIGHBOR", 1)
    monkeypatch.setattr("precall.engines.cluster.own.undivided._MOST_ROWS", 0)
    monkeypatch.setattr("precall.engines.cluster.meetings._FEWEST_SCOUTS", 10)
    rng = np.random.default_rng(5)
    fold = fold_of(NASTY[kind](rng, (500, 12)), NASTY[kind](rng, (420, 12)) * 1.001)
    plan = plan_for(fold, {1, 5})
    expected = measure(CpuEngine(), fold, plan)
    for engine in (Cluster(client), Cutting(client, 250_000)):
        assert_same(measure(engine, fold, plan), expected)


def test_a_worker_takes_its_gpu():
    """One that has a GPU that serves, as ``best_engine`` finds it."""
    assert isinstance(best_engine(), GpuEngine if HAS_GPU else CpuEngine)
