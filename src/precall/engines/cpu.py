"""The CPU engine: an exact integer filter first, float64 where it leaves a doubt.

Each statistic is that of ``reference.py``, to the bit; only the way there differs. Rows are placed
on an integer grid (``_grid``), compared tile by tile in registers (``_tiles``), and the few pairs
that the grid's error bound leaves open are measured (``_cpu_nearest``, ``_cpu_counts``). Work is
cut into chunks of queries, which threads take in any order.

Extra memory: four bytes a value of both sets (their integers, and the fit sets packed), what the
result holds, and for each thread one chunk of queries with its candidates; nothing that grows with
n · m. Memory-mapped float32 or float64 input in C order is never copied whole.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.engines._cpu_counts import Thresholds, count_cross, count_near
from precall.engines._cpu_nearest import Candidates, collect_nearest, kth_distances
from precall.engines._cpu_pairs import Bound, Queries, References, Tiles
from precall.engines._grid import Grid, GridRows
from precall.engines._kernel_choice import Kernel, best_kernel
from precall.engines._tiles import MIN_LIMIT, PAD_NORM, pack, pad
from precall.engines.base import Meter, Progress, mean_radius, n_threads
from precall.features import Rows
from precall.neighbors import Ball, NeighborPlan, NeighborStatistics, Request
from precall.split import FitEval

__all__ = ["CpuEngine"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Radii = dict[int, Floats]  # k -> (n_references,) squared radius of each reference's own ball
S = TypeVar("S")
T = TypeVar("T")

_CHUNK_BYTES = 384 * 1024  # of packed queries: they stay in the second-level cache
_CHUNK_PRODUCTS = 2 * 10**10  # under a second: the grain of progress and of Ctrl-C
_CHUNKS_PER_THREAD = 4
_CAPACITY_PER_NEIGHBOR = 4
_LEAST_CAPACITY = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """Rows on the grid, ready for the tile kernels."""

    base: NDArray[Any]  # (n_stored, d), read-only
    rows: NDArray[np.intp]  # (n,) the stored row of each
    panels: NDArray[np.int16]
    norm: NDArray[np.int32]  # (n_padded,) ‖q‖²
    error: Floats  # (n,) ρ in steps

    @classmethod
    def of(cls, base: NDArray[Any], rows: NDArray[np.intp], placed: GridRows, height: int) -> Self:
        norm = pad(placed.norm, height, PAD_NORM)
        return cls(base, rows, pack(placed.q, height), norm, placed.error)

    @property
    def queries(self) -> Queries:
        return Queries(self.base, self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The references of one class: most on the grid, a few too far out for it."""

    packed: _Packed
    places: NDArray[np.intp]  # (n_near,) of the packed ones in the fit set
    far_places: NDArray[np.intp]  # (n_far,)
    far_rows: NDArray[np.intp]  # (n_far,) as stored
    never: NDArray[np.int32]  # (n_padded,) limits that no pair meets

    @classmethod
    def of(cls, rows: Rows, placed: GridRows, base: NDArray[Any], kernel: Kernel) -> Self:
        stored = _stored(rows)
        near, far = np.flatnonzero(~placed.is_far), np.flatnonzero(placed.is_far)
        near = np.random.default_rng(0).permutation(near)  # collect_nearest wants no order in them
        packed = _Packed.of(base, stored[near], placed.select(near), kernel.cols)
        never = np.full_like(packed.norm, MIN_LIMIT)
        return cls(packed, near, far, stored[far], never)

    @property
    def largest_error(self) -> float:
        return float(self.packed.error.max(initial=0.0))

    @property
    def references(self) -> References:
        return References(self.packed.base, self.packed.rows, self.far_rows)

    def thresholds(self, of_query: Floats, own: list[Floats]) -> Thresholds:
        """Arrange the balls of queries (n_balls, n_queries) and those of all references."""
        n_fit = len(self.places) + len(self.far_places)
        of_fit = np.array(own, np.float64).reshape(len(own), n_fit)
        near, far = of_fit[:, self.places], of_fit[:, self.far_places]
        return Thresholds(np.ascontiguousarray(of_query), near.copy(), far.copy())


