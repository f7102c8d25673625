"""Vision transformers (Dosovitskiy et al. 2021): DINOv2 (Oquab et al. 2023), CLIP (Radford 2021).

Both are the same network with other names of the weights. Features are what the class token has
become: of DINOv2 after the last normalisation, of CLIP projected to where texts are, too.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from precall.extractors.pictures.sizes import SquarePicture
from precall.extractors.protocol import Extractor, Network
from precall.extractors.torch_networks import (
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    chosen_device,
    import_torch,
    of_pixels,
)
from precall.extractors.weights import Weights, checked_tensors

_SIDE = 224
_DINO_GRID = 37  # positions it was trained with: 518 pixels in patches of 14
_DINO_OFFSET = 0.1  # added to the new number of patches where positions are interpolated
_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
_CLIP_DEVIATION = (0.26862954, 0.26130258, 0.27577711)
Tensors = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]


class Shape(NamedTuple):
    """How large a transformer is."""

    width: int
    depth: int
    heads: int
    patch: int
    projected: int = 0  # of CLIP


def dino_shapes(shape: Shape) -> Shapes:
    """Names and shapes of the weights of DINOv2."""
    w = shape.width
    found: Shapes = {
        "cls_token": (1, 1, w),
        "pos_embed": (1, _DINO_GRID**2 + 1, w),
        "patch_embed.proj.weight": (w, 3, shape.patch, shape.patch),
        "patch_embed.proj.bias": (w,),
        "norm.weight": (w,),
        "norm.bias": (w,),
    }
    for layer in range(shape.depth):
        block = f"blocks.{layer}"
        found |= _pair(f"{block}.attn.qkv", 3 * w, w) | _pair(f"{block}.attn.proj", w, w)
        found |= _pair(f"{block}.mlp.fc1", 4 * w, w) | _pair(f"{block}.mlp.fc2", w, 4 * w)
        for part in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"):
            found[f"{block}.{part}"] = (w,)
        found |= {f"{block}.ls1.gamma": (w,), f"{block}.ls2.gamma": (w,)}
    return found


def clip_shapes(shape: Shape) -> Shapes:
    """Names and shapes of the weights of CLIP's side for pictures."""
    w, n_patches = shape.width, (_SIDE // shape.patch) ** 2
    found: Shapes = {
        "vision_model.embeddings.class_embedding": (w,),
        "vision_model.embeddings.patch_embedding.weight": (w, 3, shape.patch, shape.patch),
        "vision_model.embeddings.position_embedding.weight": (n_patches + 1, w),
        "visual_projection.weight": (shape.projected, w),
    }
    norms = ["vision_model.pre_layrnorm", "vision_model.post_layernorm"]
    for layer in range(shape.depth):
        block = f"vision_model.encoder.layers.{layer}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            found |= _pair(f"{block}.self_attn.{part}", w, w)
        found |= _pair(f"{block}.mlp.fc1", 4 * w, w) | _pair(f"{block}.mlp.fc2", w, 4 * w)
        norms += [f"{block}.layer_norm1", f"{block}.layer_norm2"]
    return found | {f"{norm}.{part}": (w,) for norm in norms for part in ("weight", "bias")}


def _pair(name: str, n_out: int, n_in: int) -> Shapes:
    return {f"{name}.weight": (n_out, n_in), f"{name}.bias": (n_out,)}


def dino_forward(tensors: Tensors, shape: Shape, pixels: Any) -> Any:
    """Return the class token of DINOv2 after the last normalisation."""
    torch = import_torch("dinov2")
    functions = torch.nn.functional
    weight, bias = tensors["patch_embed.proj.weight"], tensors["patch_embed.proj.bias"]
    patches = functions.conv2d(pixels, weight, bias, shape.patch)
    x = _tokens(torch, patches, tensors["cls_token"])
    x = x + _dino_positions(torch, tensors["pos_embed"], patches.shape[2])
    norm = partial(_norm, torch, tensors, 1e-6)
    for layer in range(shape.depth):
        block = f"blocks.{layer}"
        joint = _linear(torch, tensors, norm(x, f"{block}.norm1"), f"{block}.attn.qkv")
        mixed = _attention(torch, joint.chunk(3, -1), shape.heads)
        update = _linear(torch, tensors, mixed, f"{block}.attn.proj")
        x = x + update * tensors[f"{block}.ls1.gamma"]
        inner = _linear(torch, tensors, norm(x, f"{block}.norm2"), f"{block}.mlp.fc1")
        inner = functions.gelu(inner)
        x = x + _linear(torch, tensors, inner, f"{block}.mlp.fc2") * tensors[f"{block}.ls2.gamma"]
    return norm(x, "norm")[:, 0]


def _dino_positions(torch: Any, positions: Any, side: int) -> Any:
    """Interpolate the positions of 37 × 37 patches to those of this picture."""
    first, grid = positions[:, :1], positions[:, 1:]
    grid = grid.reshape(1, _DINO_GRID, _DINO_GRID, -1).permute(0, 3, 1, 2)
    scale = (side + _DINO_OFFSET) / _DINO_GRID
    smaller = torch.nn.functional.interpolate(grid, scale_factor=(scale, scale), mode="bicubic")
    return torch.cat([first, smaller.flatten(2).transpose(1, 2)], 1)


def clip_forward(tensors: Tensors, shape: Shape, pixels: Any) -> Any:
    """Return what CLIP makes of pictures, before it is scaled to unit length."""
    torch = import_torch("clip")
    embedded = "vision_model.embeddings"
    weight = tensors[f"{embedded}.patch_embedding.weight"]
    patches = torch.nn.functional.conv2d(pixels, weight, None, shape.patch)
    x = _tokens(torch, patches, tensors[f"{embedded}.class_embedding"].reshape(1, 1, -1))
    norm = partial(_norm, torch, tensors, 1e-5)
    x = norm(x + tensors[f"{embedded}.position_embedding.weight"], "vision_model.pre_layrnorm")
    for layer in range(shape.depth):
        block = f"vision_model.encoder.layers.{layer}"
        before = norm(x, f"{block}.layer_norm1")
        linear = partial(_linear, torch, tensors)
        parts = [linear(before, f"{block}.self_attn.{part}_proj") for part in "qkv"]
        x = x + linear(_attention(torch, parts, shape.heads), f"{block}.self_attn.out_proj")
        inner = linear(norm(x, f"{block}.layer_norm2"), f"{block}.mlp.fc1")
        x = x + linear(inner * torch.sigmoid(1.702 * inner), f"{block}.mlp.fc2")
    pooled = norm(x[:, 0], "vision_model.post_layernorm")
    return pooled @ tensors["visual_projection.weight"].T


def _tokens(torch: Any, patches: Any, first: Any) -> Any:
    """Put a class token before the patches."""
    n = len(patches)
    return torch.cat([first.expand(n, -1, -1), patches.flatten(2).transpose(1, 2)], 1)


def _norm(torch: Any, tensors: Tensors, epsilon: float, x: Any, name: str) -> Any:
    weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, epsilon)


