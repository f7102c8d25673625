"""What commands print and write: refusals before any work, the command in words."""

import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Self

import click
from click.core import ParameterSource

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.notes import Note
from precall.errors import PrecallWarning
from precall.findings.samples import check_sample_path
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation
from precall.results.table_formats import check_table_path
from precall.runtime.output_files import check_target

# Options that no number depends on, beside those of outputs.
_UNSEEN = {"images_real", "images_generated", "threads", "workers", "cache", "no_cache"}


@dataclass(frozen=True, slots=True)
class Outputs:
    """What is to be written where."""

    json_path: str | None
    table_path: Path | None
    html_path: Path | None
    samples_path: Path | None
    quiet: bool

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Self:
        """Take the options of :func:`precall.cli.options.writing` out of all options."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    @property
    def shows_progress(self) -> bool:
        """Whether somebody is watching."""
        return sys.stderr.isatty() and not self.quiet

    def check(self, given: Iterable[Path | None], models: Iterable[str] = ()) -> None:
        """Refuse, before any work is done, what could not be written or would overwrite an input.

        Parameters
        ----------
        models
            Names of models that samples are to be written of, if there are several.
        """
        inputs = [ArrayLocation.of(path, "").path for path in given if path is not None]
        json_file = None if self.json_path in (None, "-") else Path(self.json_path or "")
        if self.table_path is not None:
            check_table_path(self.table_path)
        samples: list[Path] = []
        for model, path in self._samples_of(list(models)).items():
            pair = check_sample_path(path, inputs)
            if pair[0] in samples:
                raise click.UsageError(
                    f"the samples of {model!r} and of another model would be written to the same "
                    "file; name them otherwise."
                )
            samples += pair
        named = {"--json": json_file, "--table": self.table_path, "--html": self.html_path}
        single = {option: path for option, path in named.items() if path is not None}
        for path in single.values():
            check_target(path, inputs)
        written = {option: {path.resolve()} for option, path in single.items()}
        written["--samples"] = {path.resolve() for path in samples}
        for (one, paths), (other, others) in combinations(written.items(), 2):
            if paths & others:
                raise click.UsageError(f"{one} and {other} would write the same file.")

    def _samples_of(self, models: list[str]) -> dict[str, Path]:
        """Where to write the samples of each model, whose name need not be fit for a file."""
        path = self.samples_path
        if path is None:
            return {}
        names = {model: re.sub(r"[^\w.-]+", "_", model) for model in models}
        of_models = {m: path.with_stem(f"{path.stem}-{name}") for m, name in names.items()}
        return of_models or {"": path}

    def deliver(
        self,
        found: Evaluation | Comparison,
        text: str,
        images_real: Path | None,
        images_generated: Any,
    ) -> None:
        """Print a result and write it; JSON stands on standard output alone."""
        if self.json_path not in (None, "-"):
            found.to_json(self.json_path)
        self._echo(text)
        if self.json_path == "-":
            click.echo(found.to_json(), nl=False)
        if self.table_path is not None:
            found.table().write(self.table_path)
        models = found.results if isinstance(found, Comparison) else {"": found}
        several = list(models) if isinstance(found, Comparison) else []
        for model, path in self._samples_of(several).items():
            if (samples := models[model].samples) is not None:
                samples.write(path)
        if self.html_path is not None:
            with saying_warnings(quiet=self.quiet):
                found.to_html(
                    self.html_path, images_real=images_real, images_generated=images_generated
                )
            self._echo(f"\nreport: {self.html_path}")

    def _echo(self, text: str) -> None:
        if not self.quiet:
            click.echo(text, err=self.json_path == "-")


@contextmanager
def saying_warnings(*, quiet: bool = False) -> Iterator[None]:
    """Print what is warned of inside, one line each, on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrecallWarning)
        yield
    for warning in caught if not quiet else ():
        click.echo(f"warning: {warning.message}", err=True)


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
    unseen = _UNSEEN | {field.name for field in fields(Outputs)}
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params[name]
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            arguments += map(str, values)
        elif name in unseen or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            options.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            options += [word for one in values for word in (parameter.opts[0], str(one))]
    command = ["precall", str(context.info_name)]
    if any(argument.startswith("-") for argument in arguments):
        return [*command, *options, "--", *arguments]
    return [*command, *arguments, *options]
