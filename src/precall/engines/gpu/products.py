"""Products of rows for what needs no exact distances: intervals, kernel and Fréchet distances."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from precall.engines.answers import Floats, Vicinity
from precall.engines.gpu.device import ieee_products
from precall.engines.gpu.placing import Placed
from precall.engines.protocol import Operand

_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_VALUES_AT_A_TIME = 2**25
_FEWEST_ROWS = 16  # that are divided where memory runs out


def operand_of(rows: Placed, center: Floats, dtype: type[np.floating], exponent: int) -> Operand:
    """Return rows less a centre and over 2**exponent, on the device; norms on the host."""
    kind = _DTYPES[np.dtype(dtype).name]
    middle = torch.from_numpy(center).to(rows.device)
    dense = torch.empty((len(rows), len(center)), dtype=kind, device=rows.device)
    with torch.inference_mode():
        for part in torch.arange(len(rows), device=rows.device).split(_height(len(center))):
            offset = rows.values(part).double() - middle
            dense[part] = torch.ldexp(offset, offset.new_tensor(-exponent)).to(kind)
        norms = (dense * dense).sum(dim=1)
    return Operand(dense, norms.cpu().numpy())


def product_of(
    left: Operand, part: slice, right: Operand, right_part: slice, out: NDArray[Any] | None
) -> NDArray[Any]:
    """Return inner products, on the host."""
    with ieee_products(), torch.inference_mode():
        found = left.rows[part] @ right.rows[right_part].T
    if out is None:
        return np.asarray(found.cpu().numpy())
    torch.from_numpy(out).copy_(found)
    return out


def vicinity_of(own: Operand, part: slice, other: Operand, depth: int) -> Vicinity:
    """Return the nearest others of some rows, and who of the other class is as near.

    Where memory runs out, of one half of them after the other.
    """
    try:
        return _vicinity(own, part, other, depth)
    except torch.OutOfMemoryError:
        if part.stop - part.start < _FEWEST_ROWS:
            raise
    torch.cuda.empty_cache()
    middle = (part.start + part.stop) // 2
    halves = slice(part.start, middle), slice(middle, part.stop)
    return Vicinity.concat([vicinity_of(own, half, other, depth) for half in halves])


def _vicinity(own: Operand, part: slice, other: Operand, depth: int) -> Vicinity:
    with ieee_products(), torch.inference_mode():
        distances = _distances(own, part, own)
        each = torch.arange(len(distances), device=distances.device)
        distances[each, each + part.start] = torch.inf
        nearest, places = distances.topk(depth, dim=1, largest=False, sorted=True)
        distances = _distances(own, part, other)
        is_near = distances <= nearest[:, -1:]
        ends = is_near.sum(dim=1).cumsum(dim=0)
        columns = torch.nonzero(is_near)[:, 1]
        far = distances[is_near]
        starts = torch.cat([ends.new_zeros(1), ends])
        found = [values.cpu().numpy() for values in (places, nearest, starts, columns, far)]
    return Vicinity(*found)


def _distances(left: Operand, part: slice, right: Operand) -> Tensor:
    """Squared distances less the norms of the rows."""
    norms = torch.from_numpy(right.norms).to(right.rows.device)
    return torch.addmm(norms, left.rows[part], right.rows.T, alpha=-2)


def scatter_of(rows: Placed, center: Floats) -> Floats:
    """Sum the outer products of rows less a centre, in float64."""
    middle = torch.from_numpy(center).to(rows.device)
    total = torch.zeros((len(center), len(center)), dtype=torch.float64, device=rows.device)
    with torch.inference_mode():
        for part in torch.arange(len(rows), device=rows.device).split(_height(len(center))):
            offset = rows.values(part).double() - middle
            total.addmm_(offset.T, offset)
    return np.asarray(total.cpu().numpy())


def _height(d: int) -> int:
    return max(1, _VALUES_AT_A_TIME // d)
