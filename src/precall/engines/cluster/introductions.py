"""Whom the client works with: what workers say of themselves, and what they are told."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from distributed import Client, Worker, WorkerPlugin
from distributed.system import MEMORY_LIMIT

from precall.engines.cluster.on_workers.carrying_out import check_version
from precall.engines.gpu.device import may_have_gpu
from precall.errors import ClusterError, InputError
from precall.version import __version__

ONE_ORDER = "precall-order"  # a resource that every worker has once, and every order needs
logger = logging.getLogger("precall.cluster")

_WAIT_FOR_WORKERS = 60  # seconds
_SHARE = 0.65  # of a worker's memory: from 0.7 on Dask moves things to disk
_PROCESS = 280 * 10**6  # bytes of a worker with all libraries and kernels, and without rows
_LEAST = 50 * 10**6  # for rows and what is found about them


class OneOrderAtATime(WorkerPlugin):  # type: ignore[misc]
    """Lets every worker, also one that joins later, carry out one order at a time."""

    name = "precall"
    idempotent = True

    def __init__(self, version: str) -> None:
        self.version = version

    async def setup(self, worker: Worker) -> None:
        """Refuse other versions; have the one resource."""
        check_version(self.version, worker.address)
        await worker.set_resources(**{ONE_ORDER: 1})


def introduce(dask_worker: Worker) -> dict[str, Any]:
    """Say what a worker is. Runs on workers."""
    limit = dask_worker.memory_manager.memory_limit
    return {
        "version": __version__,
        "kind": (dask_worker.state.nthreads, may_have_gpu()),
        "memory": int(limit or MEMORY_LIMIT),
        "is_limited": bool(limit),
        "host": dask_worker.ip,
    }


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers there are when work begins."""

    n_workers: int
    memory: int  # bytes for rows and what is found about them, on each
    n_kinds: int  # of them: by their threads, and whether there may be a GPU

    @classmethod
    def met(cls, client: Client, memory: int | None) -> Self:
        """Wait for the first workers, refuse those of another version, see what they have."""
        try:
            client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS)
        except TimeoutError as error:
            address = client.scheduler_info()["address"]
            raise ClusterError(
                f"no worker has joined the scheduler at {address} within {_WAIT_FOR_WORKERS} "
                "seconds. Start workers, and run the same again."
            ) from error
        found = _introduced(client)
        for address, worker in found.items():
            _check(worker, address)
        client.register_plugin(OneOrderAtATime(__version__))
        whole = memory if memory is not None else _SHARE * _least_memory(found)
        if whole - _PROCESS < _LEAST:
            raise InputError(
                f"workers may use {whole / 1e6:.0f} MB each, of which libraries take "
                f"{_PROCESS / 1e6:.0f}; at least {(_PROCESS + _LEAST) / 1e6:.0f} MB are needed. "
                "Start workers with more memory, or raise the limit."
            )
        kinds = {worker["kind"] for worker in found.values()}
        return cls(len(found), int(whole - _PROCESS), len(kinds))


def _introduced(client: Client) -> dict[str, dict[str, Any]]:
    """Ask everybody; those who leave meanwhile are not waited for."""
    answers = client.run(introduce, on_error="return")
    for error in answers.values():
        if isinstance(error, ImportError):
            raise ClusterError(
                f"a worker cannot import precall ({error}). Install precall {__version__} with the "
                "extra cluster wherever workers run."
            ) from error
    found = {address: told for address, told in answers.items() if isinstance(told, dict)}
    if not found:
        raise ClusterError("all workers left before the work began; run the same again.")
    return found


def _check(worker: Mapping[str, Any], address: str) -> None:
    if worker["version"] != __version__:
        raise ClusterError(
            f"worker {address} has precall {worker['version']}, this machine {__version__}. "
            "Install the same version everywhere."
        )


def _least_memory(found: Mapping[str, Mapping[str, Any]]) -> float:
    """Of limited workers the limit; of others their share of the machine."""
    hosts = [worker["host"] for worker in found.values()]
    return min(
        float(worker["memory"]) / (1 if worker["is_limited"] else hosts.count(worker["host"]))
        for worker in found.values()
    )
