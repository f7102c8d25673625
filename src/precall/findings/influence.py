"""Rows that decide a score: a handful without which it would be another one.

The influence of rows on a score is what it changes by if they are left out. That is measured only
of rows that neighbour statistics already at hand make suspects, so that samples without such rows
cost no further look:

* by their balls: the other class has samples that no ball but theirs holds;
* by their place: real samples have no generated one in their balls but this;
* by their radii: a mean radius that soft covers use, if any is asked for, is much of theirs;
* for distances between means and covariances: the scatter of their class is much of theirs.

"Much" is three standard errors a row: of a share at most ½/√N, of other quantities about their size
over √N, of N samples. A distance, which has no such scale where P = Q, is decided by a row that
makes up half of it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.neighbors.statistics import ROLES, Role, SideStatistics
from precall.scores import SamplePair, Score, ScoreRequest

_STANDARD_ERRORS = 3
_MOST_ROWS = 8
_MOST_NAMED = 4
_TILE = 1024

Rows = NDArray[np.intp]
_NONE: Rows = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class Changed:
    """A score, and what it would be."""

    score: str
    value: float  # of all samples
    without: float  # some rows


@dataclass(frozen=True, slots=True)
class Influence:
    """Rows of one class that decide scores."""

    role: Role
    rows: tuple[int, ...]
    changed: tuple[Changed, ...]  # the most changed first

    def __str__(self) -> str:
        one = len(self.rows) == 1
        listed = ", ".join(map(str, self.rows))
        changes = [
            f"{c.score} is {_shown(c.without)} instead of {_shown(c.value)}"
            for c in self.changed[:_MOST_NAMED]
        ]
        if len(self.changed) > _MOST_NAMED:
            changes.append(f"{len(self.changed) - _MOST_NAMED} more scores change")
        rows, decide, it = ("row", "decides", "it") if one else ("rows", "decide", "them")
        what = "a score" if len(self.changed) == 1 else "scores"
        return (
            f"{rows} {listed} of {self.role} {decide} {what}: without {it} {', '.join(changes)}. "
            f"Look at {it}."
        )


class Suspects(NamedTuple):
    """Rows of one class that may decide scores."""

    role: Role
    rows: tuple[int, ...]
    of_distances: bool  # whether scores that are distances are among them
    of_others: bool  # whether other scores are


def suspects(pair: SamplePair, requests: Sequence[ScoreRequest]) -> Iterator[Suspects]:
    """Find rows of either class that may decide a score; mostly there are none."""
    for c, role in enumerate(ROLES):
        rows, scattered = [_NONE], _NONE
        if pair.statistics is not None:
            sides = pair.statistics.real, pair.statistics.generated
            rows += _by_balls(sides[c], sides[1 - c], pair.sets[c], pair.sets[1 - c])
            rows += _by_place(sides[1 - c], len(pair.sets[c]))
            radii = (sides[c].squared_radii[k] for k in sides[1 - c].log_missed)
            rows += [_dominant(np.sqrt(squared)) for squared in radii]
        if any(request.metric.unit == "distance" for request in requests):
            scattered = _dominant(_scatter(pair.sets[c]))
        by_neighbors = np.concatenate(rows)
        together = np.union1d(by_neighbors, scattered)
        if 0 < len(together) <= min(_MOST_ROWS, len(pair.sets[c]) // 2):
            listed = tuple(together.tolist())
            yield Suspects(role, listed, len(scattered) > 0, len(by_neighbors) > 0)


def influence(
    suspected: Suspects,
    scores: Mapping[str, Score],
    without: Mapping[str, float],
    units: Mapping[str, str],
    n_smaller: int,
) -> Influence | None:
    """Say which scores some rows decide, given these without the rows; ``None`` if none.

    Parameters
    ----------
    units
        Of the scores.
    n_smaller
        Samples of the smaller class.
    """
    role, rows, of_distances, of_others = suspected
    changes = {}
    for name, value in without.items():
        if not (of_distances if units[name] == "distance" else of_others):
            continue
        much = _much(units[name], scores[name].value, value, n_smaller) * len(rows)
        change = abs(scores[name].value - value)
        changes[name] = change / much if much else math.inf if change else 0.0
    decided = [name for name, size in changes.items() if size > 1]
    decided.sort(key=lambda name: -changes[name])
    changed = tuple(Changed(name, scores[name].value, without[name]) for name in decided)
    return Influence(role, rows, changed) if changed else None


def _much(unit: str, value: float, without: float, n: int) -> float:
    """By how much a single row must change a score of n samples to decide it."""
    if unit == "distance":
        return max(abs(value), abs(without)) / 2
    return _STANDARD_ERRORS * (0.5 if unit == "share" else abs(without)) / math.sqrt(n)


def _by_balls(
    side: SideStatistics, other: SideStatistics, own: FeatureSet, others: FeatureSet
) -> list[Rows]:
    """Rows whose balls alone hold much of the other class."""
    found, much = [], _STANDARD_ERRORS * 0.5 / np.sqrt(len(others))
    for k, holds in side.holds.items():
        largest = np.argsort(-holds, kind="stable")[:_MOST_ROWS]
        largest = largest[holds[largest] > much * len(others)]
        if len(largest) == 0 or k not in other.held_by:
            continue
        inside = _in_balls(own, largest, side.squared_radii[k][largest], others)
        by_first = np.cumsum(inside, axis=1)  # of the largest ball, the two largest and so on
        held_alone = (by_first > 0) & (by_first == other.held_by[k][:, None])
        shares = held_alone.mean(axis=0) / np.arange(1, len(largest) + 1)
        if shares.max() > much:
            found.append(largest[: 1 + int(np.argmax(shares))])
    return found


def _in_balls(
    own: FeatureSet, rows: Rows, squared_radii: NDArray[np.float64], others: FeatureSet
) -> NDArray[np.bool_]:
    """Whether each sample of the other class is in the balls of some rows, (n, n_rows).

    By canonical distances: from far out all samples are about as far, and roundings decide.
    """
    centers = own.select(rows).tile(0, len(rows)).astype(np.float64)
    found = []
    for tile in others.rows.tiles(_TILE):
        squared = [np.cumsum((tile - center) ** 2, axis=1)[:, -1] for center in centers]
        found.append(np.transpose(squared) <= squared_radii)
    return np.concatenate(found)


def _by_place(other: SideStatistics, n: int) -> list[Rows]:
    """Rows that are the only one of their class in the balls of many of the other."""
    if other.nearest is None:
        return []
    found = []
    for holds in other.holds.values():
        alone = np.bincount(other.nearest.place[holds == 1], minlength=n)
        much = _STANDARD_ERRORS * 0.5 * np.sqrt(len(holds))
        found.append(np.flatnonzero(alone > much))
    return found


def _dominant(amounts: NDArray[np.float64]) -> Rows:
    """Rows that have much of what all have together."""
    largest = float(amounts.max())
    if not largest > 0:
        return _NONE
    shares = amounts / largest / float((amounts / largest).sum())
    return np.flatnonzero(shares > _STANDARD_ERRORS / np.sqrt(len(amounts)))


def _scatter(features: FeatureSet) -> NDArray[np.float64]:
    """Return each row's squared distance to the mean."""
    sums = [tile.sum(axis=0, dtype=np.float64) for tile in features.rows.tiles(_TILE)]
    mean = np.sum(sums, axis=0) / len(features)
    return np.concatenate([((tile - mean) ** 2).sum(axis=1) for tile in features.rows.tiles(_TILE)])


def _shown(value: float) -> str:
    return f"{value:z.3f}" if abs(value) < 10 else f"{value:.4g}"
