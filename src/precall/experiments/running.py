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
from precall.experiments.experiment import Cell, Experiment, Measured, Measurements, Row, Size
from precall.runtime.output_files import replacing, write_text
from precall.version import __version__

__all__ = ["Outcome", "finished", "run_experiment"]

Progress = Callable[[int, int], None]


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
    report: Progress | None = None,
) -> Outcome:
    """Measure every cell that is not yet known, compare with the paper and draw the figure.

    Cells are written to ``folder/NAME.partial.json`` as they are finished: an interrupted run loses
    the cell it was in, and no more. ``folder/NAME.json`` is replaced when all are.

    Parameters
    ----------
    folder
        For the results and the figure; made if it is not there.
    report
        Called with the number of finished cells and of all.
    """
    missing = [package for package in experiment.needs if find_spec(package) is None]
    if missing:
        raise InputError(f"experiment {experiment.name} needs {' and '.join(missing)}.")
    folder.mkdir(parents=True, exist_ok=True)
    path, partial = (folder / f"{experiment.name}{end}" for end in (".json", ".partial.json"))
    settings = {"experiment": experiment.name, "quick": size.quick, "repeats": size.repeats}
    settings |= {"seed": seed, "version": __version__}
    cells = experiment.cells(size)
    known = _known(path, settings) | _known(partial, settings)
    for done, cell in enumerate(cells):
        if report is not None:
            report(done, len(cells))
        if cell.name in known:
            continue
        start = time.perf_counter()
        values = experiment.measure(cell.parameters, _generator(experiment, cell, seed))
        known[cell.name] = {"values": values, "seconds": round(time.perf_counter() - start, 3)}
        _write(partial, {"settings": settings, "cells": known, "rows": None})
    found = Measurements([Measured(c.parameters, known[c.name]["values"]) for c in cells])
    rows = [asdict(row) for row in experiment.compare(found)]
    _write(path, {"settings": settings, "cells": known, "rows": rows})
    partial.unlink(missing_ok=True)
    _draw(experiment, found, _figure(experiment, folder))
    if report is not None:
        report(len(cells), len(cells))
    outcome = finished(experiment, folder)
    if outcome is None:
        raise AssertionError(f"{path} was not finished")
    return outcome


def finished(experiment: Experiment, folder: Path) -> Outcome | None:
    """Return what a folder holds of an experiment; ``None`` if that is nothing."""
    path = folder / f"{experiment.name}.json"
    if not path.exists():
        return None
    document = _read(path)
    try:
        settings = document["settings"]
        return Outcome(
            experiment,
            [Row(**row) for row in document["rows"]],
            sum(cell["seconds"] for cell in document["cells"].values()),
            Size(settings["quick"], settings["repeats"]),
            settings["seed"],
            _figure(experiment, folder),
        )
    except (LookupError, TypeError) as error:
        raise _not_a_result(path) from error


def _figure(experiment: Experiment, folder: Path) -> Path:
    return folder / f"{experiment.name}.png"


def _generator(experiment: Experiment, cell: Cell, seed: int) -> np.random.Generator:
    """Chance that depends on the cell alone, not on what ran before it."""
    return np.random.default_rng((seed, zlib.crc32(f"{experiment.name}: {cell.name}".encode())))


def _known(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Cells of an earlier run with the same settings."""
    if not path.exists():
        return {}
    document = _read(path)
    cells: dict[str, Any] = document["cells"] if document["settings"] == settings else {}
    return cells


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


def _draw(experiment: Experiment, found: Measurements, path: Path) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9.6, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        experiment.draw(found, figure)
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=120, metadata={"Software": None})
