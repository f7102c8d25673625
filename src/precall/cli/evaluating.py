"""The commands evaluate and compare."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from precall.cli.command_line import remembering_command
from precall.cli.options import (
    K,
    Neighbors,
    check_outputs,
    check_pictures,
    chosen_scores,
    chosen_split,
    named_estimator,
    named_files,
    output_options,
)
from precall.estimators import ESTIMATORS, NEIGHBOR_ESTIMATORS
from precall.evaluation.comparison import compare
from precall.evaluation.evaluate import evaluate
from precall.scores.conventions import CONVENTIONS

__all__ = ["compare_command", "evaluate_command"]


@click.command("evaluate")
@click.argument("real", type=click.Path(path_type=Path))
@click.argument("generated", type=click.Path(path_type=Path))
@click.option(
    "--estimator",
    "estimators",
    multiple=True,
    metavar="NAME",
    help=f"Curve to estimate; may be repeated. One of {', '.join(ESTIMATORS)}, or a certain "
    f"classifier such as classifier:forest, or clusters:50. "
    f"[default: {', '.join(NEIGHBOR_ESTIMATORS)}]",
)
@click.option(
    "--k",
    type=Neighbors(),
    default="sqrt",
    show_default=True,
    help="Number of neighbours; sqrt is the root of the smaller sample size, cv leaves it to "
    "cross-validation.",
)
@click.option(
    "--split/--no-split",
    default=None,
    help="Fit on a random half and evaluate the other, as the paper does, or use every sample for "
    "both. [default: four random halves, or two folds with --no-intervals]",
)
@click.option("--folds", type=int, metavar="F", help="Cross-fit over F folds.")
@click.option(
    "--coin-flip", is_flag=True, help="Let a coin decide who fits, of each pair of samples."
)
@click.option("--curves/--no-curves", default=True, help="Whether to estimate curves at all.")
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="NAME|all|none",
    help="Score to compute; may be repeated. [default: precision, recall, density, coverage and "
    "covers, or what the convention's program prints]",
)
@click.option(
    "--score-k",
    "score_ks",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="INT",
    help="Number of neighbours of the scores; may be repeated. [default: each score's own]",
)
@click.option(
    "--convention",
    type=click.Choice(list(CONVENTIONS)),
    default="precall",
    show_default=True,
    help="Program whose scores to reproduce.",
)
@click.option(
    "--labels-real", type=click.Path(path_type=Path), help="Classes of REAL: .npy, or text by line."
)
@click.option(
    "--labels-generated", type=click.Path(path_type=Path), help="Classes of GENERATED, likewise."
)
@click.option(
    "--intervals/--no-intervals",
    default=True,
    show_default=True,
    help="Tell how uncertain scores and curves are; without a word on the split, curves are then "
    "the mean over four random halves.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of intervals.")
@click.option(
    "--modes/--no-modes",
    default=True,
    show_default=True,
    help="Look for modes that are dropped, invented, over- or under-produced.",
)
@click.option(
    "--ceiling",
    is_flag=True,
    help="Tell what a perfect generator would score: half of REAL against the other half.",
)
@click.option(
    "--held-out",
    type=click.Path(path_type=Path),
    help="Other real samples for the ceiling, instead of half of REAL.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all chance.")
@click.option("--engine", default="auto", show_default=True, help="Engine that measures.")
@click.option("--threads", type=int, help="Number of threads. [default: one a core]")
@output_options
@click.option(
    "--images-generated",
    type=click.Path(path_type=Path, exists=True),
    metavar="DIR|MANIFEST",
    help="Pictures of GENERATED, likewise.",
)
@click.option(
    "--samples",
    "samples_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write what is known of every sample: s.csv gives s-real.csv and s-generated.csv; or "
    ".parquet.",
)
def evaluate_command(
    real: Path,
    generated: Path,
    estimators: tuple[str, ...],
    k: K,
    split: bool | None,
    folds: int | None,
    coin_flip: bool,
    curves: bool,
    scores: tuple[str, ...],
    score_ks: tuple[int, ...],
    convention: str,
    labels_real: Path | None,
    labels_generated: Path | None,
    intervals: bool,
    confidence: float,
    modes: bool,
    ceiling: bool,
    held_out: Path | None,
    seed: int,
    engine: str,
    threads: int | None,
    json_path: str | None,
    html_path: Path | None,
    images_real: Path | None,
    images_generated: Path | None,
    samples_path: Path | None,
) -> None:
    """Compare GENERATED samples with REAL ones, both files of features (samples x features).

    Prints a table of the curves: F 1/8 tells how much of generated is realistic, F 8 how much of
    real is covered. A table of scores, with what each would be if both distributions were one. And
    a diagnosis in words.

    \b
    Example:
      precall evaluate real.npy generated.npy --html report.html
      precall evaluate real.npy generated.npy --estimator coverage --k 100 --json result.json
    """
    if estimators and not curves:
        raise click.UsageError("--estimator goes without --no-curves.")
    given = (
        real,
        generated,
        labels_real,
        labels_generated,
        held_out,
        images_real,
        images_generated,
    )
    inputs = [path for path in given if path]
    check_outputs(json_path, html_path, samples_path, inputs)
    pictures = {"real": images_real, "generated": images_generated}
    check_pictures(html_path, pictures, {"real": real, "generated": generated})
    chosen = (estimators or NEIGHBOR_ESTIMATORS) if curves else ()
    result = evaluate(
        real,
        generated,
        estimators=[named_estimator(name, k) for name in chosen],
        scores=chosen_scores(scores),
        score_k=score_ks or None,
        convention=convention,
        labels_real=labels_real,
        labels_generated=labels_generated,
        split=chosen_split(split, folds, coin_flip=coin_flip),
        intervals=intervals,
        confidence=confidence,
        ceiling=held_out or ceiling,
        modes="auto" if modes else None,
        seed=seed,
        engine=engine,
        threads=threads,
        progress=sys.stderr.isatty(),
    )
    result = remembering_command(result)
    if json_path not in (None, "-"):
        result.to_json(json_path)
    words = "\n".join(result.diagnosis()) if curves or modes else ""
    click.echo(f"{result!r}\n\n{words}".rstrip(), err=json_path == "-")
    if json_path == "-":
        click.echo(result.to_json(), nl=False)
    if samples_path is not None and result.samples is not None:
        result.samples.write(samples_path)
    if html_path is not None:
        result.to_html(html_path, images_real=images_real, images_generated=images_generated)
        click.echo(f"\nreport: {html_path}", err=json_path == "-")


@click.command("compare")
@click.argument("real", type=click.Path(path_type=Path))
@click.argument("models", nargs=-1, required=True, metavar="NAME=FILE...")
@click.option(
    "--estimator",
    "estimators",
    multiple=True,
    metavar="NAME",
    help="Curve to estimate; may be repeated. See precall evaluate.",
)
@click.option("--score", "scores", multiple=True, metavar="NAME|all|none", help="Score to compute.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of intervals.")
@click.option(
    "--subsample",
    is_flag=True,
    help="Take random subsets where models have unequal numbers of samples.",
)
@click.option(
    "--modes/--no-modes",
    default=True,
    show_default=True,
    help="Look for modes that are dropped, invented, over- or under-produced.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all chance.")
@output_options
@click.option(
    "--images-generated",
    multiple=True,
    metavar="NAME=DIR",
    help="Pictures of a model's samples, likewise; may be repeated.",
)
def compare_command(
    real: Path,
    models: tuple[str, ...],
    estimators: tuple[str, ...],
    scores: tuple[str, ...],
    confidence: float,
    subsample: bool,
    modes: bool,
    seed: int,
    json_path: str | None,
    html_path: Path | None,
    images_real: Path | None,
    images_generated: tuple[str, ...],
) -> None:
    """Compare several models with REAL samples, and with each other.

    \b
    Example:
      precall compare real.npy gan=gan.npy diffusion=diffusion.npy --html models.html
    """
    files = named_files(models)
    folders = named_files(images_generated)
    if folders and subsample:
        raise click.UsageError(
            "--images-generated goes without --subsample, which leaves rows out."
        )
    pictures = [*folders.values(), *([images_real] if images_real else [])]
    check_outputs(json_path, html_path, None, [real, *files.values(), *pictures])
    check_pictures(html_path, {"real": images_real}, {"real": real})
    check_pictures(html_path, folders, files)
    found = compare(
        real,
        files,
        estimators=estimators or tuple(NEIGHBOR_ESTIMATORS),
        scores=chosen_scores(scores),
        confidence=confidence,
        subsample=subsample,
        modes="auto" if modes else None,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    results = {name: remembering_command(result) for name, result in found.results.items()}
    found = replace(found, results=results)
    if json_path not in (None, "-"):
        found.to_json(json_path)
    click.echo(repr(found), err=json_path == "-")
    if json_path == "-":
        click.echo(found.to_json(), nl=False)
    if html_path is not None:
        found.to_html(html_path, images_real=images_real, images_generated=folders)
        click.echo(f"\nreport: {html_path}", err=json_path == "-")
