"""The tables of a page."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import IN_TABLES
from precall.findings.modes import Mode
from precall.report.words import difference_in_words, in_words
from precall.results import tables
from precall.results.differences import Difference
from precall.results.evaluation import Evaluation
from precall.results.number_tables import table_of_models
from precall.results.tables import Table, best_first, interval, percent, shown_trade_off
from precall.uncertainty.bands import CurveBand

_MOST_LABELS = 2  # of a mode
_TRADE_OFFS = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, math.inf)


def summary_tables(results: Mapping[str, Evaluation]) -> tuple[Table, Table]:
    """One row a curve: its summaries; of the first curve of every model, then of the others."""
    rows: dict[bool, list[list[str]]] = {True: [], False: []}
    for drawn in _curves(results):
        values = (tables.summary_value(s, drawn.curve, drawn.band, ends=True) for s in IN_TABLES)
        rows[drawn.is_first].append([drawn.title, *values])
    headings = ["curve", *(summary.heading for summary in IN_TABLES)]
    captions = "Summaries of the curve" + "s" * (len(rows[True]) > 1), "Summaries of other curves"
    return Table(captions[0], headings, rows[True]), Table(captions[1], headings, rows[False])


def trade_off_table(results: Mapping[str, Evaluation]) -> Table:
    """Precision and recall of every curve at a few trade-offs."""
    rows = [
        [title, *(f"{p:.3f} / {r:.3f}" for p, r in zip(*curve.at(_TRADE_OFFS), strict=True))]
        for title, curve, *_ in _curves(results)
    ]
    headings = ["curve", *(f"λ = {shown_trade_off(lam)}" for lam in _TRADE_OFFS)]
    return Table("Precision / recall at some trade-offs λ", headings, rows)


def score_table(results: Mapping[str, Evaluation]) -> Table:
    """One row a score: all that is known of it, or the values of several models."""
    if len(results) == 1:
        (result,) = results.values()
        named, confidence = result.scores.items(), result.confidence
        return tables.score_table(named, on_page=True, confidence=confidence)
    return table_of_models(results)


def score_table_in_words(results: Mapping[str, Evaluation]) -> Table:
    """Return :func:`score_table` with names in words, which tell k where there are several."""
    table = score_table(results)
    named = [[in_words(row[0]), *row[1:]] for row in table.rows]
    tells_k = any(", k = " in row[0] for row in named)
    kept = [i for i, heading in enumerate(table.headings) if not (tells_k and heading == "k")]
    headings, *rows = ([row[i] for i in kept] for row in (table.headings, *named))
    return Table(table.caption, headings, rows)


def difference_table(differences: Sequence[Difference]) -> Table:
    """One row a difference that is clear of chance."""
    rows = [
        [difference_in_words(d.what), d.first, d.second, f"{d.value:+.3f}", interval(d.interval)]
        for d in differences
        if d.is_clear
    ]
    headings = ["of", "model", "less", "difference", "interval, all at once"]
    return Table("Differences that are clear of chance", headings, rows)


def mode_table(modes: Sequence[Mode]) -> Table:
    """One row a mode, or a region; with labels, what most of its samples are."""
    is_labelled = any(mode.labels for mode in modes)
    rows = [
        [
            str(number),
            *([_labels(mode)] if is_labelled else []),
            f"{percent(mode.real_mass)}\n{interval(mode.real_interval, in_percent=True)}",
            f"{percent(mode.generated_mass)}\n{interval(mode.generated_interval, in_percent=True)}",
            mode.finding,
            f"{mode.p_value:.2g}",
        ]
        for number, mode in enumerate(modes, start=1)
    ]
    kind = modes[0].kind
    headings = [kind, *(["labels"] if is_labelled else [])]
    headings += ["of real", "of generated", "finding", "p-value"]
    return Table(f"{kind.capitalize()}s", headings, rows)


def _labels(mode: Mode) -> str:
    """The most frequent labels of a mode, a line each."""
    return "\n".join(f"{one.label}: {percent(one.share)}" for one in mode.labels[:_MOST_LABELS])


def class_table(result: Evaluation) -> Table:
    """One row a class, under the names of scores in words."""
    table = tables.class_table(result, on_page=True)
    return Table(table.caption, [in_words(heading) for heading in table.headings], table.rows)


class _Drawn(NamedTuple):
    """A curve of a model, with its band if it has one."""

    title: str
    curve: PRCurve
    band: CurveBand | None
    is_first: bool  # of its model


def _curves(results: Mapping[str, Evaluation]) -> list[_Drawn]:
    """Return every curve of every model."""
    return [
        _Drawn(
            in_words(name) if len(results) == 1 else f"{model}: {in_words(name)}",
            curve,
            result.bands.get(name),
            number == 0,
        )
        for model, result in results.items()
        for number, (name, curve) in enumerate(best_first(result).items())
    ]
