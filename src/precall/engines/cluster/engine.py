"""The cluster engine: workers of Dask, on this machine or on any number of others."""

import os
import re
from dataclasses import dataclass
from typing import Any

from precall.engines.cluster.checkpoint import Checkpoint
from precall.engines.cluster.cut import Cut
from precall.engines.protocol import Advance, Session
from precall.errors import InputError
from precall.runtime.refusals import needed

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """An engine: exact answers from any number of machines, by workers of Dask.

    Parameters
    ----------
    where
        A ``distributed.Client``, the address of a scheduler, or ``None`` for workers on this
        machine.
    checkpoint
        A folder that all workers share, where finished pieces are kept: the same call goes on from
        there.
    memory
        What a worker may use in all, in bytes or as text such as ``"2 GB"``; by default 65 % of
        its own limit.

    Examples
    --------
    >>> Cluster("tcp://scheduler:8786", memory="2 GB").name
    'dask'
    """

    where: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    memory: int | str | None = None

    name = "dask"
    leaves_rows_in_files = True

    def open(self, threads: int, advance: Advance) -> Session:
        """Connect, meet the workers, and return a session that holds no rows yet."""
        needed("distributed", "a cluster needs", "'precall[cluster]'")
        from precall.engines.cluster.connecting import connect
        from precall.engines.cluster.introductions import Crew
        from precall.engines.cluster.session import ClusterSession

        memory = None if self.memory is None else as_bytes(self.memory)
        kept = None if self.checkpoint is None else Checkpoint(os.path.abspath(self.checkpoint))
        client, end = connect(self.where, threads)
        try:
            crew = Crew.met(client, memory)
            cut = Cut(crew.memory, crew.n_workers, crew.n_kinds)
            return ClusterSession(client, cut, kept, threads, advance, end)
        except BaseException:
            end()
            raise


def as_bytes(size: int | str) -> int:
    """Read a number of bytes, or text such as ``"700 MB"`` and ``"2GiB"``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(size))
    unit = found.group(2).upper() if found else "?"
    if found is None or isinstance(size, bool) or unit not in _UNITS:
        raise InputError(f"memory={size!r} is no size; write it like '700 MB' or '2 GiB'.")
    return int(float(found.group(1)) * _UNITS[unit])
