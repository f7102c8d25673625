"""Pieces of questions about rows among themselves. What they find stays with the workers."""

from dataclasses import dataclass

import numpy as np

from precall.engines.answers import Floats, Nearest
from precall.engines.cluster.checkpoint import Arrays
from precall.engines.cluster.orders import ANY, Bench, Shapes
from precall.engines.cluster.own.lists import listed, merged, unlisted
from precall.engines.cluster.parts import Part
from precall.engines.protocol import Between, Neighbors


@dataclass(frozen=True, slots=True, eq=False)
class GroupOrder:
    """The nearest of the rows of a group within the group."""

    group: Part
    depth: int

    @property
    def n_pairs(self) -> int:
        """Pairs of rows that are compared, in both directions."""
        return len(self.group) ** 2

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return [self.group]

    def needs(self) -> list[str]:
        """Nothing else."""
        return []

    def shapes(self) -> Shapes:
        """Return lists."""
        return [("uint8", (len(self.group),)), ("float64", (ANY,))]

    def answer(self, bench: Bench) -> Arrays:
        """Compare the rows of the group among themselves."""
        held = bench.hold(self.group)
        (rows,) = held.rows
        ((found,),) = held.session.nearest([Neighbors(rows, (rows,), [self.depth])])
        _remember(bench, self.group, found)
        return listed(found)


@dataclass(frozen=True, slots=True, eq=False)
class PairOrder:
    """The nearest of the rows of two groups in the other one, as far as they may matter."""

    groups: tuple[Part, Part]
    depth: int
    own: tuple[str, str]  # names of what was found within each

    @property
    def n_pairs(self) -> int:
        """Pairs of rows that are compared, in both directions."""
        return 2 * len(self.groups[0]) * len(self.groups[1])

    def parts(self) -> list[Part]:
        """Whose rows it needs."""
        return list(self.groups)

    def needs(self) -> list[str]:
        """What was found within the groups."""
        return list(self.own)

    def shapes(self) -> Shapes:
        """Return lists of the one, then of the other."""
        return [
            shape
            for group in self.groups
            for shape in (("uint8", (len(group),)), ("float64", (ANY,)))
        ]

    def answer(self, bench: Bench) -> Arrays:
        """Look for what is as near as the nearest that are known."""
        held = bench.hold(*self.groups)
        known = [self._known(bench, place) for place in (0, 1)]
        one, other = held.rows
        limits = [of.squared[:, -1] for of in known]
        question = Between(one, other, self.depth, limits[0], limits[1])
        (found,) = held.session.nearest_between([question])
        for group, before, more in zip(self.groups, known, found, strict=True):
            _remember(bench, group, _with(before, more))
        return (*listed(found[0]), *listed(found[1]))

    def _known(self, bench: Bench, place: int) -> Nearest:
        """The nearest of a group, as far as this worker knows them."""
        known = bench.recollections.get(("nearest", self.groups[place], self.depth))
        if isinstance(known, Nearest):
            return known
        return unlisted(bench.things[self.own[place]], self.depth)


@dataclass(frozen=True, slots=True, eq=False)
class OwnKthOrder:
    """How far the rows of a group are from their k-th nearest, given what was found in pieces.

    Pieces go by the name of what was found in them, and by the place of the group there.
    """

    group: Part
    lists: tuple[tuple[str, int], ...]
    ks: tuple[int, ...]

    @property
    def n_pairs(self) -> int:
        """None: all were compared."""
        return 0

    def parts(self) -> list[Part]:
        """Nobody's: all is measured."""
        return []

    def needs(self) -> list[str]:
        """What was found in all pieces."""
        return [name for name, _ in self.lists]

    def shapes(self) -> Shapes:
        """Return squared distances by row and k."""
        return [("float64", (len(self.group), 1, len(self.ks)))]

    def answer(self, bench: Bench) -> Arrays:
        """Merge."""
        answers = [(bench.things[name], 2 * place) for name, place in self.lists]
        found = merged([(answer[i], answer[i + 1]) for answer, i in answers], max(self.ks))
        return (found.kth(self.ks)[:, None, :],)


def _with(before: Nearest, more: Nearest) -> Nearest:
    """Merge what was found into what was known."""
    squared: Floats = before.squared.copy()
    rows = np.flatnonzero(np.isfinite(more.squared[:, 0]))
    squared[rows] = Nearest(squared[rows]).merge(Nearest(more.squared[rows])).squared
    return Nearest(squared)


def _remember(bench: Bench, group: Part, nearest: Nearest) -> None:
    depth = nearest.squared.shape[1]
    bench.recollections.keep(("nearest", group, depth), nearest, nearest.squared.nbytes)
