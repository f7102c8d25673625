"""What options mean, and refusals that need no reading of files."""

from pathlib import Path
from typing import Literal

import click

from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator, as_estimator
from precall.outputs import check_target
from precall.samples import check_sample_path
from precall.split import CoinFlip, CrossFit, HoldOut, NoSplit, Split

__all__ = [
    "K",
    "Neighbors",
    "check_outputs",
    "chosen_scores",
    "chosen_split",
    "named_estimator",
    "named_files",
]

K = int | Literal["sqrt", "cv"]


class Neighbors(click.ParamType[int | str]):
    """A positive integer or one of the words sqrt and cv."""

    name = "INT|sqrt|cv"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> K:
        """Read the option."""
        if value == "sqrt" or value == "cv":
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
            return int(value)
        return self.fail(f"{value!r} is neither a positive integer nor 'sqrt' or 'cv'.", param, ctx)


def named_files(models: tuple[str, ...]) -> dict[str, Path]:
    """Read NAME=FILE pairs."""
    files: dict[str, Path] = {}
    for text in models:
        name, equals, file = text.partition("=")
        if not (name and equals and file) or name in files:
            raise click.UsageError(
                f"{text!r} is no model; give each as NAME=FILE, every name once."
            )
        files[name] = Path(file)
    return files


def named_estimator(name: str, k: K) -> Estimator:
    """Return an estimator; k is for those that look at neighbours."""
    return NEIGHBOR_ESTIMATORS[name](k) if name in NEIGHBOR_ESTIMATORS else as_estimator(name)


def check_outputs(json_path: str | None, samples_path: Path | None, inputs: list[Path]) -> None:
    """Refuse, before any work is done, what could not be written or would overwrite an input."""
    if json_path is not None and json_path != "-":
        check_target(Path(json_path), inputs)
    if samples_path is not None:
        tables = check_sample_path(samples_path, inputs)
        if json_path is not None and Path(json_path) in tables:
            raise click.UsageError("--json and --samples would write the same file.")


def chosen_scores(names: tuple[str, ...]) -> tuple[str, ...] | str | None:
    """Read the words all and none."""
    if {"all", "none"} & set(names):
        if len(names) > 1:
            raise click.UsageError("--score all and --score none stand alone.")
        return "all" if names == ("all",) else ()
    return names or None


def chosen_split(
    split: bool | None, folds: int | None, *, coin_flip: bool
) -> Split | Literal["auto"]:
    """Return the one split that the options ask for."""
    if (split is not None) + (folds is not None) + coin_flip > 1:
        raise click.UsageError("only one of --split, --no-split, --folds and --coin-flip goes.")
    if coin_flip:
        return CoinFlip()
    if folds is not None:
        return CrossFit(folds)
    if split is None:
        return "auto"
    return HoldOut() if split else NoSplit()
