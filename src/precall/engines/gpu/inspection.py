"""What values are checked for, on the device: the same hashes as on the host, to the bit."""

import numpy as np
import torch
from torch import Tensor

from precall.data.feature_sets import OnHost, Rows
from precall.data.row_hashes import column_factors
from precall.data.value_checks import SMALLEST_MAGNITUDE, ValueCheck

_FIRST = 1024  # rows that are looked at on the host: equal features show there
_VALUES_AT_A_TIME = 2**24
_LOW_HALF = 0xFFFFFFFF
_SECOND_FACTOR = 0xD6E8FEB86659FD93 - 2**64  # as a signed number


def check_on_device(rows: Rows, base: Tensor, check: ValueCheck) -> None:
    """Show every row to ``check``; what is unusual is looked at on the host."""
    rows_at_first = rows.tile(0, _FIRST)
    check.add(rows_at_first)
    if check.looks_at_columns:
        rest = rows.select(np.arange(len(rows_at_first), len(rows)))
        OnHost().check_values(rest, check)
        return
    factors = torch.from_numpy(column_factors(rows.n_features).view(np.int64)).to(base.device)
    step = max(1, _VALUES_AT_A_TIME // rows.n_features)
    for start in range(len(rows_at_first), len(rows), step):
        part = base[start : start + step]
        largest = float(part.abs().max())
        if not np.isfinite(largest) or _has_tiny(part):
            check.add(rows.tile(start, start + len(part)))
            continue
        varies = (part != base[0]).any(dim=0)
        hashes = hashed(part, factors).cpu().numpy().view(np.uint64)
        check.add_known(hashes, varies.cpu().numpy(), largest)


def _has_tiny(part: Tensor) -> bool:
    """Whether some values are too small to square."""
    if part.dtype != torch.float64:
        return False
    return bool(((part.abs() < SMALLEST_MAGNITUDE) & (part != 0)).any())


def hashed(rows: Tensor, factors: Tensor) -> Tensor:
    """Sum mixed words of each row modulo 2**64, as ``hash_words`` does, in signed numbers."""
    words = (rows.double() + 0.0).view(torch.int64)  # -0.0 and 0.0 are one value
    mixed = _folded(words) * factors
    mixed = _folded(mixed) * _SECOND_FACTOR
    return _folded(mixed).sum(dim=1)


def _folded(words: Tensor) -> Tensor:
    return words ^ ((words >> 32) & _LOW_HALF)
