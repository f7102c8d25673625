"""Sessions that answer off the lists of one shared pass what these tell, and ask for the rest."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.engines.answers import Counts, Floats, Met, Relation, Vicinity
from precall.engines.cpu.placed_session import PlacedSession, in_parts
from precall.engines.cpu.relations import Ratios
from precall.engines.cpu.rows import PackedRows, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.sharing.acquaintances import Acquaintances, Introduction, plan_to_share
from precall.engines.cpu.sharing.answers import (
    best_by_lists,
    count_by_lists,
    kth_by_lists,
    vicinity_by_lists,
)
from precall.engines.protocol import Balls, Meeting, Neighbors
from precall.runtime.threads import in_threads

_LISTS_AT_A_TIME = 1024  # rows whose lists are read
_MANY_OPEN = 1 / 8


class SharingSession(PlacedSession, ABC):
    """A session whose questions may share a pass; subclasses compare pairs for all others."""

    @abstractmethod
    def _kth(self, queries: PackedRows, question: Neighbors, *, guesses: bool = True) -> Floats:
        """Compare a chunk of queries with all references."""

    @abstractmethod
    def _ask_again(
        self, out: Floats, rows: Places, question: Neighbors, *, is_direct: bool
    ) -> None:
        """Fill in what is NaN."""

    @abstractmethod
    def _count(self, questions: Sequence[Balls]) -> list[Counts]:
        """Compare every query with every reference."""

    @abstractmethod
    def _relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """Compare every query with every reference, in one pass."""

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """See :meth:`Session.sharing`."""
        self._shares += 1
        try:
            yield
        finally:
            self._shares -= 1
            if self._shares == 0:  # what comes next may need the room
                self._known = None
                self._packed.clear()

    def _acquaint(self, questions: Sequence[Neighbors]) -> None:
        """Look at every pair of rows once, where many questions are about the same rows."""
        self._known, shape = None, self.kernel.grid
        if not self._shares or self._is_direct("kth"):
            return
        classes = plan_to_share(questions, self._set, shape)
        if classes is None:
            return
        together = max(1, self._chunk_size([questions[0].queries]) // shape.rows)
        ruler = Ruler(False, self.grid.step, self.grid.slack.relative, self.grid.slack.absolute)
        n_pairs = sum(len(q.queries) * sum(map(len, q.references)) for q in questions)
        self._known = Introduction(classes, questions, shape, ruler, together).hold(
            self.threads, lambda share: self.advance(round(share * n_pairs))
        )

    def _listed_kth(self, known: Acquaintances, questions: Sequence[Neighbors]) -> list[Floats]:
        """Read answers off the lists; what these do not tell is asked as ever."""
        parts = [
            (question, places)
            for question in questions
            for places in in_parts(len(question.queries), _LISTS_AT_A_TIME)
        ]

        def read(part: tuple[Neighbors, Places]) -> Floats:
            question, places = part
            found, stored = kth_by_lists(known, question, places), question.queries.stored[places]
            placed = self._set(question.queries)
            is_far = placed.placed.is_far[stored]
            if is_far.any():
                far, height = stored[is_far], self.kernel.direct.rows
                of_far = PackedRows.of(placed, far, height, is_direct=True)
                found[is_far] = self._kth(of_far, question)
            self._ask_again(found, stored, question, is_direct=False)
            return found

        found = iter(in_threads(read, parts, self.threads))
        return [
            np.concatenate([next(found) for _ in in_parts(len(q.queries), _LISTS_AT_A_TIME)])
            for q in questions
        ]

    def _listed_counts(
        self, known: Acquaintances, questions: Sequence[Balls]
    ) -> tuple[list[Counts], int]:
        """Count what is listed, and what is left open; and how many pairs that took."""
        listed = in_threads(lambda balls: count_by_lists(known, balls), questions, self.threads)
        left = [part for _, parts in listed for part in parts]
        found = iter(self._count([part.balls for part in left]))
        for counts, parts in listed:
            for part in parts:
                part.add(next(found), counts)
        n_compared = sum(len(part.balls.queries) * len(part.balls.references) for part in left)
        return [counts for counts, _ in listed], n_compared

    def _listed_relation(self, meeting: Meeting) -> Relation | None:
        """Read off the lists what both sides are to each other, if these tell it of most rows."""
        balls, known = meeting.balls, self._known
        sides = balls.queries, balls.references
        if known is None or not known.knows(*sides) or not known.are_all_near(*sides):
            return None
        around = balls.around_queries, balls.around_references
        weights = np.empty((0, len(sides[0]))) if meeting.weights is None else meeting.weights
        ratios = Ratios(weights, weights.max(axis=1, initial=-1.0), meeting.offset)
        none = Ratios(np.empty((0, len(sides[1]))), np.empty(0), 0.0)
        best = [
            self._listed_best(known, sides, around[1], none, meeting),
            self._listed_best(known, sides[::-1], around[0], ratios, meeting),
        ]
        is_open = [rows for _, rows in best]
        if sum(map(np.count_nonzero, is_open)) > _MANY_OPEN * sum(map(len, sides)):
            return None
        found = [of for of, _ in best]
        for c, rows in enumerate(map(np.flatnonzero, is_open)):
            if len(rows):
                found[c] = found[c].replaced(rows, self._of_side(meeting, c, rows))
        both = [balls, Balls(*sides[::-1], *around[::-1])]
        counts, n_compared = self._listed_counts(known, both)
        self.advance(max(0, len(sides[0]) * len(sides[1]) - n_compared))
        met = [
            replace(of, in_own=counted[:, : len(own)], in_others=counted[:, len(own) :])
            for of, counted, own in zip(found, counts, around, strict=True)
        ]
        return Relation(met[0], met[1])

    def _listed_best(
        self,
        known: Acquaintances,
        sides: tuple[Rows, Rows],
        thresholds: Floats,
        ratios: Ratios,
        meeting: Meeting,
    ) -> tuple[Met, NDArray[np.bool_]]:
        """The best of every row of the first side, if that is asked; and whom lists leave open."""
        n = len(sides[0])
        if not meeting.wants_best:
            return Met.nobody(n, 0, len(thresholds), len(ratios.weights)), np.zeros(n, np.bool_)
        parts = in_threads(
            lambda part: best_by_lists(known, sides, thresholds, ratios, part),
            in_parts(n, _LISTS_AT_A_TIME),
            self.threads,
        )
        return Met.concat([of for of, _ in parts]), np.concatenate([rows for _, rows in parts])

    def _of_side(self, meeting: Meeting, c: int, rows: Places) -> Met:
        """What some queries, or some references, are to everybody on the other side."""
        balls = meeting.balls
        some: list[Any] = [slice(None), slice(None)]
        some[c] = rows
        part = Balls(
            balls.queries.select(rows) if c == 0 else balls.queries,
            balls.references.select(rows) if c == 1 else balls.references,
            balls.around_queries[:, some[0]],
            balls.around_references[:, some[1]],
        )
        weights = None if meeting.weights is None else meeting.weights[:, some[0]]
        (found,) = self._relate([replace(meeting, balls=part, weights=weights)])
        return (found.of_queries, found.of_references)[c]

    def listed(self, own: Rows, part: slice, other: Rows, depth: int) -> Vicinity | None:
        """See :meth:`Session.listed`."""
        known = self._known
        if known is None or not known.knows(own, other):
            return None
        return vicinity_by_lists(known, own, part, other, depth)
