"""Options of several commands, and what they mean."""

from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import click
from click.decorators import FC

from precall.data.splits import CoinFlip, CrossFit, HoldOut, NoSplit, Split
from precall.engines.cluster.engine import Cluster
from precall.estimators import ESTIMATORS, NEIGHBOR_ESTIMATORS, Estimator, as_estimator
from precall.scores.conventions import CONVENTIONS

K = int | Literal["sqrt", "cv"]
Decorator = Callable[[FC], FC]
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
PICTURES = click.Path(path_type=Path, exists=True)


def _as_page(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse standard output, which is for text and JSON."""
    if path is not None and str(path) == "-":
        raise click.BadParameter("a page is only written to a file; name one, such as report.html.")
    return path


def _as_k(_context: click.Context, _option: click.Parameter, value: object) -> K:
    """Read a positive integer or one of the words sqrt and cv."""
    if value == "sqrt" or value == "cv":
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a positive integer nor 'sqrt' or 'cv'.")


real = click.argument("real", type=PATH)
generated = click.argument("generated", type=PATH)
columns = click.option(
    "--columns",
    metavar="NAME,FIRST-LAST",
    help="Columns of tables that are features, by their names, or 0, 1, 2 ... where they have "
    "none. [default: all but row numbers]",
)
seed = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")

_MEASURING: tuple[Decorator[Any], ...] = (
    click.option(
        "--estimator",
        "estimators",
        multiple=True,
        metavar="NAME",
        help=f"Curve to estimate; may be repeated. One of {', '.join(ESTIMATORS)}, or a "
        f"particular classifier such as classifier:forest, or clusters:50. "
        f"[default: {', '.join(NEIGHBOR_ESTIMATORS)}]",
    ),
    click.option(
        "--k",
        metavar="INT|SQRT|CV",
        default="sqrt",
        callback=_as_k,
        help="Number of neighbours; sqrt is the root of the smaller sample size, cv leaves it to "
        "cross-validation.",
    ),
    click.option(
        "--split/--no-split",
        default=None,
        help="Fit on a random half and evaluate the other, as Sykes et al. 2024 do, or use every "
        "sample for both. [default: four random halves, or two folds with --no-intervals]",
    ),
    click.option("--folds", type=int, metavar="F", help="Cross-fit over F folds."),
    click.option(
        "--coin-flip",
        is_flag=True,
        help="Let a coin decide, for each pair of a real and a generated sample, which one fits.",
    ),
    click.option(
        "--curves/--no-curves",
        default=True,
        show_default=False,
        help="Whether to estimate curves at all.",
    ),
    click.option(
        "--score",
        "scores",
        multiple=True,
        metavar="NAME|all|none",
        help="Score to compute; may be repeated. [default: the headline, precision, recall, "
        "density, coverage and covers, or what the convention's program prints]",
    ),
    click.option(
        "--score-k",
        type=click.IntRange(min=1),
        multiple=True,
        callback=lambda _context, _option, ks: ks or None,
        metavar="INT",
        help="Number of neighbours of the scores; may be repeated. [default: each score's own]",
    ),
    click.option(
        "--headline/--no-headline",
        default=None,
        help="Compute support precision, support recall and recall at ½. [default: unless scores "
        "are chosen, or another program is reproduced]",
    ),
    click.option(
        "--convention",
        type=click.Choice(list(CONVENTIONS)),
        default="precall",
        help="Program whose scores to reproduce.",
    ),
    click.option(
        "--labels-real", type=PATH, help="Classes of REAL: .npy, or text with one label a line."
    ),
    click.option(
        "--intervals/--no-intervals",
        default=True,
        help="Tell how uncertain scores and curves are; unless a split is chosen, curves are then "
        "the mean over four random halves.",
    ),
    click.option("--confidence", type=float, default=0.95, help="Confidence of intervals."),
    click.option(
        "--modes/--no-modes",
        default=True,
        callback=lambda _context, _option, is_on: "auto" if is_on else None,
        help="Look for modes that are dropped, invented, over- or under-produced.",
    ),
    click.option(
        "--ceiling",
        is_flag=True,
        help="Tell what a perfect generator would score: half of REAL against the other half.",
    ),
    click.option(
        "--held-out",
        type=PATH,
        help="Other real samples for the ceiling, instead of half of REAL.",
    ),
    seed,
    click.option("--engine", default="auto", help="Engine that measures distances."),
    click.option(
        "--cluster",
        metavar="ADDRESS|local",
        help="Let workers of Dask do it: those of the scheduler at an address such as "
        "tcp://host:8786, or some on this machine. Files are read by them.",
    ),
    click.option(
        "--checkpoint",
        metavar="DIR",
        help="With --cluster: folder that all workers share, for finished pieces; the same "
        "command goes on from there.",
    ),
    click.option(
        "--worker-memory",
        metavar="SIZE",
        help="With --cluster: what a worker may use, such as 2GB. [default: 65% of its limit]",
    ),
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        help="Number of threads. [default: one per core]",
    ),
)
_WRITING: tuple[Decorator[Any], ...] = (
    click.option(
        "--json",
        "json_path",
        metavar="PATH|-",
        help="Write everything as JSON to a file, or with - to standard output alone.",
    ),
    click.option(
        "--table",
        "table_path",
        type=PATH,
        help="Write the scores as a table: .csv with every digit, .md or .tex for a paper.",
    ),
    click.option(
        "--html",
        "html_path",
        type=PATH,
        callback=_as_page,
        help="Write a page for the browser: one file, no network.",
    ),
    click.option(
        "--samples",
        "samples_path",
        type=PATH,
        help="Write what is known of every sample: s.csv gives s-real.csv and s-generated.csv; or "
        ".parquet. Of several models s-MODEL-real.csv and so on.",
    ),
    click.option("--quiet", is_flag=True, help="Print nothing but errors; files are written."),
)
page = click.option(
    "--out", type=PATH, default=Path("report.html"), callback=_as_page, help="Page to write."
)


def measuring(command: FC) -> FC:
    """Add all options that say what to measure, and how; :func:`arguments` reads them."""
    return reduce(lambda decorated, option: option(decorated), reversed(_MEASURING), command)


def writing(command: FC) -> FC:
    """Add all options that say what to write where; see :class:`precall.cli.outputs.Outputs`."""
    return reduce(lambda decorated, option: option(decorated), reversed(_WRITING), command)


def images_real(whose: str) -> Callable[[FC], FC]:
    """Return the option that tells where the pictures of real samples are."""
    return click.option(
        "--images-real",
        type=PICTURES,
        metavar="DIR|MANIFEST",
        help=f"Pictures of {whose}: a folder, whose order of names is that of the rows, or a text "
        "file with one path a line.",
    )


def arguments(
    *,
    estimators: tuple[str, ...],
    k: K,
    curves: bool,
    scores: tuple[str, ...],
    split: bool | None,
    folds: int | None,
    coin_flip: bool,
    engine: str,
    cluster: str | None,
    checkpoint: str | None,
    worker_memory: str | None,
    **others: Any,
) -> dict[str, Any]:
    """Return the arguments of :func:`precall.evaluate` that options stand for."""
    if estimators and not curves:
        raise click.UsageError("--estimator cannot be combined with --no-curves.")
    return {
        "engine": _chosen_engine(engine, cluster, checkpoint, worker_memory),
        "estimators": _named_estimators(estimators, k) if curves else (),
        "scores": _chosen_scores(scores),
        "split": _chosen_split(split, folds, coin_flip=coin_flip),
        **others,
    }


def _chosen_engine(
    engine: str, cluster: str | None, checkpoint: str | None, memory: str | None
) -> str | Cluster:
    """Return the engine that the options ask for."""
    if cluster is None:
        for option, given in (("--checkpoint", checkpoint), ("--worker-memory", memory)):
            if given is not None:
                raise click.UsageError(f"{option} is for a cluster; name one with --cluster.")
        return engine
    if engine != "auto":
        raise click.UsageError("--engine cannot be combined with --cluster.")
    return Cluster(None if cluster == "local" else cluster, checkpoint, memory)


def _named_estimators(names: Iterable[str], k: K) -> list[Estimator]:
    """Return estimators, by default those that look at neighbours; k is for these."""
    near = NEIGHBOR_ESTIMATORS
    return [near[name](k) if name in near else as_estimator(name) for name in names or near]


def _chosen_scores(names: tuple[str, ...]) -> tuple[str, ...] | str | None:
    """Read the words all and none."""
    if {"all", "none"} & set(names):
        if len(names) > 1:
            raise click.UsageError("--score all and --score none cannot be combined with others.")
        return "all" if names == ("all",) else ()
    return names or None


def _chosen_split(
    split: bool | None, folds: int | None, *, coin_flip: bool
) -> Split | Literal["auto"]:
    """Return the one split that the options ask for."""
    if (split is not None) + (folds is not None) + coin_flip > 1:
        raise click.UsageError(
            "only one of --split, --no-split, --folds and --coin-flip may be given."
        )
    if coin_flip:
        return CoinFlip()
    if folds is not None:
        return CrossFit(folds)
    if split is None:
        return "auto"
    return HoldOut() if split else NoSplit()
