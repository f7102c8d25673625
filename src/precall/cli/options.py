"""Options of several commands, what they mean, refusals before any work, the command in words."""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource
from click.decorators import FC

from precall.data.feature_sets import FeatureSet
from precall.data.readers import TABLES
from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.notes import Note, noted
from precall.data.splits import CoinFlip, CrossFit, HoldOut, NoSplit, Split
from precall.estimators import ESTIMATORS, NEIGHBOR_ESTIMATORS, Estimator, as_estimator
from precall.findings.samples import check_sample_path
from precall.report.thumbnails import as_thumbnails
from precall.results.evaluation import Evaluation
from precall.runtime.output_files import check_target

K = int | Literal["sqrt", "cv"]
Input = str | FeatureSet  # where it is, or what was read already
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
PICTURES = click.Path(path_type=Path, exists=True)
# Options that no number depends on.
_UNSEEN = {"json_path", "html_path", "samples_path", "images_real", "images_generated", "threads"}

real = click.argument("real", type=PATH)
generated = click.argument("generated", type=PATH)
estimators = click.option(
    "--estimator",
    "estimators",
    multiple=True,
    metavar="NAME",
    help=f"Curve to estimate; may be repeated. One of {', '.join(ESTIMATORS)}, or a "
    f"particular classifier such as classifier:forest, or clusters:50. "
    f"[default: {', '.join(NEIGHBOR_ESTIMATORS)}]",
)
seed = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")
confidence = click.option("--confidence", type=float, default=0.95, help="Confidence of intervals.")
modes = click.option(
    "--modes/--no-modes",
    default=True,
    callback=lambda _context, _option, is_on: "auto" if is_on else None,
    help="Look for modes that are dropped, invented, over- or under-produced.",
)
headline = click.option(
    "--headline/--no-headline",
    default=None,
    help="Compute support precision, support recall and recall at ½. [default: unless scores are "
    "chosen, or another program is reproduced]",
)
json = click.option(
    "--json",
    "json_path",
    metavar="PATH|-",
    help="Write everything as JSON to a file, or with - to standard output alone.",
)
columns = click.option(
    "--columns",
    metavar="NAME,FIRST-LAST",
    help="Columns of tables that are features, by their names, or 0, 1, 2 ... where they have "
    "none. [default: all but row numbers]",
)


def as_page(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse standard output, which is for text and JSON."""
    if path is not None and str(path) == "-":
        raise click.BadParameter("a page is only written to a file; name one, such as report.html.")
    return path


html = click.option(
    "--html",
    "html_path",
    type=PATH,
    callback=as_page,
    help="Write a page for the browser: one file, no network.",
)


def images_real(whose: str) -> Callable[[FC], FC]:
    """Return the option that tells where the pictures of real samples are."""
    return click.option(
        "--images-real",
        type=PICTURES,
        metavar="DIR|MANIFEST",
        help=f"Pictures of {whose}: a folder, whose order of names is that of the rows, or a text "
        "file with one path a line.",
    )


def as_k(_context: click.Context, _option: click.Parameter, value: object) -> K:
    """Read a positive integer or one of the words sqrt and cv."""
    if value == "sqrt" or value == "cv":
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a positive integer nor 'sqrt' or 'cv'.")


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


def listen() -> list[Note]:
    """Return where notes on files will stand that the running command reads."""
    return click.get_current_context().with_resource(noted())


def say(notes: Iterable[Note]) -> None:
    """Tell, beside the output, what was taken for granted in reading files."""
    for text in dict.fromkeys(note.text for note in notes):
        click.echo(f"warning: {text}", err=True)


def as_inputs(given: Mapping[str, Path | None], columns: str | None) -> dict[str, Input]:
    """Return the inputs that were given, with the columns that were chosen.

    Standard input can be read only once, so it is read here.
    """
    paths = {role: path for role, path in given.items() if path is not None}
    piped = [role for role, path in paths.items() if ArrayLocation.of(path, role).is_standard_input]
    if len(piped) > 1:
        raise click.UsageError("only one of the inputs can be -, standard input.")
    inputs: dict[str, Input] = {role: located(path, columns) for role, path in paths.items()}
    return inputs | {role: FeatureSet.of(inputs[role], role) for role in piped}


def located(path: Path, columns: str | None) -> str:
    """Name the columns of a file in the way of ``file:key``."""
    if columns is None:
        return str(path)
    place = ArrayLocation.of(path, "--columns")
    is_table = place.is_standard_input or place.path.suffix.lower() in TABLES
    if place.key is not None or not is_table:
        raise click.UsageError(
            f"--columns chooses columns of tables ({', '.join(TABLES)}); {path} is none. For one "
            "of several files write FILE:COLUMNS instead."
        )
    return f"{path}:{columns}"


def named_estimators(names: Iterable[str], k: K) -> list[Estimator]:
    """Return estimators, by default those that look at neighbours; k is for these."""
    near = NEIGHBOR_ESTIMATORS
    return [near[name](k) if name in near else as_estimator(name) for name in names or near]


def check_outputs(
    json_path: str | None,
    html_path: Path | None,
    samples_path: Path | None,
    given: Iterable[Path | None],
) -> None:
    """Refuse, before any work is done, what could not be written or would overwrite an input."""
    inputs = [ArrayLocation.of(path, "").path for path in given if path is not None]
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
    html_path: Path | None, pictures: Mapping[str, Path | None], files: Mapping[str, Input]
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


def remembering_command(result: Evaluation, notes: Iterable[Note] = ()) -> Evaluation:
    """Return the result with the running command in its protocol, less what only writes files.

    Notes on its files stand before its warnings.
    """
    command = shlex.join(_words(click.get_current_context()))
    texts = dict.fromkeys([*(note.text for note in notes), *result.warnings])
    protocol = replace(result.protocol, call=command)
    return replace(result, protocol=protocol, warnings=tuple(texts))


def _words(context: click.Context) -> list[str]:
    """Return the words of a command as one would type it again."""
    arguments: list[str] = []
    options: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params[name]
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            arguments += map(str, values)
        elif name in _UNSEEN or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            options.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            options += [word for one in values for word in (parameter.opts[0], str(one))]
    command = ["precall", str(context.info_name)]
    if any(argument.startswith("-") for argument in arguments):
        return [*command, *options, "--", *arguments]
    return [*command, *arguments, *options]
