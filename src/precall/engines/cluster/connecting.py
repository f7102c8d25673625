"""From what a caller names to a client of Dask."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import dask
from distributed import Client, LocalCluster

from precall.errors import ClusterError, InputError

_THREADS_OF_A_WORKER = 4
# What Dask does beside the work takes 2 % of a core for each worker: most of it is for a profile of
# Python's stack, which knows nothing of kernels, and for a clock.
QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
_CONNECT_WITHIN = 30  # seconds


def connect(where: object, threads: int) -> tuple[Client, Callable[[], None]]:
    """Return a client, and what is to be done in the end: nothing to one that was given.

    Parameters
    ----------
    where
        A client, the address of a scheduler, or ``None`` for a cluster on this machine.
    threads
        Of that cluster, in all.
    """
    if isinstance(where, Client):
        if where.asynchronous:
            raise InputError("engine is an asynchronous client; pass distributed.Client(address).")
        if where.status != "running":
            raise ClusterError(f"engine is a client that is {where.status}; connect it again.")
        return where, _nothing
    if where is None:
        return _local(threads)
    try:
        client = Client(where, timeout=_CONNECT_WITHIN, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:  # two of TLS
        raise ClusterError(
            f"no scheduler answers at {where}: {error!s:.200} Is it running, and can this machine "
            "reach it?"
        ) from error
    return client, lambda: _close(client)


def _local(threads: int) -> tuple[Client, Callable[[], None]]:
    n_workers = -(-threads // _THREADS_OF_A_WORKER)
    with dask.config.set(QUIET):
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=threads // n_workers, dashboard_address=":0"
        )
    client = Client(cluster, set_as_default=False)
    return client, lambda: _close(client, cluster)


def _close(*things: Any) -> None:
    for thing in things:
        with suppress(Exception):  # it may be gone already
            thing.close()


def _nothing() -> None:
    """Leave everything as it is."""
