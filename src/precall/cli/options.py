"""Options of several commands, what options mean, and refusals before any work is done."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Literal

import click

from precall.data.feature_sets import FeatureSet
from precall.data.splits import CoinFlip, CrossFit, HoldOut, NoSplit, Split
from precall.estimators import ESTIMATORS, NEIGHBOR_ESTIMATORS, Estimator, as_estimator
from precall.findings.samples import check_sample_path
from precall.report.thumbnails import as_thumbnails
from precall.runtime.output_files import check_target

K = int | Literal["sqrt", "cv"]
PATH = click.Path(path_type=Path)
PICTURES = click.Path(path_type=Path, exists=True)

estimators = click.option(
    "--estimator",
    "estimators",
    multiple=True,
    metavar="NAME",
    help=f"Curve to estimate; may be repeated. One of {', '.join(ESTIMATORS)}, or a "
    f"particular classifier such as classifier:forest, or clusters:50. "
    f"[default: {', '.join(NEIGHBOR_ESTIMATORS)}]",
)
seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)
confidence = click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Confidence of intervals."
)
modes = click.option(
    "--modes/--no-modes",
    default=True,
    show_default=True,
    help="Look for modes that are dropped, invented, over- or under-produced.",
)
json = click.option(
    "--json",
    "json_path",
    metavar="PATH|-",
    help="Write everything as JSON to a file, or with - to standard output alone.",
)
html = click.option(
    "--html", "html_path", type=PATH, help="Write a page for the browser: one file, no network."
)
images_real = click.option(
    "--images-real",
    type=PICTURES,
    metavar="DIR|MANIFEST",
    help="Pictures of REAL for the page: a folder, whose order of names is that of the rows, or a "
    "text file with one path a line.",
)


class Neighbors(click.ParamType[int | str]):
    """A positive integer or one of the words sqrt and cv."""

    name = "INT|sqrt|cv"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> K:
        """Read the option."""
        if value == "sqrt" or value == "cv":
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
            return int(value)
        return self.fail(f"{value!r} is neither a positive integer nor 'sqrt' or 'cv'.", param, ctx)


def named_files(texts: tuple[str, ...]) -> dict[str, Path]:
    """Read NAME=FILE pairs."""
    files: dict[str, Path] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file) or name in files:
            raise click.UsageError(
                f"expected NAME=FILE, with a different NAME for each file; got {text!r}."
            )
        files[name] = Path(file)
    return files


def named_estimator(name: str, k: K) -> Estimator:
    """Return an estimator; k is for those that look at neighbours."""
    return NEIGHBOR_ESTIMATORS[name](k) if name in NEIGHBOR_ESTIMATORS else as_estimator(name)


def check_outputs(
    json_path: str | None,
    html_path: Path | None,
    samples_path: Path | None,
    given: Iterable[Path | None],
) -> None:
    """Refuse, before any work is done, what could not be written or would overwrite an input."""
    inputs = [path for path in given if path is not None]
    json_file = None if json_path in (None, "-") else Path(json_path or "")
    samples = () if samples_path is None else check_sample_path(samples_path, inputs)
    for path in (json_file, html_path):
        if path is not None:
            check_target(path, inputs)
    named = {"--json": (json_file,), "--html": (html_path,), "--samples": samples}
    written = {option: {p.resolve() for p in paths if p} for option, paths in named.items()}
    for (one, paths), (other, others) in combinations(written.items(), 2):
        if paths & others:
            raise click.UsageError(f"{one} and {other} would write the same file.")


def check_pictures(
    html_path: Path | None, pictures: Mapping[str, Path | None], files: Mapping[str, Path]
) -> None:
    """Refuse pictures without a page, or fewer or more than there are samples."""
    given = {name: path for name, path in pictures.items() if path is not None}
    if given and html_path is None:
        raise click.UsageError("--images-real and --images-generated need a page; add --html PATH.")
    for name, path in given.items():
        if name not in files:
            raise click.UsageError(
                f"--images-generated names {name!r}, which is not a model; choose from "
                f"{', '.join(files)}."
            )
        as_thumbnails(path, len(FeatureSet.of(files[name], name)), f"images of {name}")


def chosen_scores(names: tuple[str, ...]) -> tuple[str, ...] | str | None:
    """Read the words all and none."""
    if {"all", "none"} & set(names):
        if len(names) > 1:
            raise click.UsageError("--score all and --score none cannot be combined with others.")
        return "all" if names == ("all",) else ()
    return names or None


def chosen_split(
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
