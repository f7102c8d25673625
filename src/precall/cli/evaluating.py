"""The commands evaluate and compare."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from precall.cli import options
from precall.evaluation.compare import compare
from precall.evaluation.evaluate import evaluate
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation
from precall.scores.conventions import CONVENTIONS

Result = Evaluation | Comparison


@click.command("evaluate")
@options.real
@options.generated
@options.columns
@options.estimators
@click.option(
    "--k",
    metavar="INT|SQRT|CV",
    default="sqrt",
    callback=options.as_k,
    help="Number of neighbours; sqrt is the root of the smaller sample size, cv leaves it to "
    "cross-validation.",
)
@click.option(
    "--split/--no-split",
    default=None,
    help="Fit on a random half and evaluate the other, as Sykes et al. 2024 do, or use every "
    "sample for both. [default: four random halves, or two folds with --no-intervals]",
)
@click.option("--folds", type=int, metavar="F", help="Cross-fit over F folds.")
@click.option(
    "--coin-flip",
    is_flag=True,
    help="Let a coin decide, for each pair of a real and a generated sample, which one fits.",
)
@click.option(
    "--curves/--no-curves",
    default=True,
    show_default=False,
    help="Whether to estimate curves at all.",
)
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="NAME|all|none",
    help="Score to compute; may be repeated. [default: the headline, precision, recall, density, "
    "coverage and covers, or what the convention's program prints]",
)
@click.option(
    "--score-k",
    type=click.IntRange(min=1),
    multiple=True,
    callback=lambda _context, _option, ks: ks or None,
    metavar="INT",
    help="Number of neighbours of the scores; may be repeated. [default: each score's own]",
)
@options.headline
@click.option(
    "--convention",
    type=click.Choice(list(CONVENTIONS)),
    default="precall",
    help="Program whose scores to reproduce.",
)
@click.option(
    "--labels-real", type=options.PATH, help="Classes of REAL: .npy, or text with one label a line."
)
@click.option("--labels-generated", type=options.PATH, help="Classes of GENERATED, likewise.")
@click.option(
    "--intervals/--no-intervals",
    default=True,
    help="Tell how uncertain scores and curves are; unless a split is chosen, curves are then the "
    "mean over four random halves.",
)
@options.confidence
@options.modes
@click.option(
    "--ceiling",
    is_flag=True,
    help="Tell what a perfect generator would score: half of REAL against the other half.",
)
@click.option(
    "--held-out",
    type=options.PATH,
    help="Other real samples for the ceiling, instead of half of REAL.",
)
@options.seed
@click.option("--engine", default="auto", help="Engine that measures distances.")
@click.option("--threads", type=int, help="Number of threads. [default: one per core]")
@options.json
@options.html
@options.images_real("REAL for the page")
@click.option(
    "--images-generated",
    type=options.PICTURES,
    metavar="DIR|MANIFEST",
    help="Pictures of GENERATED, likewise.",
)
@click.option(
    "--samples",
    "samples_path",
    type=options.PATH,
    help="Write what is known of every sample: s.csv gives s-real.csv and s-generated.csv; or "
    ".parquet.",
)
def evaluate_command(
    real: Path,
    generated: Path,
    columns: str | None,
    estimators: tuple[str, ...],
    k: options.K,
    split: bool | None,
    folds: int | None,
    coin_flip: bool,
    curves: bool,
    scores: tuple[str, ...],
    ceiling: bool,
    held_out: Path | None,
    json_path: str | None,
    html_path: Path | None,
    images_real: Path | None,
    images_generated: Path | None,
    samples_path: Path | None,
    **passed_on: Any,
) -> None:
    """Compare GENERATED samples with REAL ones, both files of features (samples x features).

    Prints a table of scores, with what each would be if both distributions were one: first how much
    of generated is within the support of real, and how much of real is generated at least half as
    often as it should be. A table of the curves. And a diagnosis in words.

    \b
    Example:
      precall evaluate real.npy generated.npy --html report.html
      precall evaluate real.npy generated.npy --estimator coverage --k 100 --json result.json
    """
    if estimators and not curves:
        raise click.UsageError("--estimator cannot be combined with --no-curves.")
    pictures = {"real": images_real, "generated": images_generated}
    labels = passed_on["labels_real"], passed_on["labels_generated"]
    inputs = [real, generated, *labels, held_out, *pictures.values()]
    options.check_outputs(json_path, html_path, samples_path, inputs)
    notes = options.listen()
    given = {"real": real, "generated": generated, "held_out": held_out}
    files = options.as_inputs(given, columns)
    options.check_pictures(html_path, pictures, files)
    result = evaluate(
        files["real"],
        files["generated"],
        estimators=options.named_estimators(estimators, k) if curves else (),
        scores=options.chosen_scores(scores),
        split=options.chosen_split(split, folds, coin_flip=coin_flip),
        ceiling=files.get("held_out", ceiling),
        progress=sys.stderr.isatty(),
        **passed_on,
    )
    result = options.remembering_command(result, notes)
    words = "\n".join(result.diagnosis()) if curves or passed_on["modes"] else ""
    text = f"{result!r}\n\n{words}".rstrip()
    _deliver(result, text, json_path, html_path, images_real, images_generated)
    if samples_path is not None and result.samples is not None:
        result.samples.write(samples_path)


@click.command("compare")
@options.real
@click.argument("models", nargs=-1, required=True, metavar="NAME=FILE...")
@options.columns
@options.estimators
@click.option("--score", "scores", multiple=True, metavar="NAME|all|none", help="Score to compute.")
@options.headline
@options.confidence
@click.option(
    "--subsample",
    is_flag=True,
    help="Take random subsets where models have unequal numbers of samples.",
)
@options.modes
@options.seed
@options.json
@options.html
@options.images_real("REAL for the page")
@click.option(
    "--images-generated",
    multiple=True,
    metavar="NAME=DIR",
    help="Pictures of a model's samples, likewise; may be repeated.",
)
def compare_command(
    real: Path,
    models: tuple[str, ...],
    columns: str | None,
    estimators: tuple[str, ...],
    scores: tuple[str, ...],
    subsample: bool,
    json_path: str | None,
    html_path: Path | None,
    images_real: Path | None,
    images_generated: tuple[str, ...],
    **passed_on: Any,
) -> None:
    """Compare several models with REAL samples, and with each other.

    \b
    Example:
      precall compare real.npy gan=gan.npy diffusion=diffusion.npy --html models.html
    """
    files = options.named_files(models)
    folders = options.named_files(images_generated)
    if folders and subsample:
        raise click.UsageError(
            "--images-generated cannot be combined with --subsample, which leaves rows out."
        )
    inputs = [real, *files.values(), *folders.values(), images_real]
    options.check_outputs(json_path, html_path, None, inputs)
    notes = options.listen()
    sets = options.as_inputs({"real": real, **_roles(files)}, columns)
    generated = {name: sets[role] for name, role in zip(files, _roles(files), strict=True)}
    options.check_pictures(html_path, {"real": images_real}, sets)
    options.check_pictures(html_path, folders, generated)
    found = compare(
        sets["real"],
        generated,
        estimators=options.named_estimators(estimators, "sqrt"),
        scores=options.chosen_scores(scores),
        subsample=subsample,
        progress=sys.stderr.isatty(),
        **passed_on,
    )
    results = {
        name: options.remembering_command(result, [n for n in notes if n.role in ("real", role)])
        for (name, result), role in zip(found.results.items(), _roles(files), strict=True)
    }
    found = replace(found, results=results)
    options.say(notes)
    _deliver(found, repr(found), json_path, html_path, images_real, folders)


def _roles(models: dict[str, Path]) -> dict[str, Path]:
    """Files by what their models are called in messages."""
    return {f"model {name!r}": path for name, path in models.items()}


def _deliver(
    found: Result, text: str, json_path: str | None, html_path: Path | None, *pictures: Any
) -> None:
    """Print a result, write it as JSON and as a page; JSON stands on standard output alone."""
    if json_path not in (None, "-"):
        found.to_json(json_path)
    click.echo(text, err=json_path == "-")
    if json_path == "-":
        click.echo(found.to_json(), nl=False)
    if html_path is not None:
        found.to_html(html_path, images_real=pictures[0], images_generated=pictures[1])
        click.echo(f"\nreport: {html_path}", err=json_path == "-")