def _linear(torch: Any, tensors: Tensors, x: Any, name: str) -> Any:
    return torch.nn.functional.linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _attention(torch: Any, parts: Any, heads: int) -> Any:
    n, length, width = parts[0].shape
    split = [p.reshape(n, length, heads, width // heads).transpose(1, 2) for p in parts]
    mixed = torch.nn.functional.scaled_dot_product_attention(*split)
    return mixed.transpose(1, 2).reshape(n, length, width)


def load(
    path: Path | None,
    device: str,
    *,
    name: str,
    shape: Shape,
    shapes: Callable[[Shape], Shapes],
    forward: Callable[[Tensors, Shape, Any], Any],
    scaling: tuple[tuple[float, ...], tuple[float, ...]],
) -> Network:
    """Read the weights and return the network."""
    device = chosen_device(device, name)
    found = checked_tensors(path or Path(), name, shapes(shape))
    tensors = {key: tensor.to(device) for key, tensor in found.items()}
    return of_pixels(partial(forward, tensors, shape), device, *scaling)


def _dino(letter: str, shape: Shape) -> Extractor:
    name = f"dinov2-vit{letter}14"
    file = f"dinov2_vit{letter}14_pretrain.pth"
    return Extractor(
        name=name,
        kind="pictures",
        dimension=shape.width,
        version="1",
        prepare=SquarePicture(_SIDE),
        load=partial(
            load,
            name=name,
            shape=shape,
            shapes=dino_shapes,
            forward=dino_forward,
            scaling=(IMAGENET_MEAN, IMAGENET_DEVIATION),
        ),
        weights=Weights(
            file, "", url=f"https://dl.fbaipublicfiles.com/dinov2/dinov2_vit{letter}14/{file}"
        ),
        batch_size=32,
        summary="DINOv2, class token: trained without labels",
        licence="Apache-2.0",
        needs=("torch", "PIL"),
        extra="images",
    )


def _clip(size: str, shape: Shape, repository: str) -> Extractor:
    name = f"clip-vit-{size}"
    file = f"{name}.safetensors"
    return Extractor(
        name=name,
        kind="pictures",
        dimension=shape.projected,
        version="1",
        prepare=SquarePicture(_SIDE, crop=True),
        load=partial(
            load,
            name=name,
            shape=shape,
            shapes=clip_shapes,
            forward=clip_forward,
            scaling=(_CLIP_MEAN, _CLIP_DEVIATION),
        ),
        weights=Weights(file, "", url=f"https://huggingface.co/{repository} (model.safetensors)"),
        batch_size=32,
        summary="CLIP of OpenAI, projected class token",
        licence="MIT",
        needs=("torch", "PIL"),
        extra="images",
    )


EXTRACTORS = (
    _dino("s", Shape(384, 12, 6, 14)),
    _dino("b", Shape(768, 12, 12, 14)),
    _dino("l", Shape(1024, 24, 16, 14)),
    _clip("b32", Shape(768, 12, 12, 32, 512), "openai/clip-vit-base-patch32"),
    _clip("b16", Shape(768, 12, 12, 16, 512), "openai/clip-vit-base-patch16"),
    _clip("l14", Shape(1024, 24, 16, 14, 768), "openai/clip-vit-large-patch14"),
)
