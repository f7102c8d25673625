"""The CPU engine: an exact integer filter first, float64 where it leaves a doubt.

Each statistic is that of ``reference.py``, to the bit; only the way there differs. Rows are placed
on an integer grid (``_grid``), compared tile by tile in registers (``_tiles``), and the few pairs
that the grid's error bound leaves open are measured (``_cpu_nearest``, ``_cpu_counts``). Work is
cut into chunks of queries, which threads take in any order.

Extra memory: four bytes a value of both sets (their integers, and the fit sets packed), what the
result holds, and for each thread one chunk of queries with its candidates; nothing that grows with
n · m. Memory-mapped float32 or float64 input in C order is never copied whole.
"""

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.data.splits import FitEval
from precall.engines.cpu.counts import count_near
from precall.engines.cpu.grid import Grid
from precall.engines.cpu.kernel_choice import best_kernel
from precall.engines.cpu.nearest import Candidates, collect_nearest, kth_distances
from precall.engines.cpu.pairs import Bound, Tiles
from precall.engines.cpu.relations import Best, Counted, Realism, relate
from precall.engines.cpu.rows import FitRows, PackedRows, bases, stored_rows
from precall.engines.cpu.soft import cover_softly
from precall.engines.protocol import Meter, Progress, n_threads
from precall.neighbors.radii import (
    clipped_thresholds,
    is_realism_candidate,
    mean_radius,
    soft_radius,
)
from precall.neighbors.statistics import (
    Ball,
    CrossPlan,
    CrossStatistics,
    NearestOther,
    NeighborPlan,
    NeighborStatistics,
    Request,
)
from precall.neighbors.tie_rules import largest_square_within
from precall.runtime.threads import in_threads

