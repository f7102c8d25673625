"""On which scale a score is drawn: shares and ratios on one, every distance on its own."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from precall.scores import METRICS, Score

_LARGEST_RATIO = 1.5  # drawn to scale: shares end at 1, and so does density where P = Q

Side = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale, and the scores that are drawn on it."""

    names: tuple[str, ...]
    ends: tuple[float, float]
    is_distance: bool

    def side(self, value: float) -> Side:
        """Return 0 if a value is on the scale, -1 if it lies below it, 1 if above."""
        low, high = self.ends
        return -1 if value < low else 1 if value > high else 0

    def cut(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        """Return the part of an interval that is on the scale, if there is some."""
        if interval is None or self.side(interval[0]) == 1 or self.side(interval[1]) == -1:
            return None
        return max(interval[0], self.ends[0]), min(interval[1], self.ends[1])


def score_scales(of_models: Sequence[Mapping[str, Score]]) -> list[Scale]:
    """Return the scales of all scores of one model or several: that of shares, then distances."""
    known: dict[str, list[Score]] = {}
    for scores in of_models:
        for name, score in scores.items():
            if not math.isnan(score.value):
                known.setdefault(name, []).append(score)
    distances = [name for name, scores in known.items() if _is_distance(name, scores)]
    shares = [name for name in known if name not in distances]
    found = [Scale(tuple(shares), _share_ends(known, shares), False)] if shares else []
    return found + [Scale((name,), _distance_ends(known[name]), True) for name in distances]


def marks(score: Score) -> dict[str, float]:
    """Return what a score is to be seen against: its value if P = Q, and that of real samples."""
    found = {"if P = Q": score.expected_if_equal}
    if score.ceiling is not None:
        found["real against real"] = score.ceiling.perfect
    return {name: v for name, v in found.items() if v is not None and math.isfinite(v)}


def _is_distance(name: str, scores: Sequence[Score]) -> bool:
    """Whether a score is a distance; one's own score may be if it does not look like a share."""
    metric = METRICS.get(name.removesuffix(f"_k{scores[0].k}"))
    if metric is not None:
        return metric.unit == "distance"
    return not all(0 <= score.value <= _LARGEST_RATIO for score in scores)


def _share_ends(known: Mapping[str, Sequence[Score]], names: Iterable[str]) -> tuple[float, float]:
    """From 0 to 1, or as far beyond as ratios go, within reason."""
    on_scale = [s for name in names for s in known[name] if s.value <= _LARGEST_RATIO]
    drawn = [number for score in on_scale for number in _numbers(score)]
    return 0.0, min(max([1.0, *drawn]), _LARGEST_RATIO)


def _distance_ends(scores: Sequence[Score]) -> tuple[float, float]:
    """From 0 to the largest; to the smallest, too, where an estimate may be negative."""
    drawn = [number for score in scores for number in _numbers(score)]
    low, high = min([0.0, *drawn]), max([0.0, *drawn])
    return (low, high) if high > low else (0.0, 1.0)


def _numbers(score: Score) -> list[float]:
    """Everything finite that is drawn of a score."""
    numbers = [score.value, *(score.interval or ()), *marks(score).values()]
    return [number for number in numbers if math.isfinite(number)]