class CpuEngine:
    """Exact statistics at about the cost of the matrix products that they need.

    Parameters
    ----------
    kernel
        ``"avx512"``, ``"avx2"`` or ``"portable"``; by default the best of this machine.
    chunk
        Queries in a chunk; by default what fits the cache. Changes no number.
    """

    name = "cpu"

    def __init__(self, kernel: str | None = None, chunk: int | None = None) -> None:
        self.kernel = best_kernel(kernel)
        self.chunk = chunk

    def measure(
        self,
        real: FitEval,
        generated: FitEval,
        plan: NeighborPlan,
        *,
        threads: int | None,
        progress: Progress,
    ) -> NeighborStatistics:
        """See :meth:`precall.engines.Engine.measure`."""
        meter = Meter(real, generated, plan, progress)
        return _Measurement(self, real, generated, plan, n_threads(threads), meter).statistics()


class _Measurement:
    """One call of :meth:`CpuEngine.measure`."""

    def __init__(
        self,
        engine: CpuEngine,
        real: FitEval,
        generated: FitEval,
        plan: NeighborPlan,
        threads: int,
        meter: Meter,
    ) -> None:
        self.engine, self.plan, self.threads, self.meter = engine, plan, threads, meter
        self.sides = (real, generated)
        self.bases = _bases(real, generated)
        distinct = {id(rows): rows for side in self.sides for rows in (side.fit, side.evaluated)}
        self.grid = Grid.around([*distinct.values()])
        in_order = _in_threads(
            lambda key: self.grid.place_all(distinct[key]), distinct, self.threads
        )
        self.placed = dict(zip(distinct, in_order, strict=True))
        self.fits = _in_threads(self._fit, (0, 1), threads)
        self.radii = self._own_radii()
        self.mean_thresholds = [
            {k: _largest_square_within(mean_radius(squared)) for k, squared in radii.items()}
            for radii in self.radii
        ]

    def _fit(self, c: int) -> _Fit:
        rows = self.sides[c].fit
        return _Fit.of(rows, self.placed[id(rows)], self.bases[c], self.engine.kernel)

    def statistics(self) -> NeighborStatistics:
        """Judge every chunk of queries, then count between the classes."""
        judged = self._over_chunks([side.evaluated for side in self.sides], self._judge)
        counted = NeighborStatistics.concat([part for parts in judged for part in parts])
        cross = self._cross()
        return NeighborStatistics(counted.is_real, counted.counts, counted.squared_reach, cross)

    # Chunks and threads

    def _over_chunks(
        self, classes: Sequence[Rows], work: Callable[[int, _Packed, slice], T]
    ) -> list[list[T]]:
        """Do ``work`` on every chunk of each class's queries; results in order, class by class."""

        def task(chunk: tuple[int, slice]) -> T:
            c, part = chunk
            placed = self.placed[id(classes[c])].select(part)
            height = self.engine.kernel.rows
            return work(c, _Packed.of(self.bases[c], stored[c][part], placed, height), part)

        stored = [_stored(rows) for rows in classes]
        chunks = [[(c, part) for part in self._chunks(rows)] for c, rows in enumerate(classes)]
        done = iter(_in_threads(task, itertools.chain(*chunks), self.threads))
        return [list(itertools.islice(done, len(of_class))) for of_class in chunks]

    def _chunks(self, rows: Rows) -> list[slice]:
        size = self.engine.chunk or self._chunk_size(rows)
        return [slice(start, start + size) for start in range(0, len(rows), size)]

    def _chunk_size(self, rows: Rows) -> int:
        most_references = max(len(fit.places) for fit in self.fits)
        height = self.engine.kernel.rows
        size = min(
            _CHUNK_BYTES // (2 * rows.n_features),
            _CHUNK_PRODUCTS // (rows.n_features * most_references + 1),
            math.ceil(len(rows) / (_CHUNKS_PER_THREAD * self.threads)),
        )
        return max(1, size // height) * height

    # Sweep 1

    def _candidates(self, queries: _Packed, fit: _Fit, label: int, depth: int) -> Candidates:
        capacity = max(_LEAST_CAPACITY, _CAPACITY_PER_NEIGHBOR * depth)
        n = len(queries.rows)
        distances, codes = np.empty((2, n, capacity), np.int32)
        found = Candidates(distances, codes, np.empty(n, np.int64))
        collect_nearest(
            self._tiles(queries, fit),
            label,
            fit.never,
            len(fit.places),
            queries.error + fit.largest_error,
            depth,
            self.grid.slack.relative,
            found,
        )
        return found

    def _kth(self, queries: _Packed, fits: list[_Fit], ks: tuple[int, ...]) -> Floats:
        """Squared distances to the k-th nearest of a class: (n, 1, n_ks).

        Of two classes: of the one, of the other and of both, (n, 3, n_ks).
        """
        out = np.empty((len(queries.rows), 1 if len(fits) == 1 else 3, len(ks)))
        found = [self._candidates(queries, fit, c, max(ks)) for c, fit in enumerate(fits)]
        kth_distances(
            queries.queries,
            (fits[0].references, fits[-1].references),
            (found[0], found[-1]),
            np.array(ks),
            queries.error + max(fit.largest_error for fit in fits),
            self._bound(queries, fits[0]),
            out,
        )
        return out

    def _own_radii(self) -> list[Radii]:
        """Squared distance of every reference to its k-th neighbour in its class, less itself."""
        ks = tuple(k + 1 for k in self.plan.radius_ks)  # a point is its own nearest
        if not ks:
            return [{}, {}]

        def work(c: int, queries: _Packed, part: slice) -> Floats:
            found = self._kth(queries, [self.fits[c]], ks)[:, 0]
            self.meter.advance(len(queries.rows) * len(self.sides[c].fit))
            return found

        squared = map(np.concatenate, self._over_chunks([side.fit for side in self.sides], work))
        return [
            {k: of_class[:, i].copy() for i, k in enumerate(self.plan.radius_ks)}
            for of_class in squared
        ]

    def _reach(self, queries: _Packed) -> dict[Request, Floats]:
        """Squared radius around each query, for each ball that is centred on it: (n, 2)."""
        ks = self.plan.reach_ks
        if not ks:
            return {}
        to_real, to_generated, to_union = self._kth(queries, self.fits, ks).transpose(1, 2, 0)
        self.meter.advance(len(queries.rows) * sum(len(side.fit) for side in self.sides))
        reach: dict[Request, Floats] = {}
        for ball, k in self.plan.requests:
            if ball is Ball.OPPOSITE:
                at = ks.index(k)
                reach[ball, k] = np.stack([to_generated[at], to_real[at]], axis=1)
            elif ball is Ball.UNION:
                reach[ball, k] = np.stack([to_union[ks.index(k)]] * 2, axis=1)
        return reach

    # Sweep 2

    def _judge(self, c: int, queries: _Packed, part: slice) -> NeighborStatistics:
        """Find and count everything around one chunk of queries of class ``c``."""
        n = len(queries.rows)
        reach = self._reach(queries)
        counts = {request: np.empty((n, 2), np.int64) for request in self.plan.requests}
        for other in (0, 1):
            for request, count in self._count(queries, other, reach).items():
                counts[request][:, other] = count
        return NeighborStatistics(np.full(n, c == 0), counts, reach)

    def _count(
        self, queries: _Packed, other: int, reach: dict[Request, Floats]
    ) -> dict[Request, Counts]:
        """Count the references of class ``other`` near each query."""
        if not self.plan.requests:
            return {}
        n, fit = len(queries.rows), self.fits[other]
        around_query = {request: squared[:, other] for request, squared in reach.items()}
        for k in self.plan.ks(Ball.MEAN):
            around_query[Ball.MEAN, k] = np.full(n, self.mean_thresholds[other][k])
        around_reference = {
            (Ball.REFERENCE, k): self.radii[other][k] for k in self.plan.ks(Ball.REFERENCE)
        }
        of_query = np.array([*around_query.values()]).reshape(len(around_query), n)
        counts = np.empty((n, len(around_query) + len(around_reference)), np.int64)
        count_near(
            *self._pair(queries, fit),
            fit.thresholds(of_query, [*around_reference.values()]),
            counts,
        )
        self.meter.advance(n * len(self.sides[other].fit))
        return dict(zip([*around_query, *around_reference], counts.T, strict=True))

    def _cross(self) -> dict[int, Counts]:
        """Count between the classes who is in whose own ball, both sides at once."""
        ks = sorted(self.plan.cross_ks)
        if not ks:
            return {}
        rows, fit = self.sides[0].fit, self.fits[1]
        by_generated = np.zeros((len(self.sides[1].fit), len(ks), 2), np.int64)
        lock = Lock()
        own = np.array([self.radii[0][k] for k in ks])

        def work(_: int, queries: _Packed, part: slice) -> Counts:
            n = len(queries.rows)
            thresholds = fit.thresholds(own[:, part], [self.radii[1][k] for k in ks])
            by_query = np.zeros((n, len(ks), 2), np.int64)
            by_near = np.zeros((len(fit.places), len(ks), 2), np.int64)
            by_far = np.zeros((len(fit.far_places), len(ks), 2), np.int64)
            count_cross(*self._pair(queries, fit), thresholds, by_query, by_near, by_far)
            with lock:
                by_generated[fit.places] += by_near
                by_generated[fit.far_places] += by_far
            self.meter.advance(n * len(by_generated))
            return by_query

        (parts,) = self._over_chunks([rows], work)
        by_real = np.concatenate(parts)
        both = np.concatenate([by_real, by_generated])
        return {k: both[:, i].copy() for i, k in enumerate(ks)}

    # What the kernels want to know

    def _tiles(self, queries: _Packed, fit: _Fit) -> Tiles:
        packed, kernel = fit.packed, self.engine.kernel
        return Tiles(kernel.code, queries.panels, packed.panels, queries.norm, packed.norm)

    def _bound(self, queries: _Packed, fit: _Fit) -> Bound:
        grid, errors = self.grid, (queries.error, fit.packed.error)
        largest = float(queries.error.max()), fit.largest_error
        return Bound(*errors, *largest, grid.step, grid.slack.relative, grid.slack.absolute)

    def _pair(self, queries: _Packed, fit: _Fit) -> tuple[Any, ...]:
        """The arguments that both counting kernels begin with."""
        return (
            self._tiles(queries, fit),
            self._bound(queries, fit),
            queries.queries,
            fit.references,
        )


def _in_threads(task: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Run ``task`` on every item and return the results in order; stop at the first error."""
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(task, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C, too: what has not begun never will
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _stored(rows: Rows) -> NDArray[np.intp]:
    return np.arange(len(rows)) if rows.selection is None else rows.selection


def _bases(*sides: FitEval) -> list[NDArray[Any]]:
    """The arrays that hold each class, of one type, so that one compiled kernel serves all."""
    dtype = np.result_type(*(side.fit.array.dtype for side in sides))
    bases = []
    for side in sides:
        base = np.ascontiguousarray(side.fit.array, dtype=dtype).view(np.ndarray).view()
        base.flags.writeable = False
        bases.append(base)
    return bases


def _largest_square_within(radius: float) -> float:
    """The largest float whose square root is at most ``radius``: √d² ≤ ρ as a test of d²."""
    squared = radius * radius
    while math.sqrt(squared) > radius:
        squared = math.nextafter(squared, 0.0)
    while math.sqrt(math.nextafter(squared, math.inf)) <= radius:
        squared = math.nextafter(squared, math.inf)
    return squared
