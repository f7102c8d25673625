"""Tables to take along: text to read, and the numbers behind it in full precision."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from precall.curves.summaries import CURVE_SUMMARIES, IN_TABLES
from precall.results.table_formats import Cell
from precall.results.tables import (
    Table,
    best_first,
    best_of_several,
    curve_table,
    decimals,
    if_known,
    interval,
    interval_heading,
    score_table,
    score_value,
)

if TYPE_CHECKING:
    from precall.results.evaluation import Evaluation

T = TypeVar("T")

_IN_PAPERS = ("f_1_8", "f_8", "f_1", "area", "total_variation")


def table_of_scores(result: "Evaluation") -> Table:
    """One row a score: all that is known of it."""
    scores = result.scores.values()
    columns: dict[str, list[Cell]] = {
        "score": [*result.scores],
        "k": [score.k for score in scores],
        "value": [score.value for score in scores],
        **_ends("", [score.interval for score in scores], ()),
        "expected_if_equal": [score.expected_if_equal for score in scores],
    }
    more: dict[str, list[Cell]] = {
        "standard_deviation": [score.standard_deviation for score in scores],
        "ceiling": [c.perfect if (c := score.ceiling) else None for score in scores],
        "ceiling_generated": [c.generated if (c := score.ceiling) else None for score in scores],
    }
    known = {name: cells for name, cells in more.items() if _first(cells) is not None}
    text = score_table(result.scores.items(), on_page=True, confidence=result.confidence)
    return replace(text, numbers=columns | known)


def table_for_papers(result: "Evaluation") -> Table:
    """One row a score, and one a summary of the curve that models are compared by."""
    has_ends = result.confidence is not None
    headings = ["number", "k", "value", *[interval_heading(result.confidence)] * has_ends]
    rows = []
    for name, score in result.scores.items():
        value = score_value(score, decimals)
        ends = [interval(score.interval)] * has_ends
        expected = if_known(score.expected_if_equal, decimals)
        rows.append([name, if_known(score.k, str), value, *ends, expected])
    for curve, drawn in [*best_first(result).items()][:1]:
        band = result.bands.get(curve)
        for key in _IN_PAPERS:
            summary = CURVE_SUMMARIES[key]
            label = f"{summary.name} of the {curve} curve"
            value = decimals(summary.of(drawn))
            ends = [interval(band.summaries[key] if band else None)] * has_ends
            rows.append([label, result.protocol.shown_k(curve), value, *ends, ""])
    return Table("Scores, and what sums up the curve", [*headings, "if P = Q"], rows)


def table_of_models(results: Mapping[str, "Evaluation"]) -> Table:
    """One row a score, one column a model; in numbers the ends of intervals come last."""
    names = dict.fromkeys(name for result in results.values() for name in result.scores)
    by_model = {m: [r.scores.get(name) for name in names] for m, r in results.items()}
    by_name = [[score for score in row if score] for row in zip(*by_model.values(), strict=True)]
    ks = [_first(score.k for score in scores) for scores in by_name]
    expected = [_first(score.expected_if_equal for score in scores) for scores in by_name]
    columns: dict[str, list[Cell]] = {"score": [*names], "k": [*ks]}
    rows = [[name, if_known(k, str)] for name, k in zip(names, ks, strict=True)]
    for model, scores in by_model.items():
        columns[_unlike(columns, model)] = [s.value if s else None for s in scores]
        for row, score in zip(rows, scores, strict=True):
            row.append(score_value(score, decimals, with_interval=True))
    for row, value in zip(rows, expected, strict=True):
        row.append(if_known(value, decimals))
    columns[_unlike(columns, "expected_if_equal")] = [*expected]
    for model, scores in by_model.items():
        columns |= _ends(f"{model} ", [s.interval if s else None for s in scores], columns)
    headings = ["score", "k", *results, "if P = Q"]
    return Table("Scores of every model", headings, rows, columns)


def table_of_curves(result: "Evaluation") -> Table:
    """One row a curve: what is read off it."""
    named = {**result.curves, **best_of_several(result)}
    columns: dict[str, list[Cell]] = {
        "curve": [*named],
        "k": [result.protocol.k.get(name) for name in named],
    }
    bands = [result.bands.get(name) for name in named]
    for summary in IN_TABLES:
        columns[summary.key] = [summary.of(curve) for curve in named.values()]
        if summary.has_interval and result.bands:
            ends = [band.summaries[summary.key] if band else None for band in bands]
            columns |= _ends(f"{summary.key}_", ends, ())
    return replace(curve_table(result), numbers=columns)


def _ends(
    prefix: str, intervals: Iterable[tuple[float, float] | None], taken: Iterable[str]
) -> dict[str, list[Cell]]:
    known = list(intervals)
    return {
        _unlike(taken, f"{prefix}{end}"): [ends[i] if ends else None for ends in known]
        for i, end in enumerate(("low", "high"))
    }


def _unlike(taken: Iterable[str], name: str) -> str:
    """Return a name that no column has yet."""
    return _unlike(taken, f"{name}_") if name in taken else name


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
