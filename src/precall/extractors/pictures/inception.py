"""Inception v3 as FID uses it (Szegedy et al. 2016; Heusel et al. 2017): 2048 features.

The network is TensorFlow's of 2015-12-05, whose weights pytorch-fid and torch-fidelity publish for
torch. It differs from the later one in torchvision: averages leave the padding out, and the last
block takes a maximum where others average. Pictures are scaled to 299 pixels without antialiasing,
as TensorFlow did and torch-fidelity does; other scalings give other distances (Parmar et al. 2022).
"""

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
from precall.extractors.weights import Weights, checked_tensors

_SIDE = 299
_EPSILON = 1e-3
_MEAN = _DEVIATION = (128 / 255,) * 3
Size = tuple[int, int]


class Convolution(NamedTuple):
    """One convolution: kernel, padding as far as it keeps the size, stride 2 where it does not."""

    n_in: int
    n_out: int
    kernel: Size = (1, 1)
    stride: int = 1
    keeps_size: bool = True


def _a(n_in: int, pooled: int) -> dict[str, Convolution]:
    return {
        "branch1x1": Convolution(n_in, 64),
        "branch5x5_1": Convolution(n_in, 48),
        "branch5x5_2": Convolution(48, 64, (5, 5)),
        "branch3x3dbl_1": Convolution(n_in, 64),
        "branch3x3dbl_2": Convolution(64, 96, (3, 3)),
        "branch3x3dbl_3": Convolution(96, 96, (3, 3)),
        "branch_pool": Convolution(n_in, pooled),
    }


def _b(n_in: int) -> dict[str, Convolution]:
    return {
        "branch3x3": Convolution(n_in, 384, (3, 3), 2, keeps_size=False),
        "branch3x3dbl_1": Convolution(n_in, 64),
        "branch3x3dbl_2": Convolution(64, 96, (3, 3)),
        "branch3x3dbl_3": Convolution(96, 96, (3, 3), 2, keeps_size=False),
    }


def _c(inner: int) -> dict[str, Convolution]:
    return {
        "branch1x1": Convolution(768, 192),
        "branch7x7_1": Convolution(768, inner),
        "branch7x7_2": Convolution(inner, inner, (1, 7)),
        "branch7x7_3": Convolution(inner, 192, (7, 1)),
        "branch7x7dbl_1": Convolution(768, inner),
        "branch7x7dbl_2": Convolution(inner, inner, (7, 1)),
        "branch7x7dbl_3": Convolution(inner, inner, (1, 7)),
        "branch7x7dbl_4": Convolution(inner, inner, (7, 1)),
        "branch7x7dbl_5": Convolution(inner, 192, (1, 7)),
        "branch_pool": Convolution(768, 192),
    }


def _d() -> dict[str, Convolution]:
    return {
        "branch3x3_1": Convolution(768, 192),
        "branch3x3_2": Convolution(192, 320, (3, 3), 2, keeps_size=False),
        "branch7x7x3_1": Convolution(768, 192),
        "branch7x7x3_2": Convolution(192, 192, (1, 7)),
        "branch7x7x3_3": Convolution(192, 192, (7, 1)),
        "branch7x7x3_4": Convolution(192, 192, (3, 3), 2, keeps_size=False),
    }


def _e(n_in: int) -> dict[str, Convolution]:
    return {
        "branch1x1": Convolution(n_in, 320),
        "branch3x3_1": Convolution(n_in, 384),
        "branch3x3_2a": Convolution(384, 384, (1, 3)),
        "branch3x3_2b": Convolution(384, 384, (3, 1)),
        "branch3x3dbl_1": Convolution(n_in, 448),
        "branch3x3dbl_2": Convolution(448, 384, (3, 3)),
        "branch3x3dbl_3a": Convolution(384, 384, (1, 3)),
        "branch3x3dbl_3b": Convolution(384, 384, (3, 1)),
        "branch_pool": Convolution(n_in, 192),
    }


