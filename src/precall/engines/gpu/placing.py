"""Sets that a session holds: on the device where they fit, else sent there part by part."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from precall.data.device_arrays import DeviceArray
from precall.engines.gpu.levels import Approximation, Level
from precall.engines.gpu.scale import Scale

Halve = Callable[[Tensor, Scale], Approximation]

_UNIT = 2.0**-53
_LARGEST = 2.0**15  # below the largest float16
_SMALLEST = 2.0**-14  # subnormal float16 are flushed by some matrix units
_PADDED_TO = 64
_BYTES_AT_A_TIME = 2**26
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """An array as it was."""

    rows: Tensor  # (n, d) float32 or float64
    is_here: bool  # on the device; else on the host, and sent part by part


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """An array, and what is known of its rows on the session's scale."""

    base: Base
    half: Approximation | None  # of all rows, if they are here
    norm: Tensor  # (n,) of the float16 rows
    lost: Tensor  # (n,)

    @classmethod
    def of(cls, base: Base, scale: Scale, device: torch.device, halve: Halve) -> Self:
        """Approximate an array once; all of it at once if it is on the device."""
        if base.is_here:
            half = halve(base.rows, scale)
            return cls(base, half, half.norm, half.lost)
        parts = [halve(part, scale) for part in _sent(base.rows, device)]
        norm, lost = (torch.cat(of) for of in zip(*((p.norm, p.lost) for p in parts), strict=True))
        return cls(base, None, norm, lost)


@dataclass(slots=True, eq=False)
class Placed:
    """A selection of the rows of an array."""

    stored: Stored
    scale: Scale
    device: torch.device
    halve: Halve
    places: Tensor | None = None  # (n,) int64 in the array, None for all
    _known: dict[Level, Approximation] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.stored.base.rows) if self.places is None else len(self.places)

    @property
    def is_here(self) -> bool:
        """Whether the rows are on the device."""
        return self.stored.base.is_here

    def places_of(self, rows: Tensor | None) -> Tensor:
        """Where rows of the selection stand in the array."""
        if rows is None:
            rows = torch.arange(len(self), device=self.device)
        return rows if self.places is None else self.places[rows]

    def values(self, rows: Tensor | None = None) -> Tensor:
        """Return rows as they were, on the device."""
        base = self.stored.base.rows
        if rows is None and self.places is None and self.is_here:
            return base
        places = self.places_of(rows)
        if self.is_here:
            return base[places]
        return base[places.cpu()].to(self.device)

    def at(self, level: Level, rows: Tensor | None = None) -> Approximation:
        """Return rows at a level; those of all are remembered if they are here."""
        if rows is None and level in self._known:
            return self._known[level]
        found = self._approximated(level, rows)
        if rows is None and self.is_here and level is Level.HALF:
            self._known[level] = found
        return found

    def _approximated(self, level: Level, rows: Tensor | None) -> Approximation:
        half = self.stored.half
        if level is Level.HALF and half is not None:
            is_all = rows is None and self.places is None
            return half if is_all else half.select(self.places_of(rows))
        values = self.values(rows)
        if level is Level.HALF:
            return self.halve(values, self.scale)
        if level is Level.DOUBLE:
            return doubled(values, self.scale)
        zeros = torch.zeros(len(values), dtype=torch.float64, device=self.device)
        return Approximation(Level.EXACT, values.T.contiguous(), zeros, zeros)

    def sketch(self) -> Approximation:
        """Return norms and losses alone of the rows in float16."""
        places = self.places
        norm, lost = self.stored.norm, self.stored.lost
        if places is not None:
            norm, lost = norm[places], lost[places]
        return Approximation(
            Level.HALF, torch.empty((len(self), 0), device=self.device), norm, lost
        )


def halved(rows: Tensor, scale: Scale) -> Approximation:
    """Round rows to float16 on the session's scale."""
    n, d = rows.shape
    q = torch.zeros((n, padded(d)), dtype=torch.float16, device=rows.device)
    norm = torch.empty(n, dtype=torch.float64, device=rows.device)
    lost = torch.empty_like(norm)
    step = max(1, _BYTES_AT_A_TIME // (8 * d))
    for i in range(0, n, step):
        part = slice(i, i + step)
        offset = (rows[part].double() - scale.center) / scale.step
        half = offset.clamp(-_LARGEST, _LARGEST).half()
        half = torch.where(half.abs() < _SMALLEST, torch.zeros_like(half), half)
        q[part, :d] = half
        kept = half.double()
        norm[part] = kept.square().sum(dim=1)
        lost[part] = (offset - kept).square().sum(dim=1)
        length = offset.square().sum(dim=1)
        lost[part] = honest_loss(lost[part], length, d)
    if scale.is_exact:
        lost.zero_()
    return Approximation(Level.HALF, q, norm, lost)


def honest_loss(squared: Tensor, length: Tensor, d: int) -> Tensor:
    """‖e‖ from its computed square and the squared length of the offset, rounded up."""
    return squared.sqrt() * (1 + 1e-12) + (d + 8) * 4 * _UNIT * length.sqrt() + 2.0**-500


def doubled(rows: Tensor, scale: Scale) -> Approximation:
    """Return rows on the session's scale in float64: they lose one rounding."""
    n, d = rows.shape
    values = torch.zeros((n, padded(d)), dtype=torch.float64, device=rows.device)
    values[:, :d] = (rows.double() - scale.center) / scale.step
    norm = values.square().sum(dim=1)
    return Approximation(Level.DOUBLE, values, norm, norm.sqrt() * (8 * _UNIT) + 2.0**-500)


def padded(d: int) -> int:
    """Return the width that kernels read."""
    return -(-d // _PADDED_TO) * _PADDED_TO


def upload(array: Any, device: torch.device, *, fits: Callable[[int], bool]) -> Base:
    """Bring an array to the device if it fits, from pinned memory; else keep it on the host."""
    if isinstance(array, DeviceArray):
        return Base(array.tensor.to(device), is_here=True)
    host = np.asarray(array)
    if not fits(host.nbytes):
        return Base(_as_tensor(host), is_here=False)
    if device.type == "cpu":
        return Base(_as_tensor(host), is_here=True)
    out = torch.empty(host.shape, dtype=_DTYPES[host.dtype.name], device=device)
    start = 0
    for part in _sent(host, device):
        out[start : start + len(part)] = part
        start += len(part)
    return Base(out, is_here=True)


def _sent(rows: Any, device: torch.device) -> Iterator[Tensor]:
    """Send rows to the device part by part; the next part is read while one is on its way."""
    step = max(1, _BYTES_AT_A_TIME // (rows.shape[1] * 8))
    is_cuda = device.type == "cuda"
    for start in range(0, len(rows), step):
        part = _as_tensor(np.asarray(rows[start : start + step]))
        yield (part.pin_memory() if is_cuda else part).to(device, non_blocking=True)


def _as_tensor(host: np.ndarray) -> Tensor:
    """Share the memory of an array; one that is read-only is only ever read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is not writable
        return torch.from_numpy(np.ascontiguousarray(host).view(np.ndarray))
