"""The command report: pages from results of earlier."""

from pathlib import Path

import click

from precall.cli import inputs, options
from precall.cli.outputs import saying_warnings
from precall.report.page import write_page
from precall.report.protocols import protocol_differences
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation
from precall.results.json_document import read_document
from precall.runtime.output_files import check_target


@click.command("report")
@click.argument("results", nargs=-1, required=True, metavar="[NAME=]RESULT.json...")
@options.page
@click.option("--title", help="Heading of the page.")
@options.images_real("the real samples")
@click.option(
    "--images-generated",
    multiple=True,
    metavar="[NAME=]DIR",
    help="Pictures of the generated samples of a model, likewise; may be repeated.",
)
def report_command(
    results: tuple[str, ...],
    out: Path,
    title: str | None,
    images_real: Path | None,
    images_generated: tuple[str, ...],
) -> None:
    """Write a page about results that evaluate or compare wrote as JSON, side by side.

    Results whose protocols differ are put together all the same, and the page says what differs.

    \b
    Example:
      precall report result.json
      precall report ours.json baseline=old/result.json --out models.html
    """
    files = inputs.named_or_plain_files(results)
    check_target(out, files.values())
    comparison = _read(files)
    found = dict(comparison.results)
    folders = _named_folders(images_generated, found)
    check_target(out, [*folders.values(), *([images_real] if images_real else [])])
    with saying_warnings():
        write_page(
            out,
            found,
            title=title,
            differences=comparison.differences,
            curve_differences=comparison.curve_differences,
            images_real=images_real,
            images_generated=folders,
        )
    for sentence in protocol_differences(found):
        click.echo(f"warning: {sentence}", err=True)
    click.echo(f"report: {out}")


def _read(files: dict[str, Path]) -> Comparison:
    """Read results, and the models of comparisons among them; differences of one comparison."""
    found: dict[str, Evaluation] = {}
    for name, path in files.items():
        if "results" not in read_document(path):
            models = {name: Evaluation.from_json(path)}
        else:
            comparison = Comparison.from_json(path)
            if len(files) == 1:
                return comparison
            models = dict(comparison.results)
            if models.keys() & (found.keys() | files.keys()):
                models = {f"{name}: {model}": result for model, result in models.items()}
        if twice := sorted(models.keys() & found.keys()):
            raise click.UsageError(
                f"two models are called {', '.join(twice)}; name each result with NAME=FILE."
            )
        found |= models
    return Comparison(found, ())


def _named_folders(texts: tuple[str, ...], found: dict[str, Evaluation]) -> dict[str, Path]:
    if len(found) == 1 and len(texts) == 1 and Path(texts[0]).exists():
        return {next(iter(found)): Path(texts[0])}
    folders = inputs.named_files(texts)
    for name in folders:
        if name not in found:
            raise click.UsageError(
                f"there are pictures of {name!r}, but no such model; choose from "
                f"{', '.join(found)}."
            )
    return folders
