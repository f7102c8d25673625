"""Tiles by the kernels of Triton."""

import math
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from precall.engines.gpu import kernels
from precall.engines.gpu.levels import Approximation, Level, rounded_down, rounded_up
from precall.engines.gpu.placing import honest_loss, padded
from precall.engines.gpu.scale import Scale
from precall.engines.gpu.tiles import MOST_PAIRS, Limits, Lists, Pairs, Tally
from precall.runtime.compiling import compiling, private_folder

_PAIRS_A_PROGRAM = 128
_SMALL = 1024  # rows or columns that large blocks would leave idle
_COPIES_BLOCKS = (9, 0)  # compute capability


def _shape(m: int, n: int, k: int, warps: int, stages: int) -> dict[str, Any]:
    sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}
    return sizes | {"num_warps": warps, "num_stages": stages}


_SQUARE, _MIRRORED = _shape(128, 128, 64, 4, 3), _shape(64, 128, 64, 4, 4)
_LITTLE = _shape(64, 64, 64, 4, 3)
_DOUBLE = _shape(64, 64, 16, 4, 3)
_EXACT = _shape(128, 64, 16, 4, 1) | {"enable_fp_fusion": False}  # no addition may be fused
_INTERPRETED = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 64, "GROUP": 4}


def keep_kernels() -> None:
    """Have Triton keep what it compiles in a temporary folder, where its own cannot be written."""
    try:
        folder = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return
    except (OSError, RuntimeError):  # nobody may write there, or there is no home
        pass
    os.environ["TRITON_CACHE_DIR"] = private_folder()


