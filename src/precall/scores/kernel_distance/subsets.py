"""Unbiased MMD² of random subsets, in float32 where that cannot be told from float64.

Kernel matrices are summed tile by tile, each product single-threaded and each subset in one thread,
so that no number depends on how many threads there are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.engines.protocol import Operand, Session
from precall.errors import InputError
from precall.runtime.threads import in_threads, single_threaded_libraries

Floats = NDArray[np.float64]
Dtype = type[np.float32] | type[np.float64]
Pair = tuple[Rows, Rows]  # as many real samples as generated ones

N_SUBSETS = 100
_ROWS_AT_A_TIME = 250  # so many rows and columns of a kernel matrix stay in the cache;
_MANY_FEATURES = 256  # beyond these
_ROWS_OF_MANY = 1000  # the larger products are the faster ones nevertheless
_N_CENTRAL = 8  # samples of each class that the centre is the median of
_N_TRIALS = 4  # subsets that are measured in both precisions
_TOLERANCE = 1e-5  # of the standard deviation between subsets: the error that these may have
_FAR = 10  # such standard deviations


@dataclass(frozen=True, slots=True)
class KernelDistance:
    """Mean and standard deviation over subsets."""

    mean: float
    standard_deviation: float | None  # None where each subset is a whole class
    subset_size: int


def kernel_distance(
    session: Session,
    real: FeatureSet,
    generated: FeatureSet,
    *,
    n_subsets: int = N_SUBSETS,
    subset_size: int = 1000,
    seed: int = 0,
) -> KernelDistance:
    """Unbiased MMD² with the kernel (xᵀy/d + 1)³ over random subsets (KID, Bińkowski 2018).

    Where a class has no more than ``subset_size`` samples all subsets are of its size; they then
    say nothing of the spread.
    """
    size = min(subset_size, len(real), len(generated))
    if size < 2:
        raise InputError(f"a kernel distance needs at least 2 samples of each class; got {size}.")
    is_whole = size == len(real) == len(generated)  # then all subsets are the same
    rngs = np.random.default_rng(seed).spawn(1 if is_whole else n_subsets)

    def draw(rng: np.random.Generator) -> Pair:
        x, y = (
            features.select(np.sort(rng.choice(len(features), size, replace=False)))
            for features in (real, generated)
        )
        return x, y

    with single_threaded_libraries():
        values = _measure(session, rngs, draw)
    is_random = size < min(len(real), len(generated))
    return KernelDistance(float(values.mean()), float(values.std()) if is_random else None, size)


def _measure(
    session: Session,
    rngs: list[np.random.Generator],
    draw: Callable[[np.random.Generator], Pair],
) -> Floats:
    """MMD² of a subset from each generator: the first in float64, the others in float32 if it does.

    Whether it does is measured. A product in float32 has an error of some 10⁻⁷ of its size,
    independent of those of the other 10⁶ in a subset; how much that is of the MMD² depends on how
    much cancels. The first subsets are drawn like the others, so that their errors are like the
    others', too. If these are small beside the standard deviation between subsets, so are those of
    the mean over all subsets and of the standard deviation: usually some 10⁻⁸ of the latter.
    """
    if len(rngs) <= 4 * _N_TRIALS:
        every = in_threads(lambda rng: _mmd(session, draw(rng), np.float64), rngs, session.threads)
        return np.array(every)

    def try_both(rng: np.random.Generator) -> tuple[float, float]:
        pair = draw(rng)
        return _mmd(session, pair, np.float64), _mmd(session, pair, np.float32)

    tried, quick = np.array(in_threads(try_both, rngs[:_N_TRIALS], session.threads)).T
    with np.errstate(over="ignore"):
        middle, deviation = float(tried.mean()), float(tried.std())
    is_good = bool(np.abs(tried - quick).max() <= _TOLERANCE * deviation)  # not if it overflows

    def measure(rng: np.random.Generator) -> float:
        pair = draw(rng)
        value = _mmd(session, pair, np.float32) if is_good else math.nan
        # One with an outlier, say, is not like those that were tried.
        is_like_tried = abs(value - middle) <= _FAR * deviation
        return value if is_like_tried else _mmd(session, pair, np.float64)

    return np.concatenate([tried, in_threads(measure, rngs[_N_TRIALS:], session.threads)])


def _mmd(session: Session, pair: Pair, dtype: Dtype) -> float:
    """Unbiased MMD² with the kernel (xᵀy/d + 1)³, of products in some precision.

    With x = c + p and y = c + q around a common centre c,

        xᵀy + d = pᵀq + (cᵀp + cᵀq) + (cᵀc + d),

    of which only pᵀq is computed for each pair, in the given precision, so that an offset costs no
    digits there. The cube of the last term is that of every pair and cancels between the three
    means: it is left out, and costs no digits either.
    """
    size, d = len(pair[0]), pair[0].n_features
    center = central(*pair)
    constant = float(center @ center) + d
    with np.errstate(over="ignore", invalid="ignore"):  # who asks for float32 looks at the result
        one, other = (_Side.around(session, center, rows, dtype) for rows in pair)
        within = sum(_sum_over_pairs(session, side, side, constant) for side in (one, other))
        between = _sum_over_pairs(session, one, other, constant)
    return float(within / (size * (size - 1)) - 2 * between / size**2) / float(d**3)


def central(x: Rows, y: Rows) -> Floats:
    """A median of some samples: no outlier moves it, which would cost the others their digits."""
    some = []
    for rows in (x, y):
        chosen = rows.select(np.arange(0, len(rows), -(-len(rows) // _N_CENTRAL)))
        some.append(chosen.tile(0, len(chosen)).astype(np.float64))
    return np.asarray(np.median(np.concatenate(some), axis=0))


def along(rows: Rows, center: Floats) -> Floats:
    """Products of the centre with rows less the centre, (n,)."""
    return np.asarray((rows.tile(0, len(rows)) - center) @ center)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Samples of one class around the common centre."""

    rest: Operand
    along: Floats  # (n,) products of the rest with the centre

    @classmethod
    def around(cls, session: Session, center: Floats, rows: Rows, dtype: Dtype) -> "_Side":
        """Take the centre off the rows."""
        return cls(session.operand(rows, center, dtype), along(rows, center))


def _sum_over_pairs(session: Session, one: _Side, other: _Side, constant: float) -> float:
    """Sum over all pairs, of a side with itself over those of different samples."""
    from precall.scores.kernel_distance.cubes import sum_of_cubes

    is_same, n = one is other, len(one.rest)
    step = _ROWS_AT_A_TIME if one.rest.rows.shape[1] <= _MANY_FEATURES else _ROWS_OF_MANY
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    buffer = np.empty(min(step, n) ** 2, dtype=one.rest.norms.dtype)
    sums = []
    for i, rows in enumerate(parts):
        for columns in parts[i:] if is_same else parts:  # what is below the diagonal is above it
            shape = rows.stop - rows.start, columns.stop - columns.start
            out = buffer[: math.prod(shape)].reshape(shape)
            products = session.products(one.rest, rows, other.rest, columns, out=out)
            offsets = one.along[rows], other.along[columns]
            sums.append(sum_of_cubes(products, *offsets, constant, is_same and rows == columns))
    return float(np.sum(sums)) * (2 if is_same else 1)
