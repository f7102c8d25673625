"""Tables in the formats of other programs: CSV, Markdown, LaTeX, pandas."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from precall.errors import InputError
from precall.runtime.refusals import needed

if TYPE_CHECKING:
    import pandas as pd

Cell = str | int | float | None
Columns = Mapping[str, Sequence[Cell]]

ENDINGS = (".csv", ".md", ".tex")
_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "±": r"$\pm$",
    "½": r"$\frac{1}{2}$",
    "√": r"$\surd$",
    "λ": r"$\lambda$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_SPECIAL = re.compile("|".join(map(re.escape, _IN_LATEX)))


def check_table_path(path: Path) -> None:
    """Refuse endings that stand for no format."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a table can only be written to a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file; "
            f"got {path}."
        )


def csv_text(columns: Columns) -> str:
    """Write numbers in full precision, and nothing where there is none."""
    text = io.StringIO()
    rows = zip(*columns.values(), strict=True)
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def markdown_text(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table as Markdown on GitHub has it; numbers stand to the right."""
    lines = [[_in_markdown(cell) for cell in row] for row in (headings, *rows)]
    rule = ["---", *["---:"] * (len(lines[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (lines[0], rule, *lines[1:]))


def latex_text(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table for LaTeX with the package booktabs."""
    top, *body = ([_in_latex(cell) for cell in row] for row in (headings, *rows))
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{l{'r' * (len(top) - 1)}}}",
            r"\toprule",
            rf"{' & '.join(top)} \\",
            r"\midrule",
            *(rf"{' & '.join(row)} \\" for row in body),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def latex_float(tabular: str, caption: str) -> str:
    """Put a table of LaTeX under a caption."""
    needs, rest = tabular.split("\n", 1)
    return (
        "\n".join([needs, r"\begin{table}", r"\centering", rf"\caption{{{_in_latex(caption)}}}"])
        + f"\n{rest}\\end{{table}}\n"
    )


def data_frame(columns: Columns) -> "pd.DataFrame":
    """Return a pandas data frame; whole numbers stay whole where some are missing."""
    pandas = needed("pandas", "to_pandas() needs", "'precall[tables]'")
    found = {name: _in_pandas(pandas, column) for name, column in columns.items()}
    frame: pd.DataFrame = pandas.DataFrame(found)
    return frame


def _in_pandas(pandas: object, column: Sequence[Cell]) -> object:
    known = [cell for cell in column if cell is not None]
    if any(isinstance(cell, str) for cell in known):
        return list(column)
    is_whole = bool(known) and all(isinstance(cell, int) for cell in known)
    return pandas.array(column, dtype="Int64" if is_whole else "float64")  # type: ignore[attr-defined]


def _in_markdown(cell: str) -> str:
    return " ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|")


def _in_latex(cell: str) -> str:
    return _SPECIAL.sub(lambda found: _IN_LATEX[found[0]], " ".join(cell.split()))