class FusedTiles:
    """One kernel a question: no Q is ever written to memory.

    Parameters
    ----------
    device
        Where the kernels run; on the CPU they are interpreted.
    most_pairs
        That one list of pairs holds.
    """

    def __init__(self, device: torch.device, most_pairs: int = MOST_PAIRS) -> None:
        self.device, self.most_pairs = device, most_pairs
        self.is_compiled = device.type != "cpu"
        self._launched: set[tuple[Any, ...]] = set()  # kernels, as they are specialised
        if self.is_compiled:
            keep_kernels()
        self.copies_blocks = (
            device.type == "cuda"
            and torch.version.hip is None
            and torch.cuda.get_device_capability(device) >= _COPIES_BLOCKS
        )

    def halve(self, rows: Tensor, scale: Scale) -> Approximation:
        """See :class:`Tiles`."""
        (n, d), width = rows.shape, padded(rows.shape[1])
        q = torch.empty((n, width), dtype=torch.float16, device=self.device)
        norm = torch.empty(n, dtype=torch.float64, device=self.device)
        lost, length = torch.empty_like(norm), torch.empty_like(norm)
        per_step = torch.tensor([1 / scale.step], dtype=torch.float64, device=self.device)
        if n:
            block = min(1024, width if width & (width - 1) == 0 else 1 << width.bit_length())
            self._run(
                kernels.halve_kernel, (n,),
                rows.contiguous(), scale.center, q, norm, lost, length, d, width, per_step,
                BLOCK=block,
            )  # fmt: skip
        lost = torch.zeros_like(lost) if scale.is_exact else honest_loss(lost, length, d)
        return Approximation(Level.HALF, q, norm, lost)

    def _run(self, kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
        """Launch a kernel; where it may have to be compiled first, that is announced."""
        types = (a.dtype for a in arguments if isinstance(a, Tensor))
        known = kernel.fn.__name__, *types, *sorted(constants.items())
        with nullcontext() if known in self._launched else compiling():
            kernel[grid](*arguments, **constants)
        self._launched.add(known)

    def _launch(
        self,
        kernel: Any,
        a: Approximation,
        b: Approximation,
        *arguments: Any,
        half: dict[str, Any] = _SQUARE,
        **constants: Any,
    ) -> None:
        """Run a kernel over all blocks of two sides; ``arguments`` follow those of the sides.

        ``half`` is the shape of blocks that serves the kernel in float16.
        """
        m, n, level = len(a), len(b), a.level
        if not m or not n:
            return
        if not self.is_compiled:
            shape = _INTERPRETED
        elif level is Level.HALF:
            shape = half if min(m, n) >= _SMALL else _LITTLE
        else:
            shape = _DOUBLE if level is Level.DOUBLE else _EXACT
        copied = self.copies_blocks and level is Level.HALF
        sides = (a.values, b.values) if not copied else _descriptors(a.values, b.values, shape)
        dtype = torch.float32 if level is Level.HALF else torch.float64
        norms = a.norm.to(dtype), b.norm.to(dtype)
        self._run(
            kernel, kernels.grid_of(m, n, shape), *sides, *map(_aligned, (*norms, *arguments)),
            LEVEL=int(level), COPIED=copied, **constants, **shape,
        )  # fmt: skip

    def dense(self, a: Approximation, b: Approximation) -> Tensor:
        """See :class:`Tiles`."""
        dtype = torch.float32 if a.level is Level.HALF else torch.float64
        out = torch.empty((len(a), len(b)), dtype=dtype, device=self.device)
        self._launch(kernels.dense_kernel, a, b, out, *_sizes(a, b))
        return out

    def near(
        self,
        a: Approximation,
        b: Approximation,
        limits: Tensor,
        lists: Lists,
        first: int,
        *,
        symmetric: bool = False,
        or_within: Tensor | None = None,
    ) -> None:
        """See :class:`Tiles`."""
        either = or_within is not None
        self._launch(
            kernels.near_kernel, a, b, limits.contiguous(), or_within if either else limits,
            lists.n_found, lists.keys, lists.places, *_sizes(a, b), first, lists.capacity,
            half=_MIRRORED if symmetric else _SQUARE, SYMMETRIC=symmetric, EITHER=either,
        )  # fmt: skip

    def tally(
        self, a: Approximation, b: Approximation, own: Limits, others: Limits, *, both: bool
    ) -> Tally:
        """See :class:`Tiles`."""
        n_own, n_others = len(own.inner), len(others.inner)
        counts = {"dtype": torch.int32, "device": self.device}
        of_rows = torch.zeros((n_own + n_others, len(a)), **counts)
        of_columns = torch.zeros((n_own + n_others, len(b) if both else 0), **counts)
        room = _Room(self.most_pairs, self.device)
        self._launch(
            kernels.tally_kernel, a, b, own.inner, own.outer, others.inner, others.outer,
            of_rows, of_columns, room.n, room.rows, room.columns,
            *_sizes(a, b), n_own, n_others, self.most_pairs,
            BOTH=both, SHARP=own.inner is own.outer,
        )  # fmt: skip
        return Tally(of_rows.long(), of_columns.long(), room.found)

    def best_ratio(
        self, a: Approximation, b: Approximation, weights: Tensor, offset: float, doubt: Tensor
    ) -> Tensor:
        """See :class:`Tiles`."""
        is_half = a.level is Level.HALF
        dtype = torch.float32 if is_half else torch.float64
        bits = torch.zeros(
            len(b), dtype=torch.int32 if is_half else torch.int64, device=self.device
        )
        error, lost = rounded_up(doubt, dtype)
        added = rounded_up(torch.tensor([offset], dtype=torch.float64, device=self.device), dtype)
        weights = rounded_down(weights, dtype)
        self._launch(kernels.ratio_kernel, a, b, weights, bits, added, error, lost, *_sizes(a, b))
        return bits.view(dtype).double()

    def ratio_pairs(
        self, a: Approximation, b: Approximation, weights: Tensor, best: Tensor, doubt: Tensor
    ) -> Pairs:
        """See :class:`Tiles`."""
        dtype = torch.float32 if a.level is Level.HALF else torch.float64
        error, lost = rounded_up(doubt, dtype)
        room = _Room(self.most_pairs, self.device)
        self._launch(
            kernels.ratio_pairs_kernel, a, b, rounded_up(weights, dtype), rounded_down(best, dtype),
            error, lost, room.n, room.rows, room.columns, *_sizes(a, b), self.most_pairs,
        )  # fmt: skip
        return room.found

    def canonical(self, rows: Tensor, i: Tensor, others: Tensor, j: Tensor) -> Tensor:
        """See :class:`Tiles`."""
        out = torch.empty(len(i), dtype=torch.float64, device=self.device)
        if len(i):
            d, is_single = rows.shape[1], rows.dtype == others.dtype == torch.float32
            at_once = 1 if d % 16 else 4 if is_single else 2
            options = {"enable_fp_fusion": False} if self.is_compiled else {}
            self._run(
                kernels.canonical_kernel, (math.ceil(len(i) / _PAIRS_A_PROGRAM),),
                rows, others, i, j, out, len(i), d,
                BLOCK=_PAIRS_A_PROGRAM, AT_ONCE=at_once, **options,
            )  # fmt: skip
        return out


def _descriptors(a: Tensor, b: Tensor, shape: dict[str, Any]) -> tuple[Any, Any]:
    """Describe both sides to devices that copy blocks by themselves."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    width = shape["BLOCK_K"]
    return (
        TensorDescriptor.from_tensor(a, [shape["BLOCK_M"], width]),
        TensorDescriptor.from_tensor(b, [shape["BLOCK_N"], width]),
    )


class _Room:
    """Room for pairs that programs append to."""

    def __init__(self, capacity: int, device: torch.device) -> None:
        self.n = torch.zeros(1, dtype=torch.int64, device=device)
        self.rows, self.columns = torch.empty((2, capacity), dtype=torch.int32, device=device)

    @property
    def found(self) -> Pairs:
        n = int(self.n)
        return Pairs(self.rows[:n].long(), self.columns[:n].long(), n)


def _aligned(argument: Any) -> Any:
    """Copy a tensor that starts within a word of sixteen bytes: kernels are compiled for those."""
    if isinstance(argument, Tensor) and argument.data_ptr() % 16:
        return argument.clone()
    return argument


def _sizes(a: Approximation, b: Approximation) -> tuple[int, int, int]:
    """Rows, columns, and how many values each has."""
    return len(a), len(b), a.values.shape[0 if a.level is Level.EXACT else 1]
