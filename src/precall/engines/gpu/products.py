"""Products of rows for what needs no exact distances: intervals, kernel and Fréchet distances."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from precall.engines.answers import Counts, Floats
from precall.engines.gpu.device import ieee_products
from precall.engines.gpu.placing import Placed
from precall.engines.protocol import Operand

_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_VALUES_AT_A_TIME = 2**25


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


def nearest_of(rows: Operand, part: slice, depth: int) -> tuple[Counts, NDArray[Any]]:
    """Return places and norm − 2·product of the nearest others, (n, depth) each."""
    with ieee_products(), torch.inference_mode():
        distances = _distances(rows.rows[part] @ rows.rows.T, rows)
        n = len(distances)
        each = torch.arange(n, device=distances.device)
        distances[each, each + part.start] = torch.inf
        found, places = distances.topk(depth, dim=1, largest=False, sorted=True)
    return places.cpu().numpy(), found.cpu().numpy()


def products_within_of(
    left: Operand, part: slice, right: Operand, bounds: NDArray[Any]
) -> tuple[Counts, NDArray[Any]]:
    """Return the rows within the bound of any of a part, and the products with these."""
    with ieee_products(), torch.inference_mode():
        products = left.rows[part] @ right.rows.T
        limits = torch.from_numpy(bounds).to(products.device)
        # More than the difference can be rounded by, here or where it is taken again.
        slack = 8 * float(np.finfo(right.norms.dtype).eps * right.norms.max())
        is_near = (_distances(products, right) <= limits[:, None] + slack).any(dim=0)
        columns = torch.nonzero(is_near)[:, 0]
        near = products[:, columns].contiguous()
    return columns.cpu().numpy(), near.cpu().numpy()


def _distances(products: Tensor, right: Operand) -> Tensor:
    """Squared distances less the norms of the rows."""
    return torch.from_numpy(right.norms).to(products.device) - 2 * products


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
