"""The curse of dimension (000 §4.4, Fig. 4), and a trained classifier, which escapes it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from precall.data.splits import CrossFit, HoldOut, Split
from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator, Trained
from precall.experiments.drawing import COLOR_OF, points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size
from precall.experiments.scoring import evaluate_quietly
from precall.experiments.shifted_gaussians import (
    LABEL_OF,
    METHODS,
    ShiftedGaussians,
    draw_methods,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOW = 64  # the dimension of Fig. 2, to compare with
SHIFTS = (1.0, 2.0)
SPLITS: dict[str, Split] = {"50 % split": HoldOut(), "5 folds": CrossFit(5)}
PAPER_SPLIT = "50 % split"
NAMES = (*METHODS, "classifier", "best")
MUCH = 1.5  # times the overestimation in 64 dimensions


def cells(size: Size) -> list[Cell]:
    """List both dimensions with the paper's split, and the high one with five folds."""
    n, high = size.pick(quick=(1500, 512), full=(10_000, 2048))
    return [
        Cell({"d": d, "shift": shift, "split": split, "n": n, "repeat": repeat})
        for repeat in range(size.n_repeats(quick=1, full=1))
        for d, split in ((LOW, PAPER_SPLIT), (high, PAPER_SPLIT), (high, "5 folds"))
        for shift in SHIFTS
    ]


def measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Measure all methods with k = √n, the linear classifiers of 003, and the best of all."""
    gaussians = ShiftedGaussians(parameters["shift"], parameters["d"])
    estimators: list[Estimator] = [NEIGHBOR_ESTIMATORS[method]() for method in METHODS]
    result = evaluate_quietly(
        *gaussians.draw(parameters["n"], rng),
        estimators=[*estimators, Trained()],
        split=SPLITS[parameters["split"]],
        scores=(),
        seed=int(rng.integers(2**31)),
    )
    curves = dict(result.curves)
    if result.best_curve is not None:  # it is there whenever there is a split
        curves["best"] = result.best_curve
    values: dict[str, Any] = {}
    for name, curve in curves.items():
        values[f"iou {name}"] = curve.iou(gaussians.truth)
        values[f"excess {name}"] = curve.area - gaussians.truth.area
        values[f"points {name}"] = points(curve)
    return values


def _high(found: Measurements) -> int:
    return int(max(found.parameter("d")))


def compare(found: Measurements) -> list[Row]:
    """Compare with 64 dimensions, and neighbours with a trained classifier."""
    return [
        *(_overestimation(found, shift, method) for shift in SHIFTS for method in METHODS),
        *(_escape(found, shift) for shift in SHIFTS),
        *_ious(found),
    ]


def _overestimation(found: Measurements, shift: float, method: str) -> Row:
    here = found.where(shift=shift, split=PAPER_SPLIT)
    low, high = (here.where(d=d).mean(f"excess {method}") for d in (LOW, _high(found)))
    most = 1 - ShiftedGaussians(shift).truth.area
    return Row.claim(
        f"d = {_high(found)} overestimates much more than d = {LOW}: δ = {shift:g}, "
        f"{LABEL_OF[method]}",
        f"area {high:.3f} too large, {low:.3f} in d = {LOW}",
        holds=high >= MUCH * low > 0,
        note=f"holds if the excess is {MUCH:g} times as large; it cannot pass {most:.3f}",
    )


def _escape(found: Measurements, shift: float) -> Row:
    here = found.where(shift=shift, split=PAPER_SPLIT, d=_high(found))
    nearest = max(METHODS, key=lambda method: here.mean(f"iou {method}"))
    lead = here.mean("iou classifier") - here.mean(f"iou {nearest}")
    return Row.new(
        f"lead of the trained classifier in IoU, δ = {shift:g}, d = {_high(found)}",
        lead,
        note=f"over {LABEL_OF[nearest]}, the best of the neighbour curves",
    )


def _ious(found: Measurements) -> list[Row]:
    rows = []
    for d, split in ((LOW, PAPER_SPLIT), (_high(found), PAPER_SPLIT), (_high(found), "5 folds")):
        for shift in SHIFTS:
            here = found.where(d=d, split=split, shift=shift)
            rows += [
                Row.new(
                    f"IoU, d = {d}, δ = {shift:g}, {split}, {LABEL_OF[name]}",
                    here.mean(f"iou {name}"),
                    spread=here.deviation(f"iou {name}"),
                )
                for name in NAMES
            ]
    return rows


def draw(found: Measurements, figure: "Figure") -> None:
    """Draw Fig. 4 with the trained classifier, and IoUs in both dimensions."""
    figure.set_size_inches(13, 4.8)
    *left, right = figure.subplots(1, 3)
    high = _high(found)
    for shift, ax in zip(SHIFTS, left, strict=True):
        here = found.where(d=high, split=PAPER_SPLIT, shift=shift)
        draw_methods(ax, here, "points", shift, f"d = {high}, δ = {shift:g}", NAMES[:-1])
        curve = np.mean(here.values("points best"), axis=0)
        ax.plot(*curve, color=COLOR_OF["best"], ls=":", lw=2.2, label=LABEL_OF["best"])
    _draw_ious(right, found)
    handles, labels = left[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False)


def _draw_ious(ax: "Axes", found: Measurements) -> None:
    """Dots for every method: filled for the high dimension, open for the low one."""
    here = found.where(split=PAPER_SPLIT)
    for row, name in enumerate(NAMES):
        for shift, marker in zip(SHIFTS, "os", strict=True):
            y = len(NAMES) - row + (0.15 if shift == SHIFTS[0] else -0.15)
            low, high = (
                here.where(d=d, shift=shift).mean(f"iou {name}") for d in (LOW, _high(found))
            )
            color = COLOR_OF[name]
            ax.plot([high, low], [y, y], color=color, lw=1, alpha=0.5)
            ax.plot(high, y, marker=marker, color=color, ms=7, ls="")
            ax.plot(low, y, marker=marker, color=color, ms=7, ls="", mfc="white")
    for marker, fill, label in (
        ("o", "grey", f"d = {_high(found)}, δ = {SHIFTS[0]:g}"),
        ("s", "grey", f"d = {_high(found)}, δ = {SHIFTS[1]:g}"),
        ("o", "white", f"d = {LOW}, δ = {SHIFTS[0]:g}"),
        ("s", "white", f"d = {LOW}, δ = {SHIFTS[1]:g}"),
    ):
        ax.plot([], [], marker=marker, color="grey", mfc=fill, ls="", label=label)
    ax.set_yticks(range(len(NAMES), 0, -1), [LABEL_OF[name] for name in NAMES])
    ax.set(xlim=(0, 1.02), xlabel="IoU with the truth", title="50 % split")
    ax.legend(loc="lower left", frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    name="dimension",
    title="The curse of dimension, and a way out",
    where="000 §4.4, Fig. 4",
    caption="Left and middle: curves of Gaussian shifts in 2 048 dimensions, truth dashed: all "
    "neighbour curves lie far above it. The trained classifier of 003 (orange) and the best of all "
    "(dotted), which the paper lacks, come far closer. Right: how much closer the same methods "
    "come in 64 dimensions (open).",
    quick_seconds=6,
    full_seconds=230,
    cells=cells,
    measure=measure,
    compare=compare,
    draw=draw,
)
