"""The command watch: a page that follows a folder of results."""

import time
from pathlib import Path
from typing import Literal

import click

from precall.cli import options
from precall.errors import InputError
from precall.monitoring.checkpoints import Found, ResultFolder
from precall.report.timelines import sentences_of, title_of
from precall.report.watch_page import write_watch_page
from precall.runtime.output_files import check_target


@click.command("watch")
@click.argument("folder", type=options.FOLDER, metavar="FOLDER")
@click.option(
    "--out", type=options.PATH, metavar="FILE", help="The page.  [default: FOLDER/watch.html]"
)
@click.option("--once", is_flag=True, help="Write the page once, and end.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=5.0,
    metavar="SECONDS",
    help="How often to look for new results.",
)
@click.option(
    "--order",
    type=click.Choice(["name", "time"]),
    default="name",
    help="By name, numbers in it as such (epoch-9 before epoch-10), or by time of writing.",
)
@click.option("--title", help="Heading of the page.")
def watch_command(
    folder: Path,
    out: Path | None,
    once: bool,
    every: float,
    order: Literal["name", "time"],
    title: str | None,
) -> None:
    """Follow a FOLDER of results, one .json an epoch or checkpoint, on a page.

    Shows precision, recall, F and area over time, the curve of every result, which result is best
    and whether others are worse by more than chance. The page is one file, written anew whenever
    results come; open it in a browser and leave it open. Ctrl-C ends.

    \b
    Example:
      precall watch runs/digits
      precall watch runs/digits --once --out timeline.html
    """
    page = folder / "watch.html" if out is None else out
    results = ResultFolder(folder, order)
    check_target(page)
    if once:
        found, _ = results.look()
        if not found.results:
            raise InputError(f"there are no results (.json) in {folder}{_because(found)}.")
        line = write_watch_page(page, found.results, refused=found.refused, title=title)
        click.echo("\n".join([title_of(line), *sentences_of(line), f"page: {page}"]))
        return
    click.echo(f"watching {folder}, Ctrl-C ends; page: {page}")
    _follow(results, page, every, title)


def _follow(results: ResultFolder, page: Path, every: float, title: str | None) -> None:
    found = Found({}, {})
    try:
        while True:
            found, has_changed = results.look()
            if has_changed and found.results:
                line = write_watch_page(
                    page,
                    found.results,
                    refused=found.refused,
                    title=title,
                    refresh_seconds=every,
                )
                n = len(found.results)
                click.echo(f"{n} result{'s' * (n > 1)}. {title_of(line)}")
            time.sleep(every)
    except KeyboardInterrupt:
        if found.results:  # nobody writes it any more: it need not be looked at again
            write_watch_page(page, found.results, refused=found.refused, title=title)
        click.echo("stopped")


def _because(found: Found) -> str:
    name, reason = next(iter(found.refused.items()), ("", ""))
    return f"; {name}.json: {reason}" if name else ""
