"""The commands evaluate and compare."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from precall.cli import extracting, inputs, options
from precall.cli.outputs import Outputs, remembering_command
from precall.evaluation.compare import compare
from precall.evaluation.evaluate import evaluate


@click.command("evaluate")
@options.real
@options.generated
@options.columns
@extracting.extracting
@options.measuring
@click.option("--labels-generated", type=options.PATH, help="Classes of GENERATED, likewise.")
@options.writing
@options.images_real("REAL for the page")
@click.option(
    "--images-generated",
    type=options.PICTURES,
    metavar="DIR|MANIFEST",
    help="Pictures of GENERATED, likewise.",
)
def evaluate_command(
    real: Path,
    generated: Path,
    columns: str | None,
    ceiling: bool,
    held_out: Path | None,
    images_real: Path | None,
    images_generated: Path | None,
    **passed_on: Any,
) -> None:
    """Compare GENERATED samples with REAL ones: files of features (samples x features).

    With --features both may be pictures, texts or sounds: folders, archives, columns of tables.

    Prints a table of scores, with what each would be if both distributions were one: first how much
    of generated is within the support of real, and how much of real is generated at least half as
    often as it should be. A table of the curves. And a diagnosis in words.

    \b
    Example:
      precall evaluate real.npy generated.npy --html report.html
      precall evaluate real_pictures/ generated_pictures/ --features auto --html report.html
      precall evaluate real.npy generated.npy --estimator coverage --k 100 --json result.json
    """
    outputs, features = Outputs.taken_from(passed_on), extracting.taken_from(passed_on)
    arguments = options.arguments(**passed_on)
    pictures = {"real": images_real, "generated": images_generated}
    labels = arguments["labels_real"], arguments["labels_generated"]
    outputs.check([real, generated, *labels, held_out, *pictures.values()])
    notes = inputs.listen()
    given = {"real": real, "generated": generated, "held_out": held_out}
    files = inputs.as_inputs(given, columns)
    extracting.check_no_pictures(features, *pictures.values())
    inputs.check_pictures(outputs.html_path, pictures, files)
    result = evaluate(
        files["real"],
        files["generated"],
        features=features,
        ceiling=files.get("held_out", ceiling),
        progress=outputs.shows_progress,
        **arguments,
    )
    result = remembering_command(result, notes)
    has_words = arguments["estimators"] or arguments["modes"]
    words = "\n".join(result.diagnosis()) if has_words else ""
    text = f"{result!r}\n\n{words}".rstrip()
    outputs.deliver(result, text, images_real, images_generated)


@click.command("compare")
@options.real
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]FILE...")
@options.columns
@extracting.extracting
@options.measuring
@click.option(
    "--labels-generated",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Classes of a model's samples, likewise, may be repeated; or of every model's.",
)
@click.option(
    "--subsample",
    is_flag=True,
    help="Take random subsets where models have unequal numbers of samples.",
)
@options.writing
@options.images_real("REAL for the page")
@click.option(
    "--images-generated",
    multiple=True,
    metavar="NAME=DIR",
    help="Pictures of a model's samples, likewise; may be repeated.",
)
def compare_command(
    real: Path,
    models: tuple[str, ...],
    columns: str | None,
    ceiling: bool,
    held_out: Path | None,
    labels_generated: tuple[str, ...],
    subsample: bool,
    images_real: Path | None,
    images_generated: tuple[str, ...],
    **passed_on: Any,
) -> None:
    """Compare several models with REAL samples, and with each other.

    A model is called as its file is, without folder and ending, unless it is given a name.

    \b
    Example:
      precall compare real.npy gan.npy diffusion.npy
      precall compare real.npy gan=a/features.npy diffusion=b/features.npy --html models.html
    """
    outputs, features = Outputs.taken_from(passed_on), extracting.taken_from(passed_on)
    arguments = options.arguments(**passed_on)
    files = inputs.named_or_plain_files(models)
    if len(files) < 2:
        raise click.UsageError("compare needs two models or more; for one use precall evaluate.")
    folders = inputs.named_files(images_generated)
    labels = inputs.named_or_shared_files(labels_generated, files)
    inputs.check_models("--labels-generated", labels, files)
    _check_rows_stay(
        subsample,
        {
            "--images-generated": images_generated,
            "--labels-generated": labels_generated,
            "--samples": outputs.samples_path,
        },
    )
    read = [real, *files.values(), *labels.values(), arguments["labels_real"], held_out]
    outputs.check([*read, *folders.values(), images_real], files)
    notes = inputs.listen()
    roles = {f"model {name!r}": path for name, path in files.items()}
    sets = inputs.as_inputs({"real": real, "held_out": held_out, **roles}, columns)
    generated = {name: sets[role] for name, role in zip(files, roles, strict=True)}
    extracting.check_no_pictures(features, images_real, folders)
    inputs.check_pictures(outputs.html_path, {"real": images_real}, sets)
    inputs.check_pictures(outputs.html_path, folders, generated)
    found = compare(
        sets["real"],
        generated,
        features=features,
        ceiling=sets.get("held_out", ceiling),
        labels_generated=labels or None,
        subsample=subsample,
        progress=outputs.shows_progress,
        **arguments,
    )
    results = {
        name: remembering_command(result, [n for n in notes if n.role in ("real", role)])
        for (name, result), role in zip(found.results.items(), roles, strict=True)
    }
    found = replace(found, results=results)
    outputs.deliver(found, repr(found), images_real, folders)


def _check_rows_stay(subsample: bool, by_row: dict[str, object]) -> None:
    """Refuse to leave rows out where something is told of every row."""
    for option, given in by_row.items():
        if subsample and given:
            raise click.UsageError(
                f"{option} cannot be combined with --subsample, which leaves rows out."
            )
