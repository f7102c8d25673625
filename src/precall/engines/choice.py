"""How an engine is chosen."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from precall.data.device_arrays import DeviceArray
from precall.data.feature_sets import Rows
from precall.engines.protocol import Engine
from precall.errors import InputError
from precall.runtime.refusals import needed

_ENGINES = {"cpu": ("cpu.engine", "CpuEngine"), "reference": ("reference", "ReferenceEngine")}
_KNOWN = ("auto", "cpu", "gpu", "dask", "reference")
# Products of values, from which on a GPU pays although torch has to be imported, or although not.
_WORTH_IMPORTING, _WORTH_SENDING = 2e11, 2e10


def choose_engine(engine: str | Engine, rows: Sequence[Rows] = ()) -> Engine:
    """Return the engine of a name; only ``"auto"`` chooses for the caller.

    Parameters
    ----------
    rows
        What is going to be compared, as far as it is known: ``"auto"`` takes a GPU where one is
        present and the work is worth it, or where the rows are on it already.
    """
    if not isinstance(engine, str) and hasattr(engine, "open"):
        return engine
    if is_cluster(engine):
        return _cluster_engine(engine)
    device = _common_device(rows)
    if isinstance(engine, str) and engine.partition(":")[0] == "gpu":
        return _gpu_engine(engine, device)
    if engine == "auto":
        chosen = _gpu_if_it_pays(rows, device)
        if chosen is not None:
            return chosen
    name = "cpu" if engine == "auto" else engine
    if not isinstance(name, str) or name not in _ENGINES:
        known = ", ".join(map(repr, _KNOWN))
        raise InputError(f"engine={engine!r} is unknown; choose from {known}.")
    module, kind = _ENGINES[name]
    found: Engine = getattr(import_module(f"precall.engines.{module}"), kind)()
    return found


def is_cluster(engine: object) -> bool:
    """Whether an engine's rows may stay in files, which others read than this process."""
    if isinstance(engine, str):
        return engine.partition(":")[0] == "dask"
    is_client = type(engine).__module__.partition(".")[0] == "distributed"
    return is_client or getattr(engine, "leaves_rows_in_files", False)


def _cluster_engine(engine: Any) -> Engine:
    """Return the engine of a client, or of an address."""
    needed("distributed", f"engine={engine!r} needs", "'precall[cluster]'")
    from precall.engines.cluster.engine import Cluster

    where = engine.partition(":")[2] or None if isinstance(engine, str) else engine
    found: Engine = Cluster(where)
    return found


def _common_device(rows: Sequence[Rows]) -> str | None:
    """Return the device that rows are on, None if they are on the host."""
    devices = {side.array.device: None for side in rows if isinstance(side.array, DeviceArray)}
    if len(devices) > 1:
        first, second = list(devices)[:2]
        raise InputError(
            f"tensors are on different devices: {first} and {second}. Move them to one of these."
        )
    return next(iter(devices), None)


def _gpu_engine(name: str, device: str | None) -> Engine:
    """Return the engine of a device by name; rows that are on another are refused."""
    from precall.engines.gpu.device import find_device

    found = find_device(name)
    if device is not None and ":" in name and device != str(found):
        raise InputError(
            f"engine={name!r} stands for {found}, but tensors are on {device}. Move them, or use "
            "engine='auto'."
        )
    return _on(device or str(found))


def _gpu_if_it_pays(rows: Sequence[Rows], device: str | None) -> Engine | None:
    from precall.engines.gpu.device import find_device, may_have_gpu

    if device is not None:
        return _on(device)
    if len(rows) < 2 or not may_have_gpu():
        return None
    work = float(len(rows[0])) * len(rows[1]) * rows[0].n_features
    if work < (_WORTH_SENDING if "torch" in sys.modules else _WORTH_IMPORTING):
        return None
    try:
        return _on(str(find_device("gpu")))
    except (InputError, ImportError):  # none that serves: the CPU was meant all along
        return None


def _on(device: str) -> Engine:
    from precall.engines.gpu.engine import GpuEngine

    engine: Engine = GpuEngine(device)
    return engine
