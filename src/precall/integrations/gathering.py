"""Rows of several processes: gathered once, and put in an order that no process decides on."""

from typing import Any

import numpy as np

from precall.data.row_hashes import column_factors
from precall.errors import InputError
from precall.runtime.refusals import needed

torch = needed("torch", "precall.integrations needs", "'precall[torchmetrics]'")

Tensor = Any
N_KEYS = 3  # of a row: its index or -1, its place among those of its process, its process

_DTYPES = (torch.float32, torch.float64, torch.int64)
_CELLS_AT_A_TIME = 2**22


def gather_rows(rows: Tensor, group: Any = None) -> list[Tensor]:
    """Return the rows of every process, in the order of these; some may have fewer, or none.

    To be passed as ``dist_sync_fn`` to metrics of torchmetrics, whose own function refuses a
    process that has nothing.

    Parameters
    ----------
    rows
        (n, d), or empty.
    group
        Of processes; all by default.
    """
    from torch import distributed

    group = distributed.group.WORLD if group is None else group
    world = distributed.get_world_size(group)
    n, width = (len(rows), rows.shape[1]) if rows.ndim == 2 else (0, 0)
    header = torch.tensor([n, width, _DTYPES.index(rows.dtype) if n else 0], device=rows.device)
    headers = [torch.zeros_like(header) for _ in range(world)]
    distributed.all_gather(headers, header, group)
    sizes, widths, dtypes = torch.stack(headers).T.tolist()
    if len(known := sorted({width for width, n in zip(widths, sizes, strict=True) if n})) > 1:
        listed = " and ".join(map(str, known))
        raise InputError(f"processes have rows of {listed} features; they must have as many.")
    padded = torch.zeros((max(sizes), max(widths)), dtype=_DTYPES[max(dtypes)], device=rows.device)
    if n:
        padded[:n] = rows
    gathered = [torch.zeros_like(padded) for _ in range(world)]
    distributed.all_gather(gathered, padded, group)
    return [of_process[:n] for of_process, n in zip(gathered, sizes, strict=True)]


def as_rows(features: Tensor) -> Tensor:
    """Return features off the graph, in float32 or float64, as wide as loses nothing."""
    if features.dtype.is_floating_point:
        return features.detach().to(torch.promote_types(features.dtype, torch.float32))
    is_small = features.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16)
    return features.detach().to(torch.float32 if is_small else torch.float64)


def in_canonical_order(rows: Tensor, keys: Tensor, n: int | None, role: str) -> Tensor:
    """Return rows without copies that padding made, in the same order for any shards.

    By their indices, of which each counts once; or, without these, by their values.

    Parameters
    ----------
    rows
        (n, d), of all processes.
    keys
        (n, 3): index or -1, place among those of its process, process.
    n
        How many there are without copies, if that is known: what a
        ``torch.utils.data.DistributedSampler`` repeats comes last in every process.
    """
    has_index = keys[:, 0] >= 0
    if has_index.any():
        if not has_index.all():
            raise InputError(f"{role}: pass indices= with every batch, or with none.")
        order = torch.argsort(row_hashes(rows), stable=True)
        order = order[torch.argsort(keys[order, 0], stable=True)]
        index = keys[order, 0]
        is_first = torch.ones_like(index, dtype=torch.bool)
        is_first[1:] = index[1:] != index[:-1]
        rows = rows[order[is_first]]
        if n is not None and len(rows) != n:
            raise InputError(f"{role} has {len(rows)} different indices; expected {n}.")
        return rows
    if n is not None:
        rows = _without_padding(rows, keys, n, role)
    return rows[torch.argsort(row_hashes(rows), stable=True)]


def _without_padding(rows: Tensor, keys: Tensor, n: int, role: str) -> Tensor:
    """Leave out what a sampler repeats to give every process as many: the last of some of them."""
    world = int(keys[:, 2].max()) + 1
    if not 0 <= len(rows) - n < world:
        raise InputError(
            f"{role} has {len(rows)} samples in {world} processes; expected {n}, and at most one "
            "more a process. Pass indices= to tell copies by."
        )
    order = torch.argsort(keys[:, 1] * world + keys[:, 2], stable=True)
    return rows[order[:n]]


def row_hashes(rows: Tensor) -> Tensor:
    """Return one integer a row, which depends on its values alone, on any device."""
    factors = column_factors(rows.shape[1]).view(np.int64)
    by_column = torch.from_numpy(factors.copy()).to(rows.device)
    words = torch.int32 if rows.dtype == torch.float32 else torch.int64
    step = max(1, _CELLS_AT_A_TIME // rows.shape[1])
    found = []
    for tile in rows.split(step):
        mixed = (tile + 0.0).view(words).to(torch.int64)  # -0.0 and 0.0 are one value
        mixed = (mixed ^ (mixed >> 32)) * by_column
        found.append((mixed ^ (mixed >> 29)).sum(dim=1))
    return torch.cat(found)
