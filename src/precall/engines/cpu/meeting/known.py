"""What references have found out from one chunk of queries after the other."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from precall.engines.answers import Floats, Met
from precall.engines.cpu.counts import BallLimits, Thresholds, ball_limits
from precall.engines.cpu.relations import Side
from precall.engines.cpu.rows import PackedReferences, PackedRows, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.tiling.tiles import ALL

RulerOf = Callable[[PackedRows], Ruler]


@dataclass(slots=True, eq=False)
class Begun:
    """What a chunk begins with, and adds to: references in the order in which they are packed."""

    references: PackedReferences
    version: int  # of what is known, that it began with
    near: Side
    far: Side
    tile: NDArray[np.int32]  # room for the limits of references, as tiles want them


class KnownReferences:
    """Grows with every chunk, and spares those that follow work.

    It stays in the order of the packed references, and chunks that follow each other write into the
    same arrays: new ones, in the right order, would take as long as a part of the chunk itself. So
    would limits of balls, which are the same for all chunks.

    Parameters
    ----------
    met
        What is known before the first chunk, in the order of the references.
    thresholds
        (n_balls, n_references) around these.
    largest_error
        Of any query on the grid, in steps.
    ruler_of
        What packed rows are measured with.
    wants_best
        Whether counting is not enough.
    """

    def __init__(
        self,
        met: Met,
        thresholds: Floats,
        largest_error: float,
        ruler_of: RulerOf,
        *,
        wants_best: bool,
    ) -> None:
        self._met, self._thresholds, self._wants_best = met, thresholds, wants_best
        self._largest_error, self._ruler_of = largest_error, ruler_of
        self._lock, self._version = Lock(), 0
        self._packed: PackedReferences | None = None  # whose order it is in; None for the first
        self._near, self._far = met, met
        self._around = thresholds, thresholds
        self._limits: BallLimits
        self._nearest_limits: NDArray[np.int64]  # of near ones: codes that may be as near
        self._free: list[Begun] = []

    def begin(self, references: PackedReferences) -> Begun:
        """Return what is known now, and nothing counted."""
        with self._lock:
            self._arrange(references)
            begun = self._free.pop() if self._free else self._new(references)
            begun.version = self._version
            begun.near.begin_again(self._near, self._nearest_limits)
            begun.far.begin_again(self._far, ALL if self._wants_best else -1)
            return begun

    def _new(self, references: PackedReferences) -> Begun:
        near, far = (Side.of(m, wants_best=self._wants_best) for m in (self._near, self._far))
        return Begun(references, self._version, near, far, np.empty_like(references.packed.norm))

    def add(self, begun: Begun) -> None:
        """Add what a chunk has found out."""
        with self._lock:
            self._arrange(begun.references)
            is_latest = begun.version == self._version
            for known, side in ((self._near, begun.near), (self._far, begun.far)):
                _add(known, side.met(), is_latest=is_latest)
            nearest = self._nearest_limits
            np.minimum(nearest, begun.near.nearest_limits, out=nearest)
            self._version += 1
            self._free.append(begun)

    def balls(
        self, references: PackedReferences, of_queries: Floats
    ) -> tuple[Thresholds, BallLimits]:
        """Arrange the balls of a chunk and those of all references, and limits of the latter."""
        with self._lock:
            self._arrange(references)
            around = Thresholds(np.ascontiguousarray(of_queries), *self._around)
            return around, self._limits

    def met(self) -> Met:
        """Return all of it, in the order of the references."""
        if self._packed is None:
            return self._met
        places = np.concatenate([self._packed.places, self._packed.far_places])
        return Met.concat([self._near, self._far]).select(np.argsort(places))

    def largest_error(self, references: PackedReferences) -> float:
        """Return the largest error of any query that meets these references."""
        return 0.0 if references.packed.is_direct else self._largest_error

    def _arrange(self, references: PackedReferences) -> None:
        if self._packed is references:
            return
        met, self._packed = self.met(), references
        near, far = references.places, references.far_places
        self._near, self._far = met.select(near), met.select(far)
        self._around = self._at(near), self._at(far)
        self._limits = self._limits_of(references, self._around[0])
        self._nearest_limits = np.full(len(near), -1)
        if self._wants_best:
            as_near = self._limits_of(references, self._near.squared[None])
            self._nearest_limits = as_near.outer[:, 0].astype(np.int64)
        self._free, self._version = [], self._version + 1

    def _limits_of(self, references: PackedReferences, thresholds: Floats) -> BallLimits:
        packed, largest = references.packed, self.largest_error(references)
        found: BallLimits = ball_limits(
            thresholds, packed.error, largest, self._ruler_of(packed), len(packed.norm)
        )
        return found

    def _at(self, places: Places) -> Floats:
        return np.ascontiguousarray(self._thresholds[:, places])


def _add(known: Met, found: Met, *, is_latest: bool) -> None:
    """Add counts, in place; the best is that of the chunk where nobody has found more meanwhile."""
    np.add(known.in_own, found.in_own, out=known.in_own)
    np.add(known.in_others, found.in_others, out=known.in_others)
    better = found if is_latest else known.merge(found)
    for field in fields(Met)[2:]:
        np.copyto(getattr(known, field.name), getattr(better, field.name))
