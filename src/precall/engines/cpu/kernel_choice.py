"""Which tile kernels there are, and which of them this machine can run."""

from typing import NamedTuple

import llvmlite.binding as llvm

from precall.errors import InputError

AVX512, AVX2, PORTABLE = 0, 1, 2  # tiles of integers
AVX512_DIRECT, AVX2_DIRECT, PORTABLE_DIRECT = 3, 4, 5  # tiles of float64 differences


class TileShape(NamedTuple):
    """A tile as a kernel computes it: ``code`` is what the jitted functions branch on."""

    code: int
    rows: int  # rows of A per panel
    cols: int  # rows of B per panel, at most 32 (a hit mask is one uint32)


class Kernel(NamedTuple):
    """The tile kernels of one kind of machine."""

    name: str
    grid: TileShape
    direct: TileShape
    cpu: str  # LLVM target the code is generated for
    needs: tuple[str, ...]  # CPU features, by their LLVM names

    def shape(self, *, is_direct: bool) -> TileShape:
        """The tile of float64 differences, or that of integers."""
        return self.direct if is_direct else self.grid


_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # what x86-64-v3 adds to v2
_V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")  # and v4 to v3

_AVX512_TILES = TileShape(AVX512, 12, 32), TileShape(AVX512_DIRECT, 12, 16)
_AVX2_TILES = TileShape(AVX2, 6, 16), TileShape(AVX2_DIRECT, 6, 8)
_PORTABLE_TILES = TileShape(PORTABLE, 8, 32), TileShape(PORTABLE_DIRECT, 8, 32)
KERNELS = {
    "avx512": Kernel("avx512", *_AVX512_TILES, "x86-64-v4", (*_V3, *_V4, "avx512vnni")),
    "avx2": Kernel("avx2", *_AVX2_TILES, "x86-64-v3", _V3),
    "portable": Kernel("portable", *_PORTABLE_TILES, "", ()),
}


def is_supported(kernel: Kernel) -> bool:
    """Tell whether this machine has the CPU features that the kernel needs."""
    if not kernel.needs:
        return True
    try:
        features: dict[str, bool] = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot tell on this machine
        return False
    return all(features.get(feature, False) for feature in kernel.needs)


def best_kernel(name: str | None = None) -> Kernel:
    """Return the fastest supported kernel, or the one that is named."""
    if name is None:
        return next(kernel for kernel in KERNELS.values() if is_supported(kernel))
    kernel = KERNELS[name]
    if not is_supported(kernel):
        raise InputError(f"kernel={name!r} needs a CPU with {', '.join(kernel.needs)}.")
    return kernel
