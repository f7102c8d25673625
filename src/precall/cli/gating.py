"""The command gate: for continuous integration of models."""

from pathlib import Path

import click

from precall.cli import options
from precall.errors import InputError
from precall.monitoring.gate import gate
from precall.monitoring.junit import junit_text
from precall.results.evaluation import Evaluation
from precall.runtime.output_files import check_target, write_text

_FAILED = 1


@click.command("gate")
@click.argument("result", type=options.PATH, metavar="RESULT.json")
@click.option(
    "--against",
    type=options.PATH,
    required=True,
    metavar="BASELINE.json",
    help="Result of the model that must not be fallen behind.",
)
@click.option(
    "--max-drop",
    multiple=True,
    metavar="NAME=NUMBER",
    help="By how much a number may fall: recall=0.02, area=0.05. May be repeated.",
)
@click.option(
    "--max-rise",
    multiple=True,
    metavar="NAME=NUMBER",
    help="By how much a number may rise that is better the lower it is: frechet_distance=1.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    help="That a model passes which is worse in nothing by more than is allowed.",
)
@click.option("--junit", type=options.PATH, metavar="FILE", help="Write the checks as JUnit XML.")
@click.option("--markdown", type=options.PATH, metavar="FILE", help="Write them as Markdown.")
def gate_command(
    result: Path,
    against: Path,
    max_drop: tuple[str, ...],
    max_rise: tuple[str, ...],
    confidence: float,
    junit: Path | None,
    markdown: Path | None,
) -> int:
    """Judge whether a model is worse than a baseline by more than is allowed, clear of chance.

    Both results are written by precall evaluate --json, against the same real samples and in the
    same way. Names are those of scores, or of summaries of the curve: area, f_1, f_8, f_1_8.
    Several limits are judged together.

    Ends with status 0 if the model passes, 1 if it is significantly worse, and 2 if the two results
    cannot be compared.

    \b
    Example:
      precall gate result.json --against baseline.json --max-drop recall=0.02
      precall gate result.json --against baseline.json --max-drop area=0.02 --junit gate.xml
    """
    if not max_drop and not max_rise:
        raise click.UsageError(
            "name at least one number that may not get worse, such as --max-drop recall=0.02."
        )
    for target in (junit, markdown):
        if target is not None:
            check_target(target, [result, against])
    if junit is not None and junit == markdown:
        raise click.UsageError("--junit and --markdown would write the same file.")
    read = [Evaluation.from_json(path) for path in (result, against)]
    found = gate(
        *read,
        max_drop=_limits(max_drop, "--max-drop"),
        max_rise=_limits(max_rise, "--max-rise"),
        confidence=confidence,
    )
    if junit is not None:
        write_text(junit, junit_text(found))
    if markdown is not None:
        write_text(markdown, found.to_markdown())
    click.echo(str(found))
    return 0 if found.passed else _FAILED


def _limits(texts: tuple[str, ...], option: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            limit = float(number)
        except ValueError:
            name = ""
        if not name:
            raise click.UsageError(f"{option} must look like recall=0.02; got {text!r}.")
        if name in found:
            raise InputError(f"{name} is named twice.")
        found[name] = limit
    return found