_STEM = {
    "Conv2d_1a_3x3": Convolution(3, 32, (3, 3), 2, keeps_size=False),
    "Conv2d_2a_3x3": Convolution(32, 32, (3, 3), keeps_size=False),
    "Conv2d_2b_3x3": Convolution(32, 64, (3, 3)),
    "Conv2d_3b_1x1": Convolution(64, 80),
    "Conv2d_4a_3x3": Convolution(80, 192, (3, 3), keeps_size=False),
}
_BLOCKS = {
    "Mixed_5b": _a(192, 32),
    "Mixed_5c": _a(256, 64),
    "Mixed_5d": _a(288, 64),
    "Mixed_6a": _b(288),
    "Mixed_6b": _c(128),
    "Mixed_6c": _c(160),
    "Mixed_6d": _c(160),
    "Mixed_6e": _c(192),
    "Mixed_7a": _d(),
    "Mixed_7b": _e(1280),
    "Mixed_7c": _e(2048),
}
# In each block: what follows what, side by side; lists of several ends are put together.
_PATHS: dict[str, tuple[tuple[str | tuple[str, ...], ...], ...]] = {
    "5": (
        ("branch1x1",),
        ("branch5x5_1", "branch5x5_2"),
        ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"),
    ),
    "6a": (("branch3x3",), ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3")),
    "6": (
        ("branch1x1",),
        ("branch7x7_1", "branch7x7_2", "branch7x7_3"),
        tuple(f"branch7x7dbl_{number}" for number in range(1, 6)),
    ),
    "7a": (
        ("branch3x3_1", "branch3x3_2"),
        tuple(f"branch7x7x3_{number}" for number in range(1, 5)),
    ),
    "7": (
        ("branch1x1",),
        ("branch3x3_1", ("branch3x3_2a", "branch3x3_2b")),
        ("branch3x3dbl_1", "branch3x3dbl_2", ("branch3x3dbl_3a", "branch3x3dbl_3b")),
    ),
}


def convolutions() -> dict[str, Convolution]:
    """Every convolution of the network, by its name among the weights."""
    inner = {
        f"{block}.{name}": convolution
        for block, inside in _BLOCKS.items()
        for name, convolution in inside.items()
    }
    return _STEM | inner


def shapes() -> dict[str, tuple[int, ...]]:
    """Shapes of all weights that are used."""
    found: dict[str, tuple[int, ...]] = {}
    for name, c in convolutions().items():
        found[f"{name}.conv.weight"] = (c.n_out, c.n_in, *c.kernel)
        for part in ("weight", "bias", "running_mean", "running_var"):
            found[f"{name}.bn.{part}"] = (c.n_out,)
    return found


def load(path: Path | None, device: str) -> Network:
    """Read the weights and return the network."""
    device = chosen_device(device, "inception-fid")
    tensors = checked_tensors(path or Path(), "inception-fid", shapes())
    pairs = {f"{name}.conv": f"{name}.bn" for name in convolutions()}
    weights = moved(folded_normalisation(tensors, pairs, _EPSILON), device)
    return of_pixels(partial(forward, weights), device, _MEAN, _DEVIATION)


def forward(weights: dict[str, Any], pixels: Any) -> Any:
    """Return the 2048 features of pictures (n, 3, 299, 299), scaled to −1 to 1."""
    functions = import_torch("inception-fid").nn.functional
    known = convolutions()

    def convolve(x: Any, name: str) -> Any:
        c = known[name]
        padding = tuple(side // 2 for side in c.kernel) if c.keeps_size else (0, 0)
        weight, bias = weights[f"{name}.conv.weight"], weights[f"{name}.conv.bias"]
        return functions.relu(functions.conv2d(x, weight, bias, c.stride, padding))

    x = pixels
    for name in _STEM:
        x = convolve(x, name)
        if name in ("Conv2d_2b_3x3", "Conv2d_4a_3x3"):
            x = functions.max_pool2d(x, 3, 2)
    for block in _BLOCKS:
        x = _block(x, block, convolve)
    return x.mean((2, 3))


def _block(x: Any, block: str, convolve: Any) -> Any:
    """Put side by side what all paths through a block return, the pooled one last."""
    torch = import_torch("inception-fid")
    number = block.removeprefix("Mixed_")
    ends = []
    for path in _PATHS.get(number, _PATHS[number[0]]):
        y = x
        for step in path:
            if isinstance(step, str):
                y = convolve(y, f"{block}.{step}")
            else:
                y = torch.cat([convolve(y, f"{block}.{one}") for one in step], 1)
        ends.append(y)
    pool = torch.nn.functional
    if number in ("6a", "7a"):
        pooled = pool.max_pool2d(x, 3, 2)
    elif number == "7c":
        pooled = convolve(pool.max_pool2d(x, 3, 1, 1), f"{block}.branch_pool")
    else:
        average = pool.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        pooled = convolve(average, f"{block}.branch_pool")
    return torch.cat([*ends, pooled], 1)


EXTRACTORS = (
    Extractor(
        name="inception-fid",
        kind="pictures",
        dimension=2048,
        version="1",
        prepare=SquarePicture(_SIDE, "legacy-tensorflow"),
        load=load,
        weights=Weights(
            "pt_inception-2015-12-05-6726825d.pth",
            "6726825d",
            url="https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/"
            "pt_inception-2015-12-05-6726825d.pth",
        ),
        batch_size=32,
        summary="Inception v3 of 2015, last pool: the features of FID",
        licence="Apache-2.0",
        needs=("torch", "PIL"),
        extra="images",
    ),
)
