"""The executable definition of every answer: float64, direct differences, one thread.

Memory is O(tile · n), never O(n · m).
"""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from precall.data.feature_sets import Rows
from precall.engines.answers import NOBODY, Counts, Floats, Met, Nearest, Relation
from precall.engines.protocol import Advance, Balls, Limits, Meeting, Neighbors, Session


def squared_distances(queries: Floats, references: Floats) -> Floats:
    """Canonical squared distances: squared differences added one by one in column order.

    One column at a time, so that every sum is taken in index order with one rounding an operation,
    whatever the tile, the machine or its vector width.

    Parameters
    ----------
    queries, references
        Shapes (q, d) and (r, d).

    Returns
    -------
    Shape (q, r).
    """
    total = np.zeros((len(queries), len(references)))
    difference = np.empty_like(total)
    for a, b in zip(
        np.ascontiguousarray(queries.T), np.ascontiguousarray(references.T), strict=True
    ):
        np.subtract.outer(a, b, out=difference)
        difference *= difference
        total += difference
    return total


class ReferenceEngine:
    """Short, slow and obviously right.

    Parameters
    ----------
    query_tile, reference_tile
        Rows that are compared at a time. Changes no number.
    """

    name = "reference"

    def __init__(self, query_tile: int = 64, reference_tile: int = 1024) -> None:
        self.tiles = query_tile, reference_tile

    def open(self, threads: int, advance: Advance) -> "ReferenceSession":
        """Return a session; it works in one thread."""
        return ReferenceSession(advance, *self.tiles)


class ReferenceSession(Session):
    """Answers tile by tile, and merges."""

    def __init__(self, advance: Advance, query_tile: int, reference_tile: int) -> None:
        super().__init__(1, advance)
        self.query_tile, self.reference_tile = query_tile, reference_tile

    def place(self, *sets: Rows) -> None:
        """Rows are read where they are."""

    def drop(self, *sets: Rows) -> None:
        """Nothing is held."""

    def _slices(self, rows: Rows, size: int) -> list[slice]:
        return [slice(start, start + size) for start in range(0, len(rows), size)]

    def _squared(self, queries: Rows, q: slice, references: Rows) -> Iterator[tuple[slice, Floats]]:
        """Yield tiles of references with their squared distances to some queries."""
        left = queries.tile(q.start, q.stop).astype(np.float64)
        for r in self._slices(references, self.reference_tile):
            right = references.tile(r.start, r.stop).astype(np.float64)
            yield r, squared_distances(left, right)
        self.advance(len(left) * len(references))

    def nearest(self, questions: Sequence[Neighbors]) -> list[list[Nearest]]:
        """See :meth:`Session.nearest`."""

        def among(queries: Rows, references: Rows, depth: int) -> Nearest:
            found = []
            for q in self._slices(queries, self.query_tile):
                tiles = (Nearest.among(d, depth) for _, d in self._squared(queries, q, references))
                found.append(reduce(Nearest.merge, tiles).squared)
            return Nearest(np.concatenate(found))

        return [[among(q.queries, rows, max(q.ks)) for rows in q.references] for q in questions]

    def count(self, questions: Sequence[Balls]) -> list[Counts]:
        """See :meth:`Session.count`."""
        found = []
        for balls in questions:
            n_own, n_others = len(balls.around_queries), len(balls.around_references)
            counts = np.zeros((len(balls.queries), n_own + n_others), np.int64)
            for q in self._slices(balls.queries, self.query_tile):
                for r, squared in self._squared(balls.queries, q, balls.references):
                    own = squared <= balls.around_queries[:, q, None]
                    others = squared <= balls.around_references[:, None, r]
                    counts[q] += np.concatenate([own, others]).sum(axis=2).T
            found.append(counts)
        return found

    def relate(self, questions: Sequence[Meeting]) -> list[Relation]:
        """See :meth:`Session.relate`."""
        found = []
        for meeting in questions:
            balls, parts = meeting.balls, []
            for q in self._slices(balls.queries, self.query_tile):
                tiles = self._squared(balls.queries, q, balls.references)
                relations = [_relation(meeting, squared, q, r) for r, squared in tiles]
                parts.append(Relation.over_references(relations))
            found.append(Relation.over_queries(parts))
        return found

    def log_sums(self, questions: Sequence[Limits], floor: float) -> list[Floats]:
        """See :meth:`Session.log_sums`."""
        found = []
        for question in questions:
            sums = np.zeros((len(question.limits), len(question.queries)))
            for q in self._slices(question.queries, self.query_tile):
                for _, squared in self._squared(question.queries, q, question.references):
                    for total, limit in zip(sums, question.limits, strict=True):
                        with np.errstate(divide="ignore"):
                            logs = np.log(np.sqrt(squared) / limit if limit else np.sign(squared))
                        total[q] += np.minimum(logs, 0.0).sum(axis=1)
            found.append(sums)
        return found


def _relation(meeting: Meeting, squared: Floats, q: slice, r: slice) -> Relation:
    """What the queries and the references of one tile are to each other."""
    balls = meeting.balls
    in_query = squared <= balls.around_queries[:, q, None]  # (n_query_balls, q, r)
    in_reference = squared <= balls.around_references[:, None, r]
    weights = np.empty((0, len(squared))) if meeting.weights is None else meeting.weights[:, q]
    ratios = [_ratios(weight, squared + meeting.offset).max(axis=0) for weight in weights]
    stored = balls.queries.stored[q], balls.references.stored[r]
    return Relation(
        _met(in_query, in_reference, squared, stored[1], [], meeting),
        _met(
            in_reference.transpose(0, 2, 1), in_query.transpose(0, 2, 1), squared.T, stored[0],
            ratios, meeting,
        ),
    )  # fmt: skip


def _met(
    own: np.ndarray, others: np.ndarray, squared: Floats, stored: np.ndarray,
    ratios: list[Floats], meeting: Meeting,
) -> Met:  # fmt: skip
    n = len(squared)
    least = squared.min(axis=1) if meeting.wants_best else np.full(n, np.inf)
    is_nearest = squared == least[:, None]
    nearest = np.where(is_nearest, stored, NOBODY).min(axis=1)
    held = (others & is_nearest).any(axis=2).T
    ratio = np.stack(ratios, axis=1) if ratios else np.zeros((n, 0))
    return Met(own.sum(axis=2).T, others.sum(axis=2).T, nearest, least, held, ratio)


def _ratios(weights: Floats, squared: Floats) -> Floats:
    """Weight over squared distance; 1 where both are 0, 0 where a weight is left out."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = weights[:, None] / squared
    both_zero = (squared == 0) & (weights[:, None] == 0)
    return np.where(weights[:, None] < 0, 0.0, np.where(both_zero, 1.0, ratios))
