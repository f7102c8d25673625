"""The command line: parse, call, print."""

import sys
import warnings

import click

from precall.cli.evaluating import compare_command, evaluate_command
from precall.cli.extracting import EXTRACTING_COMMANDS
from precall.cli.gating import gate_command
from precall.cli.reporting import report_command
from precall.cli.reproducing import reproduce_command
from precall.cli.short_commands import SHORT_COMMANDS
from precall.cli.watching import watch_command
from precall.errors import InputError, PrecallWarning
from precall.version import __version__

_BAD_INPUT = 2
_INTERRUPTED = 130
_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
_COMMANDS = [
    evaluate_command,
    compare_command,
    report_command,
    gate_command,
    watch_command,
    reproduce_command,
    *EXTRACTING_COMMANDS,
    *SHORT_COMMANDS,
]


@click.group(context_settings=_SETTINGS, commands=_COMMANDS, invoke_without_command=True)
@click.version_option(__version__, prog_name="precall", message="%(prog)s %(version)s")
@click.pass_context
def _cli(context: click.Context) -> None:
    """Learn how a generative model fails: exact precision-recall curves."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the command line; bad input ends it with one line on standard error and status 2."""
    warnings.simplefilter("ignore", PrecallWarning)  # the table lists them
    try:
        status = _cli.main(standalone_mode=False)
    except click.ClickException as error:
        _end(error.format_message(), _BAD_INPUT)
    except (InputError, OSError, ImportError) as error:
        _end(str(error), _BAD_INPUT)
    except MemoryError:
        _end("there is not enough memory. Free some, or pass fewer samples.", _BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        _end("interrupted", _INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _end(message: str, status: int) -> None:
    click.echo(f"precall: {' '.join(message.split())}", err=True)
    sys.exit(status)
