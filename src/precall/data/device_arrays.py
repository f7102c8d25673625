"""Rows on another device: they tell their shape like an array, and come to the host when read."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

_CPU = 1  # as DLPack numbers devices


class DeviceArray:
    """A tensor of torch that stays where it is.

    Parameters
    ----------
    tensor
        Off the graph.
    """

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @classmethod
    def of(cls, data: Any) -> Self | None:
        """Take over a tensor, or whatever lends its memory by DLPack, if it is on a device."""
        if hasattr(data, "detach") and hasattr(data, "device"):
            is_here = str(data.device).partition(":")[0] in ("cpu", "meta")
            return None if is_here else cls(data.detach())
        device = getattr(data, "__dlpack_device__", None)
        if device is None or int(device()[0]) == _CPU:
            return None
        import torch

        return cls(torch.from_dlpack(data))

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """As of an array."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """As of an array; bfloat16 by its name alone."""
        name = str(self.tensor.dtype).removeprefix("torch.")
        return _Bfloat16() if name == "bfloat16" else np.dtype(name)

    @property
    def device(self) -> str:
        """Where the rows are."""
        return str(self.tensor.device)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: Any) -> NDArray[Any]:
        places = at if isinstance(at, tuple) else (at,)
        here = self.tensor[tuple(self._index(place) for place in places)]
        return np.asarray(here.cpu().numpy())

    def _index(self, place: Any) -> Any:
        if not isinstance(place, np.ndarray):
            return place
        import torch

        return torch.from_numpy(place).to(self.tensor.device)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = np.asarray(self.tensor.cpu().numpy())
        return array if dtype is None else array.astype(dtype)

    def min(self) -> Any:
        """Return the smallest value."""
        return self.tensor.min().item()

    def max(self) -> Any:
        """Return the largest value."""
        return self.tensor.max().item()

    def astype(self, dtype: Any, copy: bool = False) -> Self:
        """Convert on the device, to rows without gaps."""
        import torch

        target = getattr(torch, np.dtype(dtype).name)
        return type(self)(self.tensor.to(target).contiguous())


class _Bfloat16:
    """Stands for a type that NumPy does not have."""

    name, kind, itemsize = "bfloat16", "f", 2

    def __str__(self) -> str:
        return self.name
