"""The commands frechet, test, convert, info and demo."""

import sys
from pathlib import Path

import click

from precall.cli import inputs, options
from precall.data.conversion import convert
from precall.data.feature_sets import FeatureSet
from precall.data.inspection import FeatureInfo
from precall.data.readers.archives import holds_moments
from precall.data.readers.array_location import ArrayLocation
from precall.data.splits import CrossFit, HoldOut
from precall.evaluation.two_sample_test import two_sample_test
from precall.experiments.digits_demo import run_demo, run_picture_demo
from precall.results.schema import PUBLISHED
from precall.scores.frechet import frechet_distance


@click.command("frechet")
@options.real
@options.generated
@options.columns
def frechet_command(real: Path, generated: Path, columns: str | None) -> None:
    """Print the Frechet distance of two files: features, or mu and sigma (.npz).

    \b
    Example:
      precall frechet statistics.npz generated.npy
    """
    notes = inputs.listen()
    files = inputs.as_inputs({"real": real, "generated": generated}, columns)
    distance = frechet_distance(*(_features_or_moments(file, role) for role, file in files.items()))
    inputs.say(notes)
    click.echo(f"{distance:.6g}")


def _features_or_moments(file: inputs.Input, role: str) -> inputs.Input:
    """Read features; leave a file of moments to whoever measures distances."""
    if isinstance(file, str) and holds_moments(ArrayLocation.of(file, role)):
        return file
    return FeatureSet.of(file, role)


@click.command("test")
@options.real
@options.generated
@options.columns
@click.option(
    "--estimator",
    default="classifier",
    metavar="NAME",
    help="Classifier that tests; see precall evaluate.",
)
@click.option("--folds", type=int, metavar="F", help="Cross-fit over F folds, with permutations.")
@click.option(
    "--permutations",
    type=click.IntRange(min=1),
    default=99,
    help="How often labels are permuted and everything is fitted again; only with --folds.",
)
@options.seed
def test_command(
    real: Path,
    generated: Path,
    columns: str | None,
    estimator: str,
    folds: int | None,
    permutations: int,
    seed: int,
) -> None:
    """Test whether REAL and GENERATED are of one distribution, by a classifier's accuracy.

    Fits on a random half and evaluates the other, or uses every sample with --folds.

    \b
    Example:
      precall test real.npy generated.npy --folds 5
    """
    notes = inputs.listen()
    files = inputs.as_inputs({"real": real, "generated": generated}, columns)
    found = two_sample_test(
        files["real"],
        files["generated"],
        estimator=estimator,
        split=HoldOut() if folds is None else CrossFit(folds),
        n_permutations=permutations,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    inputs.say(notes)
    times = found.n_permutations
    method = "binomial" if times is None else f"{times} permutations"
    click.echo(f"accuracy {found.accuracy:.4f}, p-value {found.p_value:.3g} ({method})")


@click.command("convert")
@click.argument("source", type=options.PATH)
@click.argument("target", type=options.PATH)
@options.columns
@click.option(
    "--shard-rows",
    type=click.IntRange(min=1),
    default=100_000,
    help="Rows in each file of a folder.",
)
def convert_command(source: Path, target: Path, columns: str | None, shard_rows: int) -> None:
    """Write the features of SOURCE, of any format, to TARGET: a .npy file or a new folder.

    \b
    Example:
      precall convert features.npz:reps shards
    """
    notes = inputs.listen()
    located = inputs.located(source, columns)
    files = convert(located, target, shard_rows=shard_rows)
    inputs.say(notes)
    shown = str(files[0]) if len(files) == 1 else f"{files[0]} to {files[-1].name}"
    click.echo(f"wrote {len(files)} file{'s' * (len(files) > 1)}: {shown}")


@click.command("info")
@click.argument("file", type=options.PATH)
@options.columns
def info_command(file: Path, columns: str | None) -> None:
    """Tell what features a FILE holds.

    \b
    Example:
      precall info features.npz
    """
    notes = inputs.listen()
    info = FeatureInfo.of(inputs.located(file, columns))
    inputs.say(notes)
    click.echo(str(info))


@click.command("demo")
@click.option(
    "--out",
    type=options.FOLDER,
    default=Path("precall-demo"),
    help="Folder for the report, the picture and the results.",
)
@click.option(
    "--pictures",
    is_flag=True,
    help="Start from pictures: write them as files and extract features with efficientnet-lite0.",
)
def demo_command(out: Path, pictures: bool) -> None:
    """Evaluate four generators of handwritten digits, each failing in its own way.

    \b
    Example:
      precall demo --out demo
    """
    shown = sys.stderr.isatty()
    if pictures:
        demo = run_picture_demo(out, "efficientnet-lite0", progress=shown)
    else:
        demo = run_demo(out, progress=shown)
    click.echo(
        f"Real: {demo.n_real} handwritten digits. Four generators:\n\n"
        f"{demo}\n\n"
        "Support precision falls where a generator invents, recall at ½ where it drops; the total "
        "variation sees what is only re-weighted, too.\n"
        f"Results: {demo.document}\n"
        f"Picture: {demo.picture}\n"
        f"Report:  {demo.report} (open it in a browser)"
    )


@click.command("schema")
def schema_command() -> None:
    """Print the JSON schema of results, for programs that read what --json writes.

    \b
    Example:
      precall schema > result.schema.json
    """
    click.echo(PUBLISHED.read_text(encoding="utf-8"), nl=False)


SHORT_COMMANDS = (
    frechet_command,
    test_command,
    convert_command,
    info_command,
    demo_command,
    schema_command,
)
