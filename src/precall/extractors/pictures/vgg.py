"""VGG-16 (Simonyan & Zisserman 2015): the second fully connected layer, 4096 features.

Kynkäänniemi et al. 2019 measure improved precision and recall in this layer. Weights are those of
torchvision; theirs were trained by another framework, so numbers agree in kind, not in digits.
"""

from functools import partial
from pathlib import Path
from typing import Any

from precall.extractors.pictures.sizes import SquarePicture
from precall.extractors.protocol import Extractor, Network
from precall.extractors.torch_networks import (
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    chosen_device,
    import_torch,
    moved,
    of_pixels,
)
from precall.extractors.weights import Weights, checked_tensors

# Channels of every convolution; None halves the picture.
_LAYERS = (64, 64, None, 128, 128, None, 256, 256, 256, None, *(2 * (512, 512, 512, None)))


def _plan() -> list[tuple[str, int, int] | None]:
    """Name, channels in and out of every convolution, as torchvision counts them."""
    plan: list[tuple[str, int, int] | None] = []
    number, n_in = 0, 3
    for n_out in _LAYERS:
        if n_out is None:
            plan.append(None)
            number += 1
        else:
            plan.append((f"features.{number}", n_in, n_out))
            number, n_in = number + 2, n_out
    return plan


def shapes() -> dict[str, tuple[int, ...]]:
    """Shapes of all weights that are used."""
    found: dict[str, tuple[int, ...]] = {
        "classifier.0.weight": (4096, 512 * 7 * 7),
        "classifier.0.bias": (4096,),
        "classifier.3.weight": (4096, 4096),
        "classifier.3.bias": (4096,),
    }
    for layer in _plan():
        if layer is not None:
            name, n_in, n_out = layer
            found |= {f"{name}.weight": (n_out, n_in, 3, 3), f"{name}.bias": (n_out,)}
    return found


def forward(weights: dict[str, Any], pixels: Any) -> Any:
    """Return the second fully connected layer, after its rectifier."""
    functions = import_torch("vgg16").nn.functional
    x = pixels
    for layer in _plan():
        if layer is None:
            x = functions.max_pool2d(x, 2)
        else:
            name = layer[0]
            weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            x = functions.relu(functions.conv2d(x, weight, bias, 1, 1))
    x = x.contiguous().flatten(1)
    for name in ("classifier.0", "classifier.3"):
        x = functions.relu(functions.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"]))
    return x


def load(path: Path | None, device: str) -> Network:
    """Read the weights and return the network."""
    device = chosen_device(device, "vgg16")
    weights = moved(checked_tensors(path or Path(), "vgg16", shapes()), device)
    return of_pixels(partial(forward, weights), device, IMAGENET_MEAN, IMAGENET_DEVIATION)


EXTRACTORS = (
    Extractor(
        name="vgg16",
        kind="pictures",
        dimension=4096,
        version="1",
        prepare=SquarePicture(224),
        load=load,
        weights=Weights(
            "vgg16-397923af.pth",
            "397923af",
            url="https://download.pytorch.org/models/vgg16-397923af.pth",
        ),
        batch_size=32,
        summary="VGG-16, second fully connected layer (improved precision and recall)",
        licence="BSD-3-Clause",
        needs=("torch", "PIL"),
        extra="images",
    ),
)
