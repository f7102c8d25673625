"""Run experiments, keep what is finished, and go on from there."""

import json
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from precall.errors import InputError
from precall.experiments.base import Cell, Experiment, Measured, Measurements, Row, Size
from precall.runtime.output_files import replacing, write_text
from precall.version import __version__


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished experiment."""

    experiment: Experiment
    rows: list[Row]
    seconds: float  # of measuring, over all runs it took
    size: Size
    seed: int
    figure: Path


def run_experiment(
    experiment: Experiment,
    folder: Path,
    size: Size,
    *,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Outcome:
    """Measure every cell that is not yet known, compare with the paper and draw the figure.

    Cells are written to ``folder/NAME.partial.json`` as they are finished: an interrupted run loses
    the cell it was in, and no more. ``folder/NAME.json`` is replaced when all are. ``report`` is
    called with the number of finished cells and of all.
    """
    missing = [package for package in experiment.needs if find_spec(package) is None]
    if missing:
        raise InputError(f"experiment {experiment.name} needs {' and '.join(missing)}.")
    folder.mkdir(parents=True, exist_ok=True)
    path, partial = (folder / f"{experiment.name}{end}" for end in (".json", ".partial.json"))
    settings = {"experiment": experiment.name, "quick": size.quick, "repeats": size.repeats}
    settings |= {"seed": seed, "version": __version__}
    known = _known(path, settings) | _known(partial, settings)
    document: dict[str, Any] = {"settings": settings, "cells": known, "rows": None}
    cells = {cell_name(cell): cell for cell in experiment.steps.cells(size)}
    for done, (name, cell) in enumerate(cells.items()):
        report(done, len(cells))
        if name in known:
            continue
        # Chance depends on the cell alone, not on what ran before it.
        rng = np.random.default_rng((seed, zlib.crc32(f"{experiment.name}: {name}".encode())))
        start = time.perf_counter()
        values = experiment.steps.measure(cell, rng)
        known[name] = {"values": values, "seconds": round(time.perf_counter() - start, 3)}
        _write(partial, document)
    found = Measurements([Measured(cell, known[name]["values"]) for name, cell in cells.items()])
    document["rows"] = [asdict(row) for row in experiment.steps.compare(found)]
    _write(path, document)
    partial.unlink(missing_ok=True)
    _draw(experiment, found, folder)
    report(len(cells), len(cells))
    return _outcome(experiment, folder, document)


def finished(experiment: Experiment, folder: Path) -> Outcome | None:
    """Return what a folder holds of an experiment; ``None`` if that is nothing."""
    path = folder / f"{experiment.name}.json"
    try:
        return _outcome(experiment, folder, _read(path)) if path.exists() else None
    except (LookupError, TypeError) as error:
        raise _not_a_result(path) from error


def cell_name(cell: Cell) -> str:
    """Name a cell by its parameters; the seed of its samples depends on it."""
    return ", ".join(f"{key}={value}" for key, value in cell.items())


def _outcome(experiment: Experiment, folder: Path, document: dict[str, Any]) -> Outcome:
    settings = document["settings"]
    return Outcome(
        experiment,
        [Row(**row) for row in document["rows"]],
        sum(cell["seconds"] for cell in document["cells"].values()),
        Size(settings["quick"], settings["repeats"]),
        settings["seed"],
        folder / f"{experiment.name}.png",
    )


def _known(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Cells of an earlier run with the same settings."""
    document: dict[str, Any] = _read(path) if path.exists() else {"settings": None}
    return dict(document["cells"]) if document["settings"] == settings else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        is_whole = {"settings", "cells", "rows"} <= document.keys() and all(
            {"values", "seconds"} <= cell.keys() for cell in document["cells"].values()
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise _not_a_result(path)
    return document


def _not_a_result(path: Path) -> InputError:
    return InputError(
        f"{path} is not a result of an experiment; remove it or choose another folder."
    )


def _write(path: Path, document: dict[str, Any]) -> None:
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _draw(experiment: Experiment, found: Measurements, folder: Path) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9.6, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        experiment.steps.draw(found, figure)
        with replacing(folder / f"{experiment.name}.png") as temporary:
            figure.savefig(temporary, dpi=120, metadata={"Software": None})
