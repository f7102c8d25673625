"""The commands extract and features, and the options of everything that extracts."""

import sys
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.decorators import FC

from precall.cli import inputs, options
from precall.extraction.extract import extract
from precall.extraction.settings import Features
from precall.extractors.listing import listed_extractors
from precall.extractors.pictures.sizes import WAYS

_NAMES = ("weights", "resize", "device", "batch_size", "workers", "skip_broken", "download")
_FEATURES = click.option(
    "--features",
    "model",
    metavar="MODEL",
    help="Make features of pictures, texts or sounds first, with a model that precall features "
    "lists; auto takes the default of what they are. [default: inputs are features already]",
)
_OPTIONS: tuple[options.Decorator[Any], ...] = (
    click.option("--weights", type=options.PATH, help="File with the weights of MODEL."),
    click.option(
        "--resize",
        type=click.Choice(WAYS),
        help="How pictures are scaled, to reproduce others. [default: the model's own way]",
    ),
    click.option("--device", default="auto", help="Where MODEL computes: auto, cpu, cuda, ..."),
    click.option("--batch-size", type=click.IntRange(min=1), help="Inputs at once."),
    click.option(
        "--workers",
        type=click.IntRange(min=0),
        help="Processes that read and decode. [default: one per core, at most 8]",
    ),
    click.option(
        "--skip-broken", is_flag=True, help="Leave out inputs that cannot be read, and say so."
    ),
    click.option("--download", is_flag=True, help="Download the weights of MODEL if need be."),
    click.option(
        "--cache",
        type=options.FOLDER,
        help="Folder that extracted features are kept in. [default: PRECALL_CACHE or the user's]",
    ),
    click.option("--no-cache", is_flag=True, help="Keep no features, and use none that were kept."),
)


def extracting(command: FC) -> FC:
    """Add the options of extraction; :func:`taken_from` reads them."""
    every = (_FEATURES, *_OPTIONS)
    return reduce(lambda decorated, option: option(decorated), reversed(every), command)


def taken_from(passed_on: dict[str, Any]) -> Features | None:
    """Take the options of extraction out of all options; ``None`` if features are given already."""
    model = passed_on.pop("model")
    chosen = {name: passed_on.pop(name) for name in _NAMES}
    cache, no_cache = passed_on.pop("cache"), passed_on.pop("no_cache")
    if model is None:
        context = click.get_current_context()
        for name in (*_NAMES, "cache", "no_cache"):
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} needs --features MODEL, which it is about.")
        return None
    if cache is not None and no_cache:
        raise click.UsageError("only one of --cache and --no-cache may be given.")
    return Features(model, cache=not no_cache if cache is None else cache, **chosen)


def check_no_pictures(features: Features | None, *given: object) -> None:
    """Refuse pictures of inputs that are shown anyhow."""
    if features is not None and any(given):
        raise click.UsageError(
            "with --features the page shows the inputs themselves; leave --images-real and "
            "--images-generated away."
        )


@click.command("extract")
@click.argument("source", metavar="INPUT", type=options.PATH)
@extracting
@click.option("--out", type=options.PATH, required=True, help="The .npy file to write.")
def extract_command(source: Path, out: Path, **passed_on: Any) -> None:
    """Make features of INPUT: pictures, texts or sounds, in a folder, an archive or a table.

    How they were made stands beside them, in OUT.json, and in every result made of them.

    \b
    Example:
      precall extract real_pictures/ --features efficientnet-lite0 --out real.npy
      precall extract stories.txt --features minilm --out stories.npy
    """
    passed_on["model"] = passed_on["model"] or "auto"
    features = taken_from(passed_on)
    notes = inputs.listen()
    found = extract(str(source), features, out=out, progress=sys.stderr.isatty())
    inputs.say(notes)
    model = found.extraction["model"]
    click.echo(f"wrote {out}: {len(found)} x {found.n_features} features of {model}")


@click.command("features")
def features_command() -> None:
    """List the models that make features, and whether their weights are here.

    \b
    Example:
      precall features
    """
    click.echo(listed_extractors())


EXTRACTING_COMMANDS = (extract_command, features_command)
