"""The command line: parse, call, print."""

import sys
import warnings
from pathlib import Path
from typing import Literal

import click

from precall.comparison import compare
from precall.conventions import CONVENTIONS
from precall.demo import run_demo
from precall.errors import InputError, PrecallWarning
from precall.estimators import ESTIMATORS, NEIGHBOR_ESTIMATORS, Estimator, as_estimator
from precall.evaluation import evaluate
from precall.moments import frechet_distance
from precall.outputs import check_target
from precall.samples import check_sample_path
from precall.split import CoinFlip, CrossFit, HoldOut, NoSplit, Split
from precall.two_sample import two_sample_test
from precall.version import __version__

__all__ = ["main"]

_BAD_INPUT = 2
_INTERRUPTED = 130


_K = int | Literal["sqrt", "cv"]


class _Neighbors(click.ParamType[int | str]):
    """A positive integer or one of the words sqrt and cv."""

    name = "INT|sqrt|cv"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> _K:
        if value == "sqrt" or value == "cv":
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
            return int(value)
        return self.fail(f"{value!r} is neither a positive integer nor 'sqrt' or 'cv'.", param, ctx)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="precall", message="%(prog)s %(version)s")
@click.pass_context
def _cli(context: click.Context) -> None:
    """Learn how a generative model fails: exact precision-recall curves."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@_cli.command("evaluate")
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
    type=_Neighbors(),
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
@click.option(
    "--json",
    "json_path",
    metavar="PATH|-",
    help="Write the result as JSON to a file, or to standard output alone.",
)
@click.option(
    "--samples",
    "samples_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write what is known of every sample: s.csv gives s-real.csv and s-generated.csv; or "
    ".parquet.",
)
def _evaluate(
    real: Path,
    generated: Path,
    estimators: tuple[str, ...],
    k: _K,
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
    samples_path: Path | None,
) -> None:
    """Compare GENERATED samples with REAL ones, both .npy files of features (samples x features).

    Prints a table of the curves: F 1/8 tells how much of generated is realistic, F 8 how much of
    real is covered. A table of scores, with what each would be if both distributions were one. And
    a diagnosis in words.

    \b
    Example:
      precall evaluate real.npy generated.npy --estimator coverage --k 100 --json result.json
    """
    if estimators and not curves:
        raise click.UsageError("--estimator goes without --no-curves.")
    given = (real, generated, labels_real, labels_generated, held_out)
    inputs = [path for path in given if path]
    _check_outputs(json_path, samples_path, inputs)
    chosen = (estimators or NEIGHBOR_ESTIMATORS) if curves else ()
    result = evaluate(
        real,
        generated,
        estimators=[_estimator(name, k) for name in chosen],
        scores=_chosen_scores(scores),
        score_k=score_ks or None,
        convention=convention,
        labels_real=labels_real,
        labels_generated=labels_generated,
        split=_chosen_split(split, folds, coin_flip=coin_flip),
        intervals=intervals,
        confidence=confidence,
        ceiling=held_out or ceiling,
        modes="auto" if modes else None,
        seed=seed,
        engine=engine,
        threads=threads,
        progress=sys.stderr.isatty(),
    )
    if json_path not in (None, "-"):
        result.to_json(json_path)
    words = "\n".join(result.diagnosis()) if curves or modes else ""
    click.echo(f"{result!r}\n\n{words}".rstrip(), err=json_path == "-")
    if json_path == "-":
        click.echo(result.to_json(), nl=False)
    if samples_path is not None and result.samples is not None:
        result.samples.write(samples_path)


@_cli.command("compare")
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
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all chance.")
@click.option("--json", "json_path", metavar="PATH|-", help="Write everything as JSON.")
def _compare(
    real: Path,
    models: tuple[str, ...],
    estimators: tuple[str, ...],
    scores: tuple[str, ...],
    confidence: float,
    subsample: bool,
    seed: int,
    json_path: str | None,
) -> None:
    """Compare several models with REAL samples, and with each other.

    \b
    Example:
      precall compare real.npy gan=gan.npy diffusion=diffusion.npy
    """
    files = _named_files(models)
    _check_outputs(json_path, None, [real, *files.values()])
    found = compare(
        real,
        files,
        estimators=estimators or tuple(NEIGHBOR_ESTIMATORS),
        scores=_chosen_scores(scores),
        confidence=confidence,
        subsample=subsample,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    if json_path not in (None, "-"):
        found.to_json(json_path)
    click.echo(repr(found), err=json_path == "-")
    if json_path == "-":
        click.echo(found.to_json(), nl=False)


def _named_files(models: tuple[str, ...]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for text in models:
        name, equals, file = text.partition("=")
        if not (name and equals and file) or name in files:
            raise click.UsageError(
                f"{text!r} is no model; give each as NAME=FILE, every name once."
            )
        files[name] = Path(file)
    return files


@_cli.command("frechet")
@click.argument("real", type=click.Path(path_type=Path))
@click.argument("generated", type=click.Path(path_type=Path))
def _frechet(real: Path, generated: Path) -> None:
    """Print the Frechet distance of two files: features (.npy), or mu and sigma (.npz).

    \b
    Example:
      precall frechet statistics.npz generated.npy
    """
    click.echo(f"{frechet_distance(real, generated):.6g}")


@_cli.command("test")
@click.argument("real", type=click.Path(path_type=Path))
@click.argument("generated", type=click.Path(path_type=Path))
@click.option(
    "--estimator",
    default="classifier",
    show_default=True,
    metavar="NAME",
    help="Classifier that tests; see precall evaluate.",
)
@click.option("--folds", type=int, metavar="F", help="Cross-fit over F folds, with permutations.")
@click.option(
    "--permutations",
    type=click.IntRange(min=1),
    default=99,
    show_default=True,
    help="How often labels are permuted and everything is fitted again; only with --folds.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all chance.")
def _test(
    real: Path, generated: Path, estimator: str, folds: int | None, permutations: int, seed: int
) -> None:
    """Test whether REAL and GENERATED are of one distribution, by a classifier's accuracy.

    Fits on a random half and evaluates the other, or uses every sample with --folds.

    \b
    Example:
      precall test real.npy generated.npy --folds 5
    """
    found = two_sample_test(
        real,
        generated,
        estimator=estimator,
        split=HoldOut() if folds is None else CrossFit(folds),
        n_permutations=permutations,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    times = found.n_permutations
    method = "binomial" if times is None else f"{times} permutations"
    click.echo(f"accuracy {found.accuracy:.4f}, p-value {found.p_value:.3g} ({method})")


@_cli.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("precall-demo"),
    show_default=True,
    help="Folder for the picture and the results.",
)
def _demo(out: Path) -> None:
    """Evaluate four generators of handwritten digits, each failing in its own way.

    \b
    Example:
      precall demo --out demo
    """
    demo = run_demo(out, progress=sys.stderr.isatty())
    click.echo(
        f"Real: {demo.n_real} handwritten digits. Four generators, by their coverage curves:\n\n"
        f"{demo}\n\n"
        "Precision falls where a generator invents, recall where it drops; the medians fall where "
        "it re-weights.\n"
        f"Results: {', '.join(map(str, demo.documents))}\n"
        f"Picture: {demo.picture}"
    )


def _estimator(name: str, k: _K) -> Estimator:
    return NEIGHBOR_ESTIMATORS[name](k) if name in NEIGHBOR_ESTIMATORS else as_estimator(name)


def _check_outputs(json_path: str | None, samples_path: Path | None, inputs: list[Path]) -> None:
    """Refuse, before any work is done, what could not be written or would overwrite an input."""
    if json_path is not None and json_path != "-":
        check_target(Path(json_path), inputs)
    if samples_path is not None:
        tables = check_sample_path(samples_path, inputs)
        if json_path is not None and Path(json_path) in tables:
            raise click.UsageError("--json and --samples would write the same file.")


def _chosen_scores(names: tuple[str, ...]) -> tuple[str, ...] | str | None:
    if {"all", "none"} & set(names):
        if len(names) > 1:
            raise click.UsageError("--score all and --score none stand alone.")
        return "all" if names == ("all",) else ()
    return names or None


def _chosen_split(
    split: bool | None, folds: int | None, *, coin_flip: bool
) -> Split | Literal["auto"]:
    if (split is not None) + (folds is not None) + coin_flip > 1:
        raise click.UsageError("only one of --split, --no-split, --folds and --coin-flip goes.")
    if coin_flip:
        return CoinFlip()
    if folds is not None:
        return CrossFit(folds)
    if split is None:
        return "auto"
    return HoldOut() if split else NoSplit()


def main() -> None:
    """Run the command line; bad input ends it with one line on standard error and status 2."""
    warnings.simplefilter("ignore", PrecallWarning)  # the table lists them
    try:
        status = _cli.main(standalone_mode=False)
    except click.ClickException as error:
        _end(error.format_message(), _BAD_INPUT)
    except (InputError, OSError, ImportError) as error:
        _end(str(error), _BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        _end("interrupted", _INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _end(message: str, status: int) -> None:
    click.echo(f"precall: {' '.join(message.split())}", err=True)
    sys.exit(status)
