"""Text that is written by the program itself: ``% generated: commands`` and the like."""

import re
from collections.abc import Callable, Iterator
from inspect import cleandoc

import click
from sphinx.application import Sphinx

from precall.cli import _cli
from precall.scores.catalog import METRICS
from precall.scores.conventions import CONVENTIONS

_MARK = re.compile(r"^% generated: (\S+)\s*$", re.MULTILINE)


def commands() -> str:
    """Every command, as ``--help`` has it."""
    context = click.Context(_cli, info_name="precall")
    names = _cli.list_commands(context)
    return "\n\n".join(_command(_cli.commands[name], context) for name in names)


def _command(command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=command.name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## precall {command.name}", f"```text\n{usage}\n```", *_help(command.help or "")]
    options = [
        record for p in command.get_params(context) if (record := p.get_help_record(context))
    ]
    parts += [f"`{names}`\n: {_plain(words)}" for names, words in options if words]
    return "\n\n".join(parts)


def _help(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those that click is told not to wrap are examples."""
    for paragraph in cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            head, *lines = paragraph.removeprefix("\b\n").splitlines()
            yield head
            yield "```sh\n" + "\n".join(line.strip() for line in lines) + "\n```"
        elif paragraph.strip():
            yield _plain(" ".join(paragraph.split()))


def _plain(words: str) -> str:
    """What is written for a terminal, with nothing in it that Markdown would take for markup."""
    return re.sub(r"([\[\]<>*_|\\])", r"\\\1", words)


def presets() -> str:
    """A table of all conventions."""
    rows = ["| `convention=` | ties | default k | scores |", "|---|---|---|---|"]
    for name, convention in CONVENTIONS.items():
        own = METRICS if convention.scores is None else convention.scores
        ks = {convention.default_k.get(score, METRICS[score].default_k) for score in own}
        known = sorted(k for k in ks if k is not None)
        scores = "all" if convention.scores is None else ", ".join(convention.scores)
        shown = "each score's own" if len(known) > 1 else ", ".join(map(str, known))
        rows.append(f"| `{name}` | {convention.rule.value} | {shown} | {scores} |")
    return "\n".join(rows)


_GENERATORS: dict[str, Callable[[], str]] = {"commands": commands, "presets": presets}


def _fill_in(_app: Sphinx, _docname: str, source: list[str]) -> None:
    source[0] = _MARK.sub(lambda mark: _GENERATORS[mark[1]](), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill in text as pages are read."""
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
