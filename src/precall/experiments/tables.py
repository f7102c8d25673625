"""Rows of experiments as tables, and a page of all that is finished."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from precall.experiments.base import Experiment, Row
from precall.experiments.running import Outcome

_PAPERS = """\
* Sykes, Simon, Rabin (2024): Unifying and extending precision–recall metrics
* Cheema, Urner (2023): Precision recall cover
* Simon, Webster, Rabin (2019): Revisiting precision and recall definition
* the tutorial: a tutorial on precision and recall of generative models"""


def experiment_list(experiments: Iterable[Experiment]) -> str:
    """List experiments with what they are and how long they take."""
    from tabulate import tabulate

    rows = [[e.name, e.title, e.where, *map(_duration, e.seconds)] for e in experiments]
    return tabulate(rows, ["name", "what", "where", "quick", "full"], disable_numparse=True)


def row_table(rows: Sequence[Row], tablefmt: str = "simple") -> str:
    """Set the published beside ours."""
    from tabulate import tabulate

    cells = [
        [
            row.what,
            _shown(row.published),
            _shown(row.ours) + ("" if row.spread is None else f" ± {row.spread:.3f}"),
            "" if row.difference is None else f"{row.difference:+.3f}",
            row.verdict,
            row.note,
        ]
        for row in rows
    ]
    headings = ["", "published", "ours", "difference", "verdict", "note"]
    if not any(row.note for row in rows):
        cells, headings = [row[:-1] for row in cells], headings[:-1]
    align = ["left", "right", "right", "right", "left", "left"][: len(headings)]
    return tabulate(cells, headings, tablefmt, colalign=align, disable_numparse=True)


def page(outcomes: Sequence[Outcome]) -> str:
    """Write a page in Markdown with the figure and the table of every experiment."""
    parts = [
        "# The papers, number by number",
        "Written by `precall reproduce`. *agrees* and *differs* compare with a published number, "
        "*holds* and *fails* test a claim that is made in words, *new* is a number that no paper "
        "has; ± is the standard deviation over repetitions.",
        _PAPERS,
        *(_section(outcome) for outcome in outcomes),
    ]
    return "\n\n".join(parts) + "\n"


def _section(outcome: Outcome) -> str:
    experiment = outcome.experiment
    size = "quick" if outcome.size.quick else "full"
    parts = [
        f"## {experiment.name}: {experiment.title}",
        f"{experiment.where}. `{_command(outcome)}`, {size} size, seed {outcome.seed}, "
        f"{_duration(outcome.seconds)}.",
        f"![{experiment.title}]({outcome.figure.name})",
        f"*{experiment.caption}*",
        row_table([_escaped(row) for row in outcome.rows], "github"),
    ]
    return "\n\n".join(parts)


def _command(outcome: Outcome) -> str:
    words = ["precall", "reproduce", outcome.experiment.name]
    words += ["--quick"] if outcome.size.quick else []
    words += [f"--repeats {outcome.size.repeats}"] if outcome.size.repeats else []
    words += [f"--seed {outcome.seed}"] if outcome.seed else []
    return " ".join(words)


def _escaped(row: Row) -> Row:
    return replace(row, what=row.what.replace("|", "\\|"), note=row.note.replace("|", "\\|"))


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _shown(value: float | str | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.3f}"
