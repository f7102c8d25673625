"""Which device an engine works on, and how to leave it as it was found."""

import importlib
import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from precall.errors import InputError
from precall.runtime.refusals import needed

_OLDEST = (7, 0)  # compute capability: the first with matrix units
_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")


def may_have_gpu() -> bool:
    """Whether torch is installed and a GPU seems to be there; torch is not imported to find out."""
    if importlib.util.find_spec("torch") is None:
        return False
    return any(Path(file).exists() for file in _DEVICE_FILES) or os.name == "nt"


def find_device(name: str) -> Any:
    """Return the device of ``"gpu"`` or ``"gpu:1"``, or say what is missing."""
    torch = needed("torch", f"engine={name!r} needs", "'precall[gpu]'")
    number = name.partition(":")[2]
    if number and not number.isdecimal():
        raise InputError(f"engine={name!r} is unknown; write 'gpu', or 'gpu:1' for another device.")
    index = int(number or 0)
    accelerator = torch.accelerator
    if not accelerator.is_available():
        raise InputError(
            f"engine={name!r} finds no GPU: torch {torch.__version__} sees none. Is a driver "
            "installed, and is this a build of torch for it? Use engine='cpu' meanwhile."
        )
    kind, n_devices = accelerator.current_accelerator().type, accelerator.device_count()
    if index >= n_devices:
        raise InputError(
            f"engine={name!r} asks for device {index}; torch sees {n_devices}, counted from 0."
        )
    device = torch.device(kind, index if number else accelerator.current_device_index())
    refuse_unfit(torch, device, name)
    return device


def refuse_unfit(torch: Any, device: Any, name: str) -> None:
    """Refuse a device that cannot decide in float64, or is too old for matrix units."""
    if device.type == "mps":
        raise InputError(
            f"engine={name!r}: Apple's GPUs have no float64, which exact answers need. Use "
            "engine='cpu'."
        )
    if device.type == "xpu" and not torch.xpu.get_device_properties(device).has_fp64:
        raise InputError(f"engine={name!r}: this GPU has no float64. Use engine='cpu'.")
    if device.type == "cuda" and torch.version.hip is None:
        capability = torch.cuda.get_device_capability(device)
        if capability < _OLDEST:
            raise InputError(
                f"engine={name!r}: {torch.cuda.get_device_name(device)} has compute capability "
                f"{capability[0]}.{capability[1]}; {_OLDEST[0]}.{_OLDEST[1]} or newer is needed. "
                "Use engine='cpu'."
            )


def current(device: Any) -> AbstractContextManager[Any]:
    """Make a device the one that kernels are launched on, for a while."""
    if device.type != "cuda":
        return nullcontext()
    import torch

    chosen: AbstractContextManager[Any] = torch.cuda.device(device)
    return chosen


class IeeeProducts:
    """Takes products of float32 in all their digits while anybody is within; then as before."""

    def __init__(self) -> None:
        self._lock, self._n_within, self._before = threading.Lock(), 0, ""

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Enter; from any thread."""
        with self._lock:
            if self._n_within == 0:
                self._before = _get_digits()
                _set_digits("ieee")
            self._n_within += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_within -= 1
                if self._n_within == 0:
                    _set_digits(self._before)


def _get_digits() -> str:
    import torch

    matmul = torch.backends.cuda.matmul
    if hasattr(matmul, "fp32_precision"):
        return str(matmul.fp32_precision)
    return "tf32" if matmul.allow_tf32 else "ieee"


def _set_digits(kind: str) -> None:
    import torch

    matmul = torch.backends.cuda.matmul
    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = kind
    else:
        matmul.allow_tf32 = kind == "tf32"


ieee_products = IeeeProducts()
