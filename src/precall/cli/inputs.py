"""Files that commands read: by name, from standard input, with columns; what was noted of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from precall.data.feature_sets import FeatureSet
from precall.data.readers import TABLES
from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.notes import Note, noted
from precall.report.thumbnails import as_thumbnails

Input = str | FeatureSet  # where it is, or what was read already


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


def named_or_plain_files(texts: tuple[str, ...]) -> dict[str, Path]:
    """Name each file by NAME= or by its stem, in full where two would be called the same."""
    named = tuple(text for text in texts if "=" in text and not Path(text).exists())
    names = [*named_files(named), *(Path(text).stem for text in texts if text not in named)]
    files: dict[str, Path] = {}
    for text in texts:
        if text in named:
            files |= named_files((text,))
            continue
        path = Path(text)
        name = path.stem if names.count(path.stem) == 1 else text
        if name in files:
            raise click.UsageError(f"{path} is given twice.")
        files[name] = path
    return files


def named_or_shared_files(texts: tuple[str, ...], models: Iterable[str]) -> dict[str, Path]:
    """Read NAME=FILE pairs, or one FILE that serves all models."""
    if len(texts) == 1 and ("=" not in texts[0] or Path(texts[0]).exists()):
        return dict.fromkeys(models, Path(texts[0]))
    return named_files(texts)


def check_models(option: str, named: Iterable[str], models: Iterable[str]) -> None:
    """Refuse an option that names what is no model."""
    known = list(models)
    for name in named:
        if name not in known:
            raise click.UsageError(
                f"{option} names {name!r}, which is not a model; choose from {', '.join(known)}."
            )


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


def check_pictures(
    html_path: Path | None, pictures: Mapping[str, Path | None], files: Mapping[str, Input]
) -> None:
    """Refuse pictures without a page, or fewer or more than there are samples."""
    given = {name: path for name, path in pictures.items() if path is not None}
    if given and html_path is None:
        raise click.UsageError("--images-real and --images-generated need a page; add --html PATH.")
    check_models("--images-generated", given, files)
    for name, path in given.items():
        as_thumbnails(path, len(FeatureSet.of(files[name], name)), f"images of {name}")
