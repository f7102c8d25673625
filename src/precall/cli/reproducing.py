"""The command reproduce: the papers, number by number."""

import sys
from collections.abc import Iterable
from pathlib import Path

import click
from tqdm import tqdm

from precall.cli import options
from precall.errors import InputError
from precall.experiments import EXPERIMENTS, Experiment, Size, finished, run_experiment
from precall.experiments.real_data.datasets import data_from
from precall.experiments.tables import experiment_list, page, row_table
from precall.runtime.output_files import write_text


@click.command("reproduce")
@click.argument("names", nargs=-1, metavar="[NAME...|all]")
@click.option("--list", "is_list", is_flag=True, help="List the experiments and do no more.")
@click.option("--quick", is_flag=True, help="Smaller samples and fewer repetitions.")
@click.option(
    "--out",
    type=options.FOLDER,
    default=Path("reproduction"),
    help="Folder for results, figures and the page; what is finished there is not done again.",
)
@click.option(
    "--data",
    metavar="FOLDER|openml",
    help="Where MNIST, Fashion-MNIST and CIFAR-10 are, for experiments on real pictures: a folder, "
    "or openml to download them. [default: scikit-learn's digits alone]",
)
@options.seed
@click.option(
    "--repeats", type=click.IntRange(min=1), help="Repetitions. [default: each experiment's own]"
)
def reproduce_command(
    names: tuple[str, ...],
    is_list: bool,
    quick: bool,
    out: Path,
    data: str | None,
    seed: int,
    repeats: int | None,
) -> None:
    """Do experiments of the papers again: the published number beside ours.

    Leaves for each experiment its results (NAME.json) and a figure (NAME.png), and README.md with
    all of them. An interrupted run goes on where it stopped.

    \b
    Example:
      precall reproduce --list
      precall reproduce shift --quick
    """
    if is_list or not names:
        click.echo(experiment_list(EXPERIMENTS.values()))
        return
    size = Size(quick, repeats)
    with data_from(data):
        for experiment in _chosen(names):
            _run(experiment, out, size, seed)
    known = [finished(experiment, out) for experiment in EXPERIMENTS.values()]
    write_text(out / "README.md", page([outcome for outcome in known if outcome is not None]))
    click.echo(f"page: {out / 'README.md'}")


def _chosen(names: tuple[str, ...]) -> Iterable[Experiment]:
    if names == ("all",):
        return EXPERIMENTS.values()
    for name in names:
        if name not in EXPERIMENTS:
            raise InputError(
                f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}, or all."
            )
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)]


def _run(experiment: Experiment, out: Path, size: Size, seed: int) -> None:
    click.echo(f"{experiment.name}: {experiment.title} ({experiment.where})", err=True)
    with tqdm(disable=not sys.stderr.isatty(), leave=False, unit="cell") as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        outcome = run_experiment(experiment, out, size, seed=seed, report=report)
    click.echo(f"{experiment.name}: {experiment.title}\n\n{row_table(outcome.rows)}\n")
    click.echo(f"figure: {outcome.figure}\n")
