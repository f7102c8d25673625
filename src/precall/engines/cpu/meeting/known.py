"""What references have found out from one chunk of queries after the other."""

from dataclasses import dataclass, fields
from threading import Lock

import numpy as np

from precall.engines.answers import Floats, Met
from precall.engines.cpu.counts import Thresholds
from precall.engines.cpu.relations import Side
from precall.engines.cpu.rows import PackedReferences, Places


@dataclass(slots=True, eq=False)
class Begun:
    """What a chunk begins with, and adds to: references in the order in which they are packed."""

    references: PackedReferences
    version: int  # of what is known, that it began with
    near: Side
    far: Side


class KnownReferences:
    """Grows with every chunk, and spares those that follow work.

    It stays in the order of the packed references, and chunks that follow each other write into the
    same arrays: new ones, in the right order, would take as long as a part of the chunk itself.

    Parameters
    ----------
    met
        What is known before the first chunk, in the order of the references.
    thresholds
        (n_balls, n_references) around these.
    wants_best
        Whether counting is not enough.
    """

    def __init__(self, met: Met, thresholds: Floats, *, wants_best: bool) -> None:
        self._met, self._thresholds, self._wants_best = met, thresholds, wants_best
        self._lock, self._version = Lock(), 0
        self._packed: PackedReferences | None = None  # whose order it is in; None for the first
        self._near, self._far = met, met
        self._around = thresholds, thresholds
        self._free: list[Begun] = []

    def begin(self, references: PackedReferences) -> Begun:
        """Return what is known now, and nothing counted."""
        with self._lock:
            self._arrange(references)
            if not self._free:
                sides = (Side.of(m, wants_best=self._wants_best) for m in (self._near, self._far))
                return Begun(references, self._version, *sides)
            begun = self._free.pop()
            begun.version = self._version
            begun.near.begin_again(self._near, wants_best=self._wants_best)
            begun.far.begin_again(self._far, wants_best=self._wants_best)
            return begun

    def add(self, begun: Begun) -> None:
        """Add what a chunk has found out."""
        with self._lock:
            self._arrange(begun.references)
            is_latest = begun.version == self._version
            for known, side in ((self._near, begun.near), (self._far, begun.far)):
                _add(known, side.met(), is_latest=is_latest)
            self._version += 1
            self._free.append(begun)

    def thresholds(self, references: PackedReferences, of_queries: Floats) -> Thresholds:
        """Arrange the balls of a chunk and those of all references."""
        with self._lock:
            self._arrange(references)
            return Thresholds(np.ascontiguousarray(of_queries), *self._around)

    def met(self) -> Met:
        """Return all of it, in the order of the references."""
        if self._packed is None:
            return self._met
        places = np.concatenate([self._packed.places, self._packed.far_places])
        return Met.concat([self._near, self._far]).select(np.argsort(places))

    def _arrange(self, references: PackedReferences) -> None:
        if self._packed is references:
            return
        met, self._packed = self.met(), references
        near, far = references.places, references.far_places
        self._near, self._far = met.select(near), met.select(far)
        self._around = self._at(near), self._at(far)
        self._free, self._version = [], self._version + 1

    def _at(self, places: Places) -> Floats:
        return np.ascontiguousarray(self._thresholds[:, places])


def _add(known: Met, found: Met, *, is_latest: bool) -> None:
    """Add counts, in place; the best is that of the chunk where nobody has found more meanwhile."""
    np.add(known.in_own, found.in_own, out=known.in_own)
    np.add(known.in_others, found.in_others, out=known.in_others)
    better = found if is_latest else known.merge(found)
    for field in fields(Met)[2:]:
        np.copyto(getattr(known, field.name), getattr(better, field.name))
