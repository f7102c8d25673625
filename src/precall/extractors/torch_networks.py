"""What networks in torch have in common: the device, batches of pixels, rows of features."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from precall.errors import InputError
from precall.extractors.protocol import FloatRows, Network, Prepared
from precall.runtime.refusals import needed
from precall.runtime.threads import in_threads, n_threads

Tensor = Any
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def import_torch(who: str, extra: str = "images") -> Any:
    """Import torch, or say how to install it."""
    return needed("torch", f"{who} needs", f"'precall[{extra}]'")


def chosen_device(device: str, who: str, extra: str = "images") -> str:
    """Settle where to compute: ``"auto"`` is a GPU if there is one."""
    torch = import_torch(who, extra)
    if device != "auto":
        try:
            torch.empty(1, device=device)
        except Exception as error:  # of many kinds, long ones
            raise InputError(f"device {device!r} cannot be used: {error!s:.100}.") from error
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def moved(tensors: dict[str, Tensor], device: str) -> dict[str, Tensor]:
    """Put all weights onto a device, convolutions in the order that is fastest there."""
    torch = import_torch("this network")
    return {
        name: tensor.to(device).contiguous(memory_format=torch.channels_last)
        if tensor.ndim == 4
        else tensor.to(device)
        for name, tensor in tensors.items()
    }


def folded_normalisation(
    tensors: dict[str, Tensor], pairs: dict[str, str], epsilon: float
) -> dict[str, Tensor]:
    """Put every batch normalisation into the convolution before it: one step instead of two."""
    folded = {}
    for convolution, norm in pairs.items():
        gain = tensors[f"{norm}.weight"] / (tensors[f"{norm}.running_var"] + epsilon).sqrt()
        weight, mean = tensors[f"{convolution}.weight"], tensors[f"{norm}.running_mean"]
        folded[f"{convolution}.weight"] = weight * gain.reshape(-1, 1, 1, 1)
        folded[f"{convolution}.bias"] = tensors[f"{norm}.bias"] - mean * gain
    return folded


def of_pixels(
    forward: Callable[[Tensor], Tensor],
    device: str,
    mean: Sequence[float],
    deviation: Sequence[float],
) -> Network:
    """Return a network of batches (n, side, side, 3), whose pixels are scaled to (x − mean)/dev.

    ``mean`` and ``deviation`` are those of pixels from 0 to 1. On a processor every core takes one
    picture at a time, whose maps stay in its caches; so features do not depend on the batch, and no
    core waits for another.
    """
    torch = import_torch("this network")
    scale = torch.tensor([1 / (255 * d) for d in deviation], device=device)
    offset = torch.tensor([-m / d for m, d in zip(mean, deviation, strict=True)], device=device)

    def rows(batch: Sequence[Prepared]) -> FloatRows:
        with torch.inference_mode():
            pixels = torch.from_numpy(np.stack(batch)).to(device)
            # Colours last in memory, first by name: no copy, and what convolutions like best.
            scaled = (pixels.float() * scale + offset).permute(0, 3, 1, 2)
            made = _one_by_one(torch, forward, scaled) if device == "cpu" else forward(scaled)
            return np.asarray(made.float().cpu().numpy(), np.float32)

    return rows


def _one_by_one(torch: Any, forward: Callable[[Tensor], Tensor], pictures: Tensor) -> Tensor:
    def made(picture: Tensor) -> Tensor:
        torch.set_num_threads(1)
        with torch.inference_mode():
            return forward(picture)

    before = torch.get_num_threads()
    try:
        return torch.cat(list(in_threads(made, pictures.split(1), n_threads(None))))
    finally:
        torch.set_num_threads(before)
