"""Tensors that torch saved."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation

_SAFE_SINCE = (2, 10)  # the first version whose weights_only loading has no known hole


def read_torch(place: ArrayLocation) -> NDArray[Any]:
    """Read one tensor of a .pt or .pth file, with torch's loader that runs no code."""
    torch = place.library("torch", install="torch")
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _SAFE_SINCE:
        raise place.refuse(
            f"can only be read safely by torch {_SAFE_SINCE[0]}.{_SAFE_SINCE[1]} or newer; this is "
            f"{torch.__version__}. Save it as .npy or .safetensors."
        )
    try:
        loaded = torch.load(place.path, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, none of them ours
        reason = " ".join(str(error).split())
        raise place.refuse(f"cannot be read without running code in it: {reason:.200}") from error
    if isinstance(loaded, torch.Tensor):
        return place.checked(tensor_to_array(loaded))
    if isinstance(loaded, dict):
        tensors = {str(key): value for key, value in loaded.items() if torch.is_tensor(value)}
        return place.checked(tensor_to_array(tensors[place.choose(tensors)]))
    raise place.refuse(f"holds a {type(loaded).__name__}; expected a tensor or a dict of tensors.")


def tensor_to_array(tensor: Any) -> NDArray[Any]:
    """Read a torch-like tensor: off the graph, off the device, bfloat16 widened."""
    tensor = tensor.detach()
    if hasattr(tensor, "cpu"):
        tensor = tensor.cpu()
    if str(tensor.dtype).endswith("bfloat16"):  # NumPy has no such type
        tensor = tensor.float()
    return np.asarray(tensor.numpy())
