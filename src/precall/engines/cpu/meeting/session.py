"""Sessions that let two groups of rows tell each other how near they are, a pair at a time."""

from abc import ABC
from collections.abc import Sequence

import numpy as np

from precall.engines.answers import Floats, Nearest
from precall.engines.cpu.meeting.between import Group, find_between, fits
from precall.engines.cpu.rows import PackedRows, Places
from precall.engines.cpu.rulers import Ruler
from precall.engines.cpu.sharing.session import SharingSession
from precall.engines.protocol import Between, Neighbors

_QUESTION = "between"
_MANY_UNKNOWN = 1 / 8  # of all rows: then direct tiles


class BetweenSession(SharingSession, ABC):
    """Looks at each pair of two groups once."""

    def nearest_between(self, questions: Sequence[Between]) -> list[tuple[Nearest, Nearest]]:
        """See :meth:`Session.nearest_between`."""
        return [self._nearest_between(question) for question in questions]

    def _nearest_between(self, question: Between) -> tuple[Nearest, Nearest]:
        """Let rows on the grid meet there, and the few that are off it meet everybody directly."""
        sides, depth = (question.one, question.other), question.depth
        if not fits(sum(map(len, sides)), depth):
            return super().nearest_between([question])[0]
        self._settle()
        is_direct = self._is_direct(_QUESTION)
        is_far = [self._set(rows).placed.is_far[rows.stored] & (not is_direct) for rows in sides]
        near, far = ([np.flatnonzero(of == kind) for of in is_far] for kind in (False, True))
        found = [np.full((len(rows), depth), np.inf) for rows in sides]
        everybody = np.arange(len(question.other))
        for places, directly in (
            ((near[0], near[1]), is_direct),
            ((far[0], everybody), True),
            ((near[0], far[1]), True),
        ):
            if min(map(len, places)) > 0:
                answers = self._between(question, places, is_direct=directly)
                for squared, of, more in zip(found, places, answers, strict=True):
                    squared[of] = Nearest(squared[of]).merge(Nearest(more)).squared
        self.advance(2 * len(question.one) * len(question.other))
        return Nearest(found[0]), Nearest(found[1])

    def _between(
        self, question: Between, places: tuple[Places, Places], *, is_direct: bool
    ) -> tuple[Floats, Floats]:
        """Answer for some of the rows of either group."""
        sides = question.one, question.other
        limits = question.within_one, question.within_other
        one, other = (
            Group.of(self._set(rows), rows.stored[of], within[of])
            for rows, of, within in zip(sides, places, limits, strict=True)
        )
        shape, slack = self.kernel.shape(is_direct=is_direct), self.grid.slack
        step = 1.0 if is_direct else self.grid.step
        ruler = Ruler(is_direct, step, slack.relative, slack.absolute)
        together = max(1, self._chunk_size([question.one]) // shape.rows)
        found = find_between(
            (one[0], other[0]), shape, ruler, question.depth, together, self.threads
        )
        unknown = [np.isnan(squared[:, 0]) for squared in found]
        if not is_direct and np.mean(np.concatenate(unknown)) > _MANY_UNKNOWN:
            self._needs_direct.add(_QUESTION)
            return self._between(question, places, is_direct=True)
        answers = []
        for c, (squared, (_, order)) in enumerate(zip(found, (one, other), strict=True)):
            in_order = np.empty_like(squared)
            in_order[order] = squared
            self._ask_nearest(question, c, places, in_order)
            answers.append(in_order)
        return answers[0], answers[1]

    def _ask_nearest(
        self, question: Between, c: int, places: tuple[Places, Places], out: Floats
    ) -> None:
        """Fill in what the candidates did not tell, directly."""
        sides, limits = (question.one, question.other), (question.within_one, question.within_other)
        unknown = np.flatnonzero(np.isnan(out[:, 0]))
        if len(unknown) == 0:
            return
        at = places[c][unknown]
        rows, others = sides[c].select(at), sides[1 - c].select(places[1 - c])
        height = self.kernel.direct.rows
        queries = PackedRows.of(self._set(rows), rows.stored, height, is_direct=True)
        asked = Neighbors(rows, (others,), range(1, question.depth + 1))
        found = Nearest(self._kth(queries, asked, guesses=False)[:, 0])
        out[unknown] = found.within(limits[c][at]).squared
