"""Answers that are read off lists of acquaintances, and what they leave open."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import Rows
from precall.engines.answers import Counts, Floats, Met, Vicinity
from precall.engines.cpu.candidates import Candidates, mark_unproven
from precall.engines.cpu.nearest import kth_distances
from precall.engines.cpu.relations import Ratios, Side
from precall.engines.cpu.rows import Places
from precall.engines.cpu.sharing.acquaintances import Acquaintances
from precall.engines.cpu.sharing.best import find_best
from precall.engines.cpu.sharing.counting import count_among, count_around, count_seen
from precall.engines.cpu.sharing.kernels import list_vicinity, select_group
from precall.engines.protocol import Balls, Neighbors

Flags = NDArray[np.bool_]

_NOBODY_IN = -1.0  # a threshold
_OFTEN = 1 / 16  # of all queries
_FEW_UNKNOWN = 1 / 20  # rows: more are compared faster by products


def kth_by_lists(known: Acquaintances, question: Neighbors, places: Places) -> Floats:
    """How far some queries are from their k-th nearest; NaN where the lists do not tell."""
    a = known.which(question.queries)
    stored = question.queries.stored[places]
    rows, depth = known.classes[a].index[stored], max(question.ks)
    out = np.full(
        (len(places), 1 if len(question.references) == 1 else 3, len(question.ks)), np.nan
    )
    on_grid = rows >= 0
    classes, found = [], []
    for label, references in enumerate(question.references):
        b = known.which(references)
        of, lists = known.classes[b], known.lists[a, b]
        error = lists.error[rows[on_grid]]
        of_group = Candidates.none(error, lists.codes.shape[1], len(error))
        place = of.place_in(references)
        select_group(lists, rows[on_grid], place, label, depth, known.ruler, of_group)
        mark_unproven(of_group, depth, len(of.near(references)), known.ruler, True)
        classes.append(of.references(references))
        found.append(of_group)
    answers = out[on_grid]
    kth_distances(
        known.classes[a].queries(stored[on_grid]),
        (classes[0], classes[-1]),
        (found[0], found[-1]),
        question.ks,
        known.ruler,
        True,  # candidates are sorted
        answers,
    )
    out[on_grid] = answers
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """Part of a question about balls that lists do not answer: what it finds is to be added."""

    balls: Balls
    places: Places  # of its queries
    columns: NDArray[np.intp]  # of its balls

    def add(self, found: Counts, counts: Counts) -> None:
        """Add what was found to what is known."""
        counts[np.ix_(self.places, self.columns)] += found


def count_by_lists(known: Acquaintances, balls: Balls) -> tuple[Counts, list[Open]]:
    """Count what the lists tell; and what is left to ask."""
    a, b = known.which(balls.queries), known.which(balls.references)
    of, among = known.classes[a], known.classes[b]
    n, n_own, n_others = len(balls.queries), len(balls.around_queries), len(balls.around_references)
    queries, references = of.queries(balls.queries.stored), among.references(balls.references)
    rows, columns = of.index[balls.queries.stored], among.index[balls.references.stored]
    own, others = np.zeros((n, n_own), np.int64), np.zeros((n, n_others), np.int64)
    is_open = np.zeros((n_own, n), np.bool_)
    is_open_reference = np.zeros(len(columns), np.bool_)
    count_around(
        known.lists[a, b], rows, among.place_in(balls.references), balls.around_queries,
        queries, references, known.ruler, own, is_open,
    )  # fmt: skip
    count_among(
        known.lists[b, a], columns, of.place_in(balls.queries), balls.around_references,
        queries, references, known.ruler, others, is_open_reference,
    )  # fmt: skip
    seen = _look_from_references(known, balls, is_open, own)
    left = _left_open(balls, is_open, is_open_reference, rows < 0, columns < 0, seen)
    return np.concatenate([own, others], axis=1), left


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """One ball of queries that reaches beyond their lists, and who told of it instead."""

    ball: int
    is_asked: Flags  # (n_queries,)
    tells: Flags  # (n_references,)


def _look_from_references(
    known: Acquaintances, balls: Balls, is_open: Flags, counts: Counts
) -> _Seen | None:
    """Count the ball that most queries leave open off the lists of references that reach as far.

    ``None`` where it is not left open often enough.
    """
    a, b = known.which(balls.queries), known.which(balls.references)
    of, among = known.classes[a], known.classes[b]
    rows = of.index[balls.queries.stored]
    is_asked = is_open & (rows >= 0)
    ball = int(is_asked.sum(axis=1).argmax()) if len(is_asked) else 0
    if not is_asked.size or np.mean(is_asked[ball]) < _OFTEN:
        return None
    tells, found = np.empty(len(balls.references), np.bool_), np.zeros(len(rows), np.int64)
    count_seen(
        known.lists[b, a],
        among.index[balls.references.stored],
        of.place_in(balls.queries),
        is_asked[ball],
        balls.around_queries[ball],
        known.lists[a, b].error[rows],
        of.queries(balls.queries.stored),
        among.references(balls.references),
        known.ruler,
        found,
        tells,
    )
    counts[:, ball] += found
    return _Seen(ball, is_asked[ball], tells)


def _left_open(
    balls: Balls,
    is_open: Flags,
    is_open_reference: Flags,
    is_far: Flags,
    is_far_reference: Flags,
    seen: _Seen | None,
) -> list[Open]:
    """The rest of a question.

    Balls around queries that reach too far, around all references that do not tell of them; those
    around references that reach too far; and whoever is off the grid, which nobody lists.
    """
    own = np.where(is_open, balls.around_queries, _NOBODY_IN)
    known = np.where(is_open, _NOBODY_IN, balls.around_queries)
    others, first = balls.around_references, []
    if seen is not None:
        queries, silent = np.flatnonzero(seen.is_asked), np.flatnonzero(~seen.tells)
        part = _part(balls, queries, silent, own[[seen.ball]], others[:0])
        first = [Open(part, queries, np.array([seen.ball]))]
        is_open = is_open.copy()
        is_open[seen.ball] &= ~seen.is_asked
        own[seen.ball, seen.is_asked] = _NOBODY_IN
    open_queries, on_grid = np.flatnonzero(is_open.any(axis=0)), np.flatnonzero(~is_far)
    far, far_references = np.flatnonzero(is_far), np.flatnonzero(is_far_reference)
    open_references = np.flatnonzero(is_open_reference & ~is_far_reference)
    everybody = np.arange(len(balls.references))
    parts = [
        _part(balls, open_queries, everybody, own[is_open.any(axis=1)], others[:0]),
        _part(balls, on_grid, far_references, known, others),
        _part(balls, on_grid, open_references, own[:0], others),
        _part(balls, far, everybody, own[:0], others),
    ]
    n_own, own_columns = len(own), np.flatnonzero(is_open.any(axis=1))
    other_columns = np.arange(n_own, n_own + len(others))
    columns = own_columns, np.arange(n_own + len(others)), other_columns, other_columns
    places = open_queries, on_grid, on_grid, far
    every = [*first, *(Open(*of) for of in zip(parts, places, columns, strict=True))]
    return [
        left
        for left in every
        if len(left.places) and len(left.balls.references) and len(left.columns)
    ]


def _part(balls: Balls, queries: Places, references: Places, own: Floats, others: Floats) -> Balls:
    """The same question of some rows and some balls."""
    everybody = len(references) == len(balls.references)
    return Balls(
        balls.queries.select(queries),
        balls.references if everybody else balls.references.select(references),
        own[:, queries],
        others[:, references],
    )


def best_by_lists(
    known: Acquaintances, sides: tuple[Rows, Rows], thresholds: Floats, ratios: Ratios, part: Places
) -> tuple[Met, Flags]:
    """Find the best of some rows of the first side; and of which the lists do not tell.

    Parameters
    ----------
    thresholds
        (n_balls, n) of the balls of the other side.
    """
    a, b = (known.which(rows) for rows in sides)
    own, others, stored = known.classes[a], known.classes[b], sides[0].stored[part]
    nobody = Met.nobody(len(part), 0, len(thresholds), len(ratios.weights))
    best, is_open = Side.of(nobody, wants_best=True), np.empty(len(part), np.bool_)
    find_best(
        known.lists[a, b], own.index[stored], others.place_in(sides[1]), own.queries(stored),
        others.references(sides[1]), thresholds, ratios, known.ruler, best, is_open,
    )  # fmt: skip
    return best.met(), is_open


def vicinity_by_lists(
    known: Acquaintances, own: Rows, part: slice, other: Rows, depth: int
) -> Vicinity | None:
    """Tell who is around some rows; ``None`` if lists do not tell it of enough of them."""
    a, b = known.which(own), known.which(other)
    of, rows = known.classes[a], known.classes[a].index[own.stored[part]]
    if (rows < 0).any() or of.placed.placed.is_far[own.stored].any():
        return None
    n = len(rows)
    starts = np.empty(n + 1, np.int64)
    places, distances = np.empty((n, depth), np.int64), np.empty((n, depth))
    other_class = known.classes[b]
    found = list_vicinity(
        (known.lists[a, a], known.lists[a, b]),
        rows,
        (of.place_in(own), other_class.place_in(other)),
        (of.references(own), other_class.references(other)),
        known.ruler,
        math.ceil(_FEW_UNKNOWN * n),
        places,
        distances,
        starts,
    )
    return None if found is None else Vicinity(places, distances, starts, *found)
