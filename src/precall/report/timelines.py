"""Results over time on a page: in words, in charts, in numbers."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from precall.monitoring.checkpoints import numbers_of
from precall.monitoring.timeline import TimeLine, Track
from precall.report.charts import drawn_curve
from precall.report.words import difference_in_words, in_words
from precall.results.evaluation import Evaluation
from precall.results.flat_numbers import FlatNumber
from precall.results.tables import Table, best_first, decimals, interval, interval_heading

_MOST_NAMED = 4


def track_in_words(track: Track) -> str:
    """Write what a track follows.

    Examples
    --------
    >>> from precall.results.flat_numbers import FlatNumber
    >>> number = {"a": FlatNumber(0.5, None, 22, "knn", False)}
    >>> track_in_words(Track("knn_curve_f_1", number, "a", (), False))
    'F 1 of the knn curve'
    """
    first = next(iter(track.values.values()))
    if first.curve is None:
        return in_words(track.name)
    key = track.name.removeprefix(f"{first.curve}_curve_")
    return difference_in_words(f"{key} of the {first.curve} curve")


def title_of(line: TimeLine) -> str:
    """Say where the number is highest by which a result may be chosen."""
    if (key := line.best_by) is None:
        return "Over time"
    track = line.tracks[key]
    return f"Highest {track_in_words(track)}: {track.best}"


def sentences_of(line: TimeLine) -> list[str]:
    """Say of every number where it is highest, and whether others are lower by more than chance."""
    said = [_sentence(track) for track in line.tracks.values() if len(track.values) > 1]
    if line.n_comparisons and any(track.is_judged for track in line.tracks.values()):
        said.append(
            f"All {line.n_comparisons} comparisons of two results hold at once, with at least "
            f"{100 * line.confidence:.4g} % confidence at each look."
        )
    return said


def _sentence(track: Track) -> str:
    names, what = list(track.values), track_in_words(track)
    best = f"{what[0].upper()}{what[1:]} is highest at {track.best} ({_value(track, track.best)})"
    if not track.is_judged:
        return f"{best}; whether that is chance is not known, for want of comparable intervals."
    if not track.worse:
        return f"{best}, but no other is lower by more than chance."
    lower = f"{len(track.worse)} of {len(names) - 1} others are lower by more than chance"
    if len(track.worse) == 1:
        lower = f"1 of {len(names) - 1} others is lower by more than chance"
    named = f": {', '.join(track.worse)}" if len(track.worse) <= _MOST_NAMED else ""
    last = names[-1]
    if last == track.best:
        return f"{best}; {lower}{named}."
    how = "is one of them" if last in track.worse else "cannot be told from it"
    return f"{best}; {lower}{named}. The last, {last}, {how}."


def _value(track: Track, result: str) -> str:
    return decimals(track.values[result].value)


def timeline_table(line: TimeLine) -> Table:
    """One row a result."""
    rows = []
    for result in next(iter(line.tracks.values())).values if line.tracks else ():
        cells = []
        for track in line.tracks.values():
            number = track.values[result]
            mark = " ★" if result == track.best else ""
            ends = f"\n{interval(number.interval)}" if number.interval else ""
            cells.append(f"{decimals(number.value)}{mark}{ends}")
        rows.append([result, *cells])
    headings = ["result", *(track_in_words(track) for track in line.tracks.values())]
    return Table("Over time", headings, rows)


def interval_in_words(results: Mapping[str, Evaluation]) -> str:
    """Write of what confidence the intervals of all results are."""
    confidences = {result.confidence for result in results.values()}
    return interval_heading(next(iter(confidences)) if len(confidences) == 1 else None)


def timeline_data(
    line: TimeLine,
    results: Mapping[str, Evaluation],
    *,
    with_curves: bool,
    refresh_seconds: float | None = None,
) -> dict[str, Any]:
    """Return what the script of a page draws of results over time."""
    labels = list(results)
    curves = _curves(results) if with_curves else []
    by_area = line.tracks.get("area")
    return {
        "labels": labels,
        "numbers": _increasing(numbers_of(labels)),
        "tracks": [_drawn_track(track, labels) for track in line.tracks.values()],
        "curves": curves,
        "best": labels.index(by_area.best) if curves and by_area is not None else None,
        "refreshSeconds": refresh_seconds,
    }


def _increasing(numbers: list[int] | None) -> list[int] | None:
    """Return numbers that time may be measured by: such as only grow."""
    if numbers is None or any(after <= before for before, after in pairwise(numbers)):
        return None
    return numbers


def _curves(results: Mapping[str, Evaluation]) -> list[dict[str, Any]]:
    """Return the curve that models are compared by, of every result, if all have it."""
    named = {label: best_first(result) for label, result in results.items()}
    chosen = next(iter(next(iter(named.values()))), None)
    if chosen is None or not all(chosen in curves for curves in named.values()):
        return []
    return [
        {"label": label, **drawn_curve(chosen, named[label][chosen], result.bands.get(chosen))}
        for label, result in results.items()
    ]


def _drawn_track(track: Track, labels: list[str]) -> dict[str, Any]:
    numbers = [track.values[label] for label in labels]
    ends = [number.interval or (None, None) for number in numbers]
    return {
        "title": track_in_words(track),
        "values": [float(np.round(number.value, 6)) for number in numbers],
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
        "texts": [_text(number) for number in numbers],
        "best": labels.index(track.best),
        "worse": [labels.index(result) for result in track.worse],
    }


def _text(number: FlatNumber) -> str:
    ends = f" ({interval(number.interval)})" if number.interval else ""
    return f"{decimals(number.value)}{ends}"
