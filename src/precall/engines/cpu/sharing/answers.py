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
from precall.engines.cpu.sharing.kernels import (
    count_among,
    count_around,
    list_vicinity,
    select_group,
)
from precall.engines.protocol import Balls, Neighbors

Flags = NDArray[np.bool_]

_NOBODY_IN = -1.0  # a threshold
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
        select_group(lists, rows[on_grid], of.place_in(references), label, of_group)
        mark_unproven(of_group, depth, len(of.near(references)), known.ruler)
        classes.append(of.references(references))
        found.append(of_group)
    answers = out[on_grid]
    kth_distances(
        known.classes[a].queries(stored[on_grid]),
        (classes[0], classes[-1]),
        (found[0], found[-1]),
        np.array(question.ks),
        known.ruler,
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
    is_far = rows < 0, columns < 0
    left = _left_open(balls, is_open, is_open_reference, *is_far)
    return np.concatenate([own, others], axis=1), left


def _left_open(
    balls: Balls, is_open: Flags, is_open_reference: Flags, is_far: Flags, is_far_reference: Flags
) -> list[Open]:
    """The rest of a question.

    Balls around queries that reach too far, around all references; those around references that
    reach too far; and whoever is off the grid, which nobody lists.
    """
    own = np.where(is_open, balls.around_queries, _NOBODY_IN)
    known = np.where(is_open, _NOBODY_IN, balls.around_queries)
    others = balls.around_references
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
    return [
        Open(part, of, at)
        for part, of, at in zip(parts, places, columns, strict=True)
        if len(part.queries) and len(part.references) and len(at)
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
