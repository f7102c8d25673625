"""Results of one model over time: which is best, and which are worse by more than chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from precall.monitoring.comparable import why_not_comparable
from precall.monitoring.stored_differences import Measured, interval_of_difference
from precall.results.evaluation import Evaluation
from precall.results.flat_numbers import FlatNumber, compared_summary, flat_numbers

_SCORES = {  # what stands for precision and for recall: the first that all results have
    "precision": ("support_precision", "precision"),
    "recall": ("recall_at_half", "recall"),
}
_SUMMARIES = ("f_1", "area")
_BEST_BY = ("area", "f_1", "recall", "precision")
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Track:
    """One number over time."""

    name: str  # flat name of the number
    values: Mapping[str, FlatNumber]  # by result
    best: str  # which result has the highest
    worse: tuple[str, ...]  # those that are lower by more than chance
    is_judged: bool  # whether all have intervals, and can be compared


@dataclass(frozen=True, slots=True)
class TimeLine:
    """Precision, recall, F and area of results in their order.

    All pairs of results and all numbers are one family, each pair of which gets an equal part of
    the error (Bonferroni): if all results are of equally good models, the chance that any is said
    to be worse than another is at most 1 − confidence, at each look.
    """

    tracks: Mapping[str, Track]  # "precision", "recall", "f_1", "area": those that there are
    n_comparisons: int
    confidence: float

    @classmethod
    def of(cls, results: Mapping[str, Evaluation], confidence: float = _CONFIDENCE) -> Self:
        """Follow the numbers that all results have."""
        numbers = {name: flat_numbers(result) for name, result in results.items()}
        followed = {
            key: name
            for key, name in _names(results).items()
            if all(name in of_result for of_result in numbers.values())
        }
        n_pairs = len(results) * (len(results) - 1) // 2
        n_comparisons = n_pairs * len(followed)
        each = 1 - (1 - confidence) / max(1, n_comparisons)
        confidences = {name: r.confidence or confidence for name, r in results.items()}
        tracks = {}
        for key, name in followed.items():
            values = {result: of_result[name] for result, of_result in numbers.items()}
            is_judged = _are_comparable(list(results.values()), values)
            tracks[key] = _track(name, values, confidences, each, is_judged=is_judged)
        return cls(tracks, n_comparisons, confidence)

    @property
    def clear(self) -> dict[str, tuple[str, ...]]:
        """Return by number which results are lower than the best by more than chance, if any."""
        return {key: track.worse for key, track in self.tracks.items() if track.worse}

    @property
    def best_by(self) -> str | None:
        """The number by which one result is called the best."""
        return next((key for key in _BEST_BY if key in self.tracks), None)


def _names(results: Mapping[str, Evaluation]) -> dict[str, str]:
    """Return the flat name of each number that is followed."""
    first = next(iter(results.values()))
    found: dict[str, str] = {}
    for key, choices in _SCORES.items():
        common = [name for name in choices if all(name in r.scores for r in results.values())]
        found |= {key: common[0]} if common else {}
    of_curve = {key: compared_summary(first, key) for key in _SUMMARIES}
    return found | {key: name for key, name in of_curve.items() if name is not None}


def _are_comparable(results: Sequence[Evaluation], values: Mapping[str, FlatNumber]) -> bool:
    first, *_ = numbers = list(values.values())
    if any(number.interval is None or number.k != first.k for number in numbers):
        return False
    of_curve = first.curve is not None
    return all(why_not_comparable(r, results[0], of_curve=of_curve) is None for r in results)


def _track(
    name: str,
    values: Mapping[str, FlatNumber],
    confidences: Mapping[str, float],
    each: float,
    *,
    is_judged: bool,
) -> Track:
    best = max(values, key=lambda result: values[result].value)
    worse: tuple[str, ...] = ()
    if is_judged:
        measured = {r: Measured.of(number, confidences[r]) for r, number in values.items()}
        worse = tuple(
            result
            for result in values
            if result != best
            and interval_of_difference(measured[best], measured[result], each)[0] > 0
        )
    return Track(name, values, best, worse, is_judged)
