"""What two processes do that share the samples of a metric; run by tests of integrations."""

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="make test-integrations installs it")
pytest.importorskip("torchmetrics", reason="make test-integrations installs it")

from torch import distributed  # noqa: E402
from torch.utils.data import DistributedSampler  # noqa: E402

from precall.integrations.torchmetrics import PrecisionRecall  # noqa: E402

OPTIONS = {
    "estimators": ["knn"],
    "scores": ["precision", "recall", "kernel_distance"],
    "intervals": True,
    "threads": 1,
}
WORLD = 2


def samples():
    noise = torch.Generator().manual_seed(0)
    real, generated = torch.randn(201, 3, generator=noise), torch.randn(150, 3, generator=noise)
    generated[7] = generated[3]  # a generator may well make one sample twice
    return real, generated + 0.3


def unequal_shards(metric, rank, real, generated):
    cuts = {"real": (0, 70, 201), "generated": (0, 120, 150)}
    for role, rows in (("real", real), ("generated", generated)):
        mine = rows[slice(*cuts[role][rank : rank + 2])]
        for batch in mine.split(32):
            metric.update(batch, real=role == "real")


def one_has_nothing(metric, rank, real, generated):
    if rank == 0:
        metric.update(generated, real=False)
    else:
        metric.update(real[:50], real=True)
        metric.update(real[50:], real=True)


def dealt(metric, rows, *, real, with_indices):
    for batch in torch.tensor(list(DistributedSampler(rows, shuffle=True))).split(16):
        metric.update(rows[batch], real=real, indices=batch if with_indices else None)


def padded_with_indices(metric, rank, real, generated):
    dealt(metric, real, real=True, with_indices=True)
    dealt(metric, generated, real=False, with_indices=True)


def padded_of_known_size(metric, rank, real, generated):
    dealt(metric, real, real=True, with_indices=False)
    dealt(metric, generated, real=False, with_indices=False)


CASES = (unequal_shards, one_has_nothing, padded_with_indices, padded_of_known_size)


def metric_for(case):
    known = {"n_real": 201, "n_generated": 150} if case is padded_of_known_size else {}
    return PrecisionRecall(**known, **OPTIONS)


def run(rank, folder):
    torch.set_num_threads(1)
    store = Path(folder) / "store"
    distributed.init_process_group("gloo", init_method=store.as_uri(), rank=rank, world_size=WORLD)
    for case in CASES:
        metric = metric_for(case)
        case(metric, rank, *samples())
        before = sum(map(len, metric.real_rows))
        numbers = metric.compute()
        assert sum(map(len, metric.real_rows)) == before  # each has its own again
        torch.save(numbers, Path(folder) / f"{case.__name__}-{rank}.pt")
        metric.result.to_json(Path(folder) / f"{case.__name__}-{rank}.json")
    distributed.barrier()
    distributed.destroy_process_group()
    os._exit(0)  # threads of gloo may outlive the interpreter
