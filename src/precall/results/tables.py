"""Results as tables of text: for a terminal, a notebook and a page."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from precall.curves.best import BEST
from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import CURVE_SUMMARIES, IN_TABLES, CurveSummary
from precall.results import table_formats
from precall.results.table_formats import Columns
from precall.runtime.output_files import write_text
from precall.scores import Score
from precall.uncertainty.bands import CurveBand

if TYPE_CHECKING:
    import pandas as pd

    from precall.results.evaluation import Evaluation

Number = Callable[[float], str]

significant: Number = "{:z.4g}".format  # wherever the point is
F_SCORES = CURVE_SUMMARIES["f_1_8"], CURVE_SUMMARIES["f_8"]  # precision and recall in short
_CLASSES_SIDE_BY_SIDE = 10


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; the first cell of each row is its heading.

    Text, Markdown and LaTeX are for readers; CSV and pandas have the numbers in full precision,
    where the table knows them.
    """

    caption: str
    headings: list[str]  # with line breaks where there may be little room
    rows: list[list[str]]
    numbers: Columns = field(default_factory=dict, repr=False)  # behind the text, by column

    def to_text(self, tablefmt: str = "simple", align: Literal["left", "right"] = "right") -> str:
        """Write the table without its caption, in a format of the tabulate package.

        ``align`` is for all columns but the first.
        """
        from tabulate import tabulate

        headings = self.headings
        if tablefmt == "html":
            headings = [heading.replace("\n", " ") for heading in headings]
        columns = ["left", *[align] * (len(headings) - 1)] if self.rows else None
        return tabulate(self.rows, headings, tablefmt, colalign=columns, disable_numparse=True)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return the table as CSV, and write it to ``path`` if one is given."""
        return written(table_formats.csv_text(self._columns()), path)

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """Return the table as Markdown, and write it to ``path`` if one is given."""
        return written(table_formats.markdown_text(self.headings, self.rows), path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str:
        """Return a table for LaTeX with booktabs, and write it to ``path`` if one is given."""
        return written(table_formats.latex_text(self.headings, self.rows), path)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas data frame."""
        return table_formats.data_frame(self._columns())

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file; its ending, .csv, .md or .tex, decides on the format."""
        table_formats.check_table_path(Path(path))
        formats = {".csv": self.to_csv, ".md": self.to_markdown, ".tex": self.to_latex}
        formats[Path(path).suffix.lower()](path)

    def _columns(self) -> Columns:
        if self.numbers:
            return self.numbers
        headings = [" ".join(heading.split()) for heading in self.headings]
        return {name: [row[i] for row in self.rows] for i, name in enumerate(headings)}


def written(text: str, path: str | PathLike[str] | None) -> str:
    """Return a text, and write it to ``path`` if one is given."""
    if path is not None:
        write_text(Path(path), text)
    return text


def decimals(value: float) -> str:
    """Write three decimals, or four digits of a large number."""
    return f"{value:z.3f}" if abs(value) < 10 else f"{value:.4g}"


def percent(share: float | None) -> str:
    """Write a share, if it is known."""
    return "" if share is None else f"{100 * share:.1f} %"


def interval(ends: tuple[float, float] | None, *, in_percent: bool = False) -> str:
    """Write both ends of an interval, if there is one."""
    number = (lambda end: f"{100 * end:z.1f}") if in_percent else decimals
    return " – ".join(map(number, ends or ()))


def interval_heading(confidence: float | None) -> str:
    """Write of what confidence intervals are, if it is known."""
    return "interval" if confidence is None else f"{100 * confidence:.4g} % interval"


def shown_trade_off(lam: float, digits: int = 3) -> str:
    """Write a trade-off, as a fraction where real weighs less."""
    if math.isinf(lam):
        return "∞"
    return f"1/{1 / lam:.{digits}g}" if 0 < lam < 0.995 else f"{lam:.{digits}g}"


def if_known(value: float | None, number: Number) -> str:
    """Write a number that may be unknown."""
    return "" if value is None else number(value)


def half_width(score: Score) -> float | None:
    """Return how far the interval of a score reaches to its longer side, if it has one."""
    if score.interval is None:
        return None
    low, high = score.interval
    return max(score.value - low, high - score.value)


def score_value(score: Score | None, number: Number, *, with_interval: bool = False) -> str:
    """Write a score with its deviation over subsets, or half the width of its interval."""
    if score is None:
        return ""
    half = half_width(score) if with_interval else None
    if half is not None:
        return f"{score.value:.3f} ± {half:.3f}"
    deviation = score.standard_deviation
    return number(score.value) + ("" if deviation is None else f" ± {deviation:.2g}")


def summary_value(
    summary: CurveSummary, curve: PRCurve, band: CurveBand | None, *, ends: bool
) -> str:
    """Write a summary of a curve with its interval, where it has one: its ends below it, or ±."""
    value = f"{summary.of(curve):.3f}"
    if band is None or not summary.has_interval:
        return value
    low, high = band.summaries[summary.key]
    return f"{value}\n{interval((low, high))}" if ends else f"{value} ± {(high - low) / 2:.3f}"


def best_of_several(result: "Evaluation") -> dict[str, PRCurve]:
    """Return the best curve under its name, if there are several curves."""
    if result.best_curve is None or len(result.curves) < 2:
        return {}
    return {BEST: result.best_curve}


def best_first(result: "Evaluation") -> dict[str, PRCurve]:
    """Return all curves of a result, the best of several first: the one to compare."""
    return {**best_of_several(result), **result.curves}


def scores_by_name(scores: Mapping[str, Score]) -> dict[str, dict[int | None, Score]]:
    """Put the scores together that differ in k alone."""
    by_name: dict[str, dict[int | None, Score]] = {}
    for name, score in scores.items():
        by_name.setdefault(name.removesuffix(f"_k{score.k}"), {})[score.k] = score
    return by_name


def printed_tables(result: "Evaluation") -> list[Table]:
    """Return all that is printed of a result."""
    tables = []
    if result.scores:
        tables.append(_printed_scores(result.scores))
    if result.curves:
        tables.append(curve_table(result))
    if result.bands:
        tables.append(_band_table(result.bands))
    if result.tests:
        rows = [[name, f"{t.accuracy:.4g}", f"{t.p_value:.2g}"] for name, t in result.tests.items()]
        tables.append(Table("Tests", ["test for P = Q", "accuracy", "p-value"], rows))
    classes = class_table(result)
    for start in range(0, len(classes.rows), _CLASSES_SIDE_BY_SIDE):
        columns = zip(classes.headings, *classes.rows[start:][:_CLASSES_SIDE_BY_SIDE], strict=True)
        headings, *rows = map(list, columns)
        tables.append(Table(classes.caption, headings, rows))
    return tables


def score_table(
    named: Iterable[tuple[str, Score]], *, on_page: bool = False, confidence: float | None = None
) -> Table:
    """One row a score: all that is known of it.

    A page writes decimals, explains more, and leaves out what is known of no score.
    """
    number = decimals if on_page else significant
    columns: dict[str, Callable[[Score], str]] = {
        "k": lambda score: if_known(score.k, str),
        "value": lambda score: score_value(score, number),
        "if P = Q": lambda score: if_known(score.expected_if_equal, number),
        interval_heading(confidence): lambda score: interval(score.interval),
        "real against real" if on_page else "real": lambda s: _ceiling(s, "perfect", number),
        "generated,\nas many": lambda s: _ceiling(s, "generated", number),
    }
    pairs, kept = list(named), {"k"} if on_page else {"k", "if P = Q"}
    shown = {h: cell for h, cell in columns.items() if h in kept or any(cell(s) for _, s in pairs)}
    rows = [[name, *(cell(score) for cell in shown.values())] for name, score in pairs]
    return Table("Scores", ["score", *shown], rows)


def _ceiling(score: Score, which: str, number: Number) -> str:
    return "" if score.ceiling is None else number(getattr(score.ceiling, which))


def class_table(result: "Evaluation", *, on_page: bool = False) -> Table:
    """One row a class: its share of each side, its scores and, if printed, F of its curves."""
    parts, number = result.classes, decimals if on_page else significant
    scores = list(dict.fromkeys(name for part in parts.values() for name in part.scores))
    curves = dict.fromkeys(name for part in parts.values() for name in part.curves)
    f_scores = [] if on_page else list(product(curves, F_SCORES))
    rows = []
    for label, share in result.class_shares.items():
        known = parts[label].scores if label in parts else {}
        drawn = parts[label].curves if label in parts else {}
        row = [label, percent(share.real), percent(share.generated)]
        row += [score_value(known.get(name), number) for name in scores]
        row += [number(f.of(drawn[name])) if name in drawn else "" for name, f in f_scores]
        rows.append(row)
    names = [*scores, *(f"{name} curve, {f.name}" for name, f in f_scores)]
    return Table("Class by class", ["class", "share of real", "share of generated", *names], rows)


def curve_table(result: "Evaluation") -> Table:
    """One row a curve: what is read off it."""
    named, k = {**result.curves, **best_of_several(result)}, result.protocol.shown_k
    rows = [
        [name, k(name), *(f"{summary.of(curve):.4f}" for summary in IN_TABLES)]
        for name, curve in named.items()
    ]
    return Table("Curves", ["curve", "k", *(summary.heading for summary in IN_TABLES)], rows)


def _band_table(bands: Mapping[str, CurveBand]) -> Table:
    shown = [summary for summary in IN_TABLES if summary.has_interval]
    rows = [
        [name, *(interval(band.summaries[summary.key]) for summary in shown)]
        for name, band in bands.items()
    ]
    title = interval_heading(next(iter(bands.values())).confidence)
    return Table("Intervals", [title, *(summary.heading for summary in shown)], rows)


def _printed_scores(scores: Mapping[str, Score]) -> Table:
    """One row a score and k; ks side by side where there are neither intervals nor ceilings."""
    by_name = scores_by_name(scores)
    has_more = any(score.interval or score.ceiling for score in scores.values())
    if has_more or len(by_name) == len(scores):
        named = [(name, score) for name, of_k in by_name.items() for score in of_k.values()]
        return score_table(named)
    ks = sorted({score.k for score in scores.values() if score.k is not None})
    rows = [
        [name, *(_with_expected(of_k.get(k, of_k.get(None))) for k in ks)]
        for name, of_k in by_name.items()
    ]
    return Table("Scores", ["score", *(f"k = {k}" for k in ks)], rows)


def _with_expected(score: Score | None) -> str:
    """A value, in parentheses what it would be if P = Q at this k."""
    value = score_value(score, significant)
    if score is None or score.k is None or score.expected_if_equal is None:
        return value
    return f"{value} ({score.expected_if_equal:.3f})"
