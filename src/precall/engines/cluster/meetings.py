"""Meetings of two sets, as orders: some rows go ahead, so that all others begin with what is known.

A row that looks for its best begins with many that are better than any before. Scouts, a few of the
queries, meet the references first, each worker a part of these; all other orders are told how good
the best was, and look for nothing that is worse.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from precall.data.feature_sets import Rows
from precall.engines.answers import Floats
from precall.engines.cluster.checkpoint import digest_of
from precall.engines.cluster.cut import Cut, runs
from precall.engines.cluster.orders import RelateOrder, digest_of_order
from precall.engines.cluster.parts import Part
from precall.engines.protocol import Meeting

PartOf = Callable[[Rows, tuple[int, int]], Part]

_SCOUTS = 16  # one query in so many
_FEWEST_SCOUTS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class MeetingOrders:
    """The orders of one meeting."""

    scouts: dict[str, RelateOrder]  # by name
    others: list[RelateOrder]

    @classmethod
    def of_whole_sets(cls, meeting: Meeting, around: str, cut: Cut, part: PartOf) -> Self:
        """Cut a meeting of sets that every worker holds.

        Parameters
        ----------
        around
            Name of what is around references.
        part
            Names a run of rows.
        """
        balls = meeting.balls
        n, n_features = len(balls.queries), balls.queries.n_features
        n_queries, n_references = cut.both_sides(float(n) * len(balls.references) * n_features)
        is_scouted = meeting.wants_best and n_references == 1 and cut.n_workers > 1
        n_scouts = n // _SCOUTS if is_scouted else 0
        scouts: dict[str, RelateOrder] = {}
        if n_scouts >= _FEWEST_SCOUTS:
            ahead = part(balls.queries, (0, n_scouts))
            met = runs(len(balls.references), cut.n_workers)
            together = [(part(balls.references, run),) for run in met]
            orders = orders_of(meeting, around, [ahead], together)
            scouts = {digest_of_order(order): order for order in orders}
        first = n_scouts if scouts else 0
        rest = [(first + start, first + stop) for start, stop in runs(n - first, n_queries)]
        met = runs(len(balls.references), n_references)
        others = orders_of(
            meeting,
            around,
            [part(balls.queries, run) for run in rest],
            [(part(balls.references, run),) for run in met],
            tuple(scouts),
        )
        return cls(scouts, others)


def orders_of(
    meeting: Meeting,
    around: str,
    queries: Sequence[Part],
    references: Sequence[Sequence[Part]],
    scouts: tuple[str, ...] = (),
) -> list[RelateOrder]:
    """Let each part of the queries meet all parts of the references, some of them an order."""
    balls, weights, offset = meeting.balls, meeting.weights, float(meeting.offset)
    sets = [(part.source, part.selection) for part in (queries[0], references[0][0])]
    asked = balls.around_queries, np.empty((0, 0)) if weights is None else weights
    question = digest_of([repr(sets), around, str(meeting.nearest), repr(offset)], asked)
    return [
        RelateOrder(
            question,
            part,
            tuple(span),
            _columns(part, balls.around_queries),
            around,
            len(balls.around_references),
            meeting.nearest,
            None if weights is None else _columns(part, weights),
            offset,
            scouts,
        )
        for part in queries
        for span in references
    ]


def _columns(part: Part, values: Floats) -> Floats:
    return np.ascontiguousarray(part.of(np.asarray(values)))