__all__ = ["CpuEngine"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Radii = dict[int, Floats]  # k -> (n_references,) squared radius of each reference's own ball
T = TypeVar("T")
_Key = tuple[int, bytes, tuple[int, ...]]  # an array, the rows of it, and ks

_CHUNK_BYTES = 384 * 1024  # of packed queries: they stay in the second-level cache
_CHUNK_PRODUCTS = 2 * 10**10  # under a second: the grain of progress and of Ctrl-C
_CHUNKS_PER_THREAD = 4
_CAPACITY_PER_NEIGHBOR = 4
_LEAST_CAPACITY = 64


def _key(rows: Rows, ks: tuple[int, ...]) -> _Key:
    selection = b"" if rows.selection is None else hashlib.sha256(rows.selection.tobytes()).digest()
    return id(rows.array), selection, ks


class CpuEngine:
    """Exact statistics at about the cost of the matrix products that they need.

    Parameters
    ----------
    kernel
        ``"avx512"``, ``"avx2"`` or ``"portable"``; by default the best of this machine.
    chunk
        Queries in a chunk; by default what fits the cache. Changes no number.
    remembers
        Whether to keep the radii of real balls, for more measurements with the same real samples.
    """

    name = "cpu"

    def __init__(
        self, kernel: str | None = None, chunk: int | None = None, *, remembers: bool = False
    ) -> None:
        self.kernel = best_kernel(kernel)
        self.chunk = chunk
        self.remembered: dict[_Key, Radii] | None = {} if remembers else None

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
        self.bases = bases(real, generated)
        distinct = {id(rows): rows for side in self.sides for rows in (side.fit, side.evaluated)}
        self.grid = Grid.around([*distinct.values()])
        in_order = in_threads(
            lambda key: self.grid.place_all(distinct[key]), distinct, self.threads
        )
        self.placed = dict(zip(distinct, in_order, strict=True))
        self.fits = in_threads(self._fit, (0, 1), threads)
        self.radii = self._own_radii()
        mean_ks = plan.ks(Ball.MEAN)
        self.mean_thresholds = [
            {k: float(largest_square_within(np.array(mean_radius(radii[k])))) for k in mean_ks}
            for radii in self.radii
        ]

    def _fit(self, c: int) -> FitRows:
        rows = self.sides[c].fit
        return FitRows.of(rows, self.placed[id(rows)], self.bases[c], self.engine.kernel)

    def statistics(self) -> NeighborStatistics:
        """Judge every chunk of queries, then count between the classes."""
        judged = self._over_chunks([side.evaluated for side in self.sides], self._judge)
        counted = NeighborStatistics.concat([part for parts in judged for part in parts])
        if self.plan.cross is None:
            return counted
        return replace(counted, cross=self._cross(self.plan.cross))

    # Chunks and threads

    def _over_chunks(
        self, classes: Sequence[Rows], work: Callable[[int, PackedRows, slice], T], first: int = 0
    ) -> list[list[T]]:
        """Do ``work`` on every chunk of each class's queries; results in order, class by class.

        Classes before ``first`` are left out.
        """

        def task(chunk: tuple[int, slice]) -> T:
            c, part = chunk
            placed = self.placed[id(classes[c])].select(part)
            height = self.engine.kernel.rows
            return work(c, PackedRows.of(self.bases[c], stored[c][part], placed, height), part)

        stored = [stored_rows(rows) for rows in classes]
        chunks = [
            [(c, part) for part in self._chunks(rows)] if c >= first else []
            for c, rows in enumerate(classes)
        ]
        done = iter(in_threads(task, itertools.chain(*chunks), self.threads))
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

    def _candidates(self, queries: PackedRows, fit: FitRows, label: int, depth: int) -> Candidates:
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

    def _kth(self, queries: PackedRows, fits: list[FitRows], ks: tuple[int, ...]) -> Floats:
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

        def work(c: int, queries: PackedRows, part: slice) -> Floats:
            found = self._kth(queries, [self.fits[c]], ks)[:, 0]
            self.meter.advance(len(queries.rows) * len(self.sides[c].fit))
            return found

        memory, key = self.engine.remembered, _key(self.sides[0].fit, ks)
        known = memory.get(key) if memory is not None else None
        classes = [side.fit for side in self.sides]
        found = self._over_chunks(classes, work, first=0 if known is None else 1)
        radii = [
            {k: np.concatenate(parts)[:, i].copy() for i, k in enumerate(self.plan.radius_ks)}
            for parts in found
            if parts
        ]
        if known is not None:
            return [known, *radii]
        if memory is not None:
            memory[key] = radii[0]
        return radii

    def _reach(self, queries: PackedRows) -> dict[Request, Floats]:
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

    def _judge(self, c: int, queries: PackedRows, part: slice) -> NeighborStatistics:
        """Find and count everything around one chunk of queries of class ``c``."""
        n = len(queries.rows)
        reach = self._reach(queries)
        counts = {request: np.empty((n, 2), np.int64) for request in self.plan.requests}
        for other in (0, 1):
            for request, count in self._count(queries, other, reach).items():
                counts[request][:, other] = count
        return NeighborStatistics(np.full(n, c == 0), counts, reach)

    def _count(
        self, queries: PackedRows, other: int, reach: dict[Request, Floats]
    ) -> dict[Request, Counts]:
        """Count the references of class ``other`` near each query."""
        if not self.plan.requests:
            return {}
        n, fit = len(queries.rows), self.fits[other]
        around_query = {request: squared[:, other] for request, squared in reach.items()}
        for k in self.plan.ks(Ball.MEAN):
            around_query[Ball.MEAN, k] = np.full(n, self.mean_thresholds[other][k])
        radii = self.radii[other]
        around_reference = {(Ball.REFERENCE, k): radii[k] for k in self.plan.ks(Ball.REFERENCE)}
        of_query = np.array([*around_query.values()]).reshape(len(around_query), n)
        counts = np.empty((n, len(around_query) + len(around_reference)), np.int64)
        count_near(
            *self._pair(queries, fit),
            fit.thresholds(of_query, [*around_reference.values()]),
            counts,
        )
        self.meter.advance(n * len(self.sides[other].fit))
        return dict(zip([*around_query, *around_reference], counts.T, strict=True))

    # Between the classes

    def _cross(self, plan: CrossPlan) -> CrossStatistics:
        ks, realism_ks, clipped_ks = map(sorted, (plan.ks, plan.realism_ks, plan.clipped_ks))
        of_real, of_generated, counts = self._relate(plan)
        around_generated = counts[len(of_real.squared) :, len(ks) :, 0]  # clipped balls
        clipped = np.concatenate([self._clipped_among_real(clipped_ks), around_generated])
        nearest, squared, holds = (
            np.concatenate([getattr(best, field) for best in (of_real, of_generated)])
            for field in ("nearest", "squared", "holds")
        )
        realism = {
            k: np.concatenate([np.full(len(of_real.squared), np.nan), of_generated.realism[:, i]])
            for i, k in enumerate(realism_ks)
        }
        return CrossStatistics(
            {
                k: np.concatenate([of_class[k] for of_class in self.radii])
                for k in sorted(plan.radius_ks)
            },
            {k: counts[:, i].copy() for i, k in enumerate(ks)},
            NearestOther(nearest, squared, {k: holds[:, i] for i, k in enumerate(ks)})
            if plan.nearest
            else None,
            realism,
            self._soft(sorted(plan.soft_ks)),
            {k: clipped[:, i].copy() for i, k in enumerate(clipped_ks)},
        )

    def _relate(self, plan: CrossPlan) -> tuple[Best, Best, Counts]:
        """Find the best of the other class, of real and of generated, and count both in balls.

        Balls are the own ones of both classes, then the clipped ones of real.
        """
        rows, fit = self.sides[0].fit, self.fits[1]
        n_balls = len(plan.ks) + len(plan.clipped_ks)
        wanted = plan.nearest or bool(plan.realism_ks)
        by_generated = np.zeros((len(self.sides[1].fit), n_balls, 2), np.int64)
        of_generated = Best.unknown(len(by_generated), n_balls, len(plan.realism_ks), wanted=wanted)
        own, of_fit = (
            [plan.tie_rule.thresholds(radii[k]) for k in sorted(plan.ks)] for radii in self.radii
        )
        own += [clipped_thresholds(self.radii[0][k]) for k in sorted(plan.clipped_ks)]
        of_fit += [np.full(len(by_generated), -1.0) for _ in plan.clipped_ks]
        realism = self._realism(plan)
        lock = Lock()

        def work(_: int, queries: PackedRows, part: slice) -> tuple[Best, Counts]:
            n = len(queries.rows)
            of_query = Best.unknown(n, n_balls, 0, wanted=wanted)
            with lock:
                of_near, of_far = map(of_generated.select, (fit.places, fit.far_places))
            counted = Counted(
                *(
                    np.zeros((size, n_balls, 2), np.int64)
                    for size in (n, len(fit.places), len(fit.far_places))
                )
            )
            around_query = np.array(own).reshape(n_balls, len(rows))[:, part]
            part_of_realism = realism._replace(squared_radii=realism.squared_radii[:, part].copy())
            relate(
                *self._pair(queries, fit), fit.by_place(slice(part.start, part.start + n)),
                fit.thresholds(around_query, of_fit), part_of_realism, counted,
                of_query, of_near, of_far,
            )  # fmt: skip
            with lock:
                by_generated[fit.places] += counted.by_near
                by_generated[fit.far_places] += counted.by_far
                of_generated.improve(fit.places, of_near)
                of_generated.improve(fit.far_places, of_far)
            self.meter.advance(n * len(by_generated))
            return of_query, counted.by_query

        (parts,) = self._over_chunks([rows], work)
        found, by_real = zip(*parts, strict=True)
        of_real = Best(*map(np.concatenate, zip(*found, strict=True)))
        return of_real, of_generated, np.concatenate([*by_real, by_generated])

    def _clipped_among_real(self, ks: list[int]) -> Counts:
        """Count the clipped balls of other real samples around each real one: (n, n_ks)."""
        rows, fit = self.sides[0].fit, self.fits[0]
        if not ks:
            return np.empty((len(rows), 0), np.int64)
        balls = [clipped_thresholds(self.radii[0][k]) for k in ks]

        def work(_: int, queries: PackedRows, part: slice) -> Counts:
            n = len(queries.rows)
            counts = np.empty((n, len(ks)), np.int64)
            count_near(*self._pair(queries, fit), fit.thresholds(np.empty((0, n)), balls), counts)
            self.meter.advance(n * len(rows))
            return counts - 1  # less its own

        (parts,) = self._over_chunks([rows], work)
        return np.concatenate(parts)

    def _realism(self, plan: CrossPlan) -> Realism:
        """Arrange the radii that the realism of generated samples is measured by."""
        radii = [self.radii[0][k] for k in sorted(plan.realism_ks)]
        kept = np.array(
            [np.where(is_realism_candidate(squared), squared, -1.0) for squared in radii]
        ).reshape(len(radii), len(self.sides[0].fit))
        return Realism(kept, kept.max(axis=1), plan.realism_offset)

    def _soft(self, ks: list[int]) -> dict[int, Floats]:
        """Cover each sample softly by the other class."""
        if not ks:
            return {}

        def work(c: int, queries: PackedRows, part: slice) -> Floats:
            rows, fit = self.sides[1 - c].fit, self.fits[1 - c]
            covered = np.empty((len(ks), len(queries.rows)))
            tiles, bound, query_rows, references = self._pair(queries, fit)
            cover_softly(
                tiles, bound, fit.never, query_rows, references, fit.by_place(part),
                stored_rows(rows),
                np.array([soft_radius(self.radii[1 - c][k]) for k in ks]), covered,
            )  # fmt: skip
            self.meter.advance(len(queries.rows) * len(rows))
            return covered

        chunks = self._over_chunks([side.fit for side in self.sides], work)
        covered = np.concatenate(list(itertools.chain(*chunks)), axis=1)
        return dict(zip(ks, covered, strict=True))

    # What the kernels want to know

    def _tiles(self, queries: PackedRows, fit: FitRows) -> Tiles:
        packed, kernel = fit.packed, self.engine.kernel
        return Tiles(kernel.code, queries.panels, packed.panels, queries.norm, packed.norm)

    def _bound(self, queries: PackedRows, fit: FitRows) -> Bound:
        grid, errors = self.grid, (queries.error, fit.packed.error)
        largest = float(queries.error.max()), fit.largest_error
        return Bound(*errors, *largest, grid.step, grid.slack.relative, grid.slack.absolute)

    def _pair(self, queries: PackedRows, fit: FitRows) -> tuple[Any, ...]:
        """The arguments that both counting kernels begin with."""
        return (
            self._tiles(queries, fit),
            self._bound(queries, fit),
            queries.queries,
            fit.references,
        )
