"""GPU engines that run where there is no GPU: ordinary operations, and kernels interpreted."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (make test-gpu installs it)")

from precall.engines.gpu.engine import GpuEngine  # noqa: E402
from precall.engines.gpu.plain import PlainTiles  # noqa: E402

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
HAS_GPU = torch.cuda.is_available()


def little_room():
    """Small tiles, short lists of pairs, and sets that are sent part by part."""
    return GpuEngine("cpu", tiles=PlainTiles(64 * 1500, most_pairs=700), room=2**17, fits=0)


if IS_INTERPRETED:
    GPU_ENGINES = {"kernels, interpreted": lambda: GpuEngine("cpu")}
else:
    GPU_ENGINES = {
        "plain": lambda: GpuEngine("cpu", tiles=PlainTiles()),
        "plain, little room": little_room,
    }
if HAS_GPU:
    GPU_ENGINES = {
        "gpu": lambda: GpuEngine("cuda"),
        "gpu, plain": lambda: GpuEngine("cuda", tiles=PlainTiles()),
        "gpu, little room": lambda: GpuEngine("cuda", room=2**20, fits=0),
    }
