"""The command that is being run, as one would type it again."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

import click

from precall.results.evaluation import Evaluation

_ONLY_WRITES = {"json_path", "html_path", "samples_path", "images_real", "images_generated"}
_ONLY_WRITES |= {"threads"}


def remembering_command(result: Evaluation) -> Evaluation:
    """Return the result with the running command in its protocol, less what only writes files."""
    command = shlex.join(_words(click.get_current_context()))
    return replace(result, protocol=replace(result.protocol, call=command))


def _words(context: click.Context) -> list[str]:
    arguments: list[str] = []
    options: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter, click.Argument):
            arguments += map(str, value if isinstance(value, tuple) else (value,))
        elif parameter.name not in _ONLY_WRITES and isinstance(parameter, click.Option):
            options += _option_words(parameter, value, context)
    command = ["precall", str(context.info_name)]
    if any(argument.startswith("-") for argument in arguments):
        return [*command, *options, "--", *arguments]
    return [*command, *arguments, *options]


def _option_words(option: click.Option, value: object, context: click.Context) -> Iterator[str]:
    source = context.get_parameter_source(str(option.name))
    if value is None or value == () or source is click.core.ParameterSource.DEFAULT:
        return
    if option.is_flag:
        names = option.opts if value else option.secondary_opts
        yield names[0]
        return
    for one in value if isinstance(value, tuple) else (value,):
        yield from (option.opts[0], str(one))
