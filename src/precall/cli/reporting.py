"""The command report: pages from results of earlier."""

from pathlib import Path

import click

from precall.cli import options
from precall.report.page import write_page
from precall.report.protocols import protocol_differences
from precall.results.comparison import Comparison, Difference
from precall.results.evaluation import Evaluation
from precall.results.json_document import read_document
from precall.runtime.output_files import check_target


@click.command("report")
@click.argument("results", nargs=-1, required=True, metavar="[NAME=]RESULT.json...")
@click.option(
    "--out",
    type=options.PATH,
    default=Path("report.html"),
    callback=options.as_page,
    help="Page to write.",
)
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
    files = _named_documents(results)
    check_target(out, files.values())
    found, differences = _read(files)
    folders = _named_folders(images_generated, found)
    check_target(out, [*folders.values(), *([images_real] if images_real else [])])
    write_page(
        out,
        found,
        title=title,
        differences=differences,
        images_real=images_real,
        images_generated=folders,
    )
    for sentence in protocol_differences(found):
        click.echo(f"warning: {sentence}", err=True)
    click.echo(f"report: {out}")


def _named_documents(texts: tuple[str, ...]) -> dict[str, Path]:
    """Name each document by NAME= or by its file, in full where two would be called the same."""
    named = tuple(text for text in texts if "=" in text and not Path(text).exists())
    files = options.named_files(named)
    plain = [Path(text) for text in texts if text not in named]
    stems = [path.stem for path in plain]
    for path in plain:
        name = path.stem if stems.count(path.stem) == 1 and path.stem not in files else str(path)
        if name in files:
            raise click.UsageError(f"{path} is given twice.")
        files[name] = path
    return files


def _read(files: dict[str, Path]) -> tuple[dict[str, Evaluation], tuple[Difference, ...]]:
    """Read results, and the models of comparisons among them."""
    found: dict[str, Evaluation] = {}
    differences: tuple[Difference, ...] = ()
    for name, path in files.items():
        if "results" not in read_document(path):
            models = {name: Evaluation.from_json(path)}
        else:
            comparison = Comparison.from_json(path)
            models = dict(comparison.results)
            if len(files) == 1:
                differences = comparison.differences
            elif models.keys() & (found.keys() | files.keys()):
                models = {f"{name}: {model}": result for model, result in models.items()}
        if twice := sorted(models.keys() & found.keys()):
            raise click.UsageError(
                f"two models are called {', '.join(twice)}; name each result with NAME=FILE."
            )
        found |= models
    return found, differences


def _named_folders(texts: tuple[str, ...], found: dict[str, Evaluation]) -> dict[str, Path]:
    if len(found) == 1 and len(texts) == 1 and Path(texts[0]).exists():
        return {next(iter(found)): Path(texts[0])}
    folders = options.named_files(texts)
    for name in folders:
        if name not in found:
            raise click.UsageError(
                f"there are pictures of {name!r}, but no such model; choose from "
                f"{', '.join(found)}."
            )
    return folders
