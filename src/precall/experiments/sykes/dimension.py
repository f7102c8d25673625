"""The curse of dimension (Sykes et al. 2024 §4.4, Fig. 4); a trained classifier escapes it."""

from itertools import product

import numpy as np

from precall.data.splits import CrossFit, HoldOut, Split
from precall.estimators import NEIGHBOR_ESTIMATORS, Trained
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import evaluate_quietly
from precall.experiments.sykes.gaussians import METHODS, ShiftedGaussians

LOW = 64  # the dimension of Fig. 2, to compare with
SHIFTS = (1.0, 2.0)
PAPER_SPLIT = "50 % split"
SPLITS: dict[str, Split] = {PAPER_SPLIT: HoldOut(), "5 folds": CrossFit(5)}
NAMES = (*METHODS, "classifier", "best")
MUCH = 1.5  # times the overestimation in 64 dimensions


def _cells(size: Size) -> list[Cell]:
    """List both dimensions with the paper's split, and the high one with five folds."""
    n, high = size.pick(quick=(1500, 512), full=(10_000, 2048))
    settings = (LOW, PAPER_SPLIT), (high, PAPER_SPLIT), (high, "5 folds")
    cells = [
        {"d": d, "shift": shift, "split": split, "n": n}
        for (d, split), shift in product(settings, SHIFTS)
    ]
    return size.repeat(cells, quick=1, full=1)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Measure all methods with k = √n, linear classifiers (Simon et al. 2019), and the best."""
    gaussians = ShiftedGaussians(cell["shift"], cell["d"])
    result = evaluate_quietly(
        gaussians.draw(cell["n"], rng),
        estimators=[*(NEIGHBOR_ESTIMATORS[method]() for method in METHODS), Trained()],
        split=SPLITS[cell["split"]],
        scores=(),
        seed=int(rng.integers(2**31)),
    )
    values = Values()
    for name, curve in {**result.curves, "best": result.best_curve}.items():
        if curve is not None:  # the best one is there whenever there is a split
            values[f"iou {name}"] = curve.iou(gaussians.truth)
            values[f"excess {name}"] = curve.area - gaussians.truth.area
            values[f"points {name}"] = plots.points(curve)
    return values


def _compare(found: Measurements) -> Rows:
    """Compare with 64 dimensions, and neighbours with a trained classifier."""
    high_d, by_paper = max(found.parameter("d")), found.where(split=PAPER_SPLIT)
    for shift, method in product(SHIFTS, METHODS):
        here = by_paper.where(shift=shift)
        low, high = (here.where(d=d).mean(f"excess {method}") for d in (LOW, high_d))
        most = 1 - ShiftedGaussians(shift).truth.area
        yield Row.claim(
            f"d = {high_d} overestimates much more than d = {LOW}: δ = {shift:g}, "
            f"{plots.LABEL_OF[method]}",
            f"area {high:.3f} too large, {low:.3f} in d = {LOW}",
            holds=high >= MUCH * low > 0,
            note=f"holds if the excess is {MUCH:g} times as large; it cannot pass {most:.3f}",
        )
    for shift, here in by_paper.where(d=high_d).by("shift"):
        iou = {name: here.mean(f"iou {name}") for name in NAMES}
        nearest = max(METHODS, key=lambda method: iou[method])
        yield Row.new(
            f"lead of the trained classifier in IoU, δ = {shift:g}, d = {high_d}",
            iou["classifier"] - iou[nearest],
            note=f"over {plots.LABEL_OF[nearest]}, the best of the neighbour curves",
        )
    for d, shift, split, here in found.by("d", "shift", "split"):
        for name in NAMES:
            what = f"IoU, d = {d}, δ = {shift:g}, {split}, {plots.LABEL_OF[name]}"
            yield here.row(what, f"iou {name}")


def _draw(found: Measurements, figure: plots.Figure) -> None:
    """Draw Fig. 4 with the trained classifier, and IoUs in both dimensions."""
    figure.set_size_inches(13, 4.8)
    *left, right = figure.subplots(1, 3)
    high, by_paper = max(found.parameter("d")), found.where(split=PAPER_SPLIT)
    for (shift, here), ax in zip(by_paper.where(d=high).by("shift"), left, strict=True):
        plots.pr_axes(ax, f"d = {high}, δ = {shift:g}", ShiftedGaussians(shift).truth)
        for name in NAMES:
            plots.mean_curve(ax, here, f"points {name}", **plots.LINE_OF[name])
    _draw_ious(right, by_paper, high)
    plots.legend_outside(figure, left[0])


def _draw_ious(ax: plots.Axes, found: Measurements, high_d: int) -> None:
    """Dots for every method: filled for the high dimension, open for the low one."""
    places = range(len(NAMES), 0, -1)
    styles = list(zip(SHIFTS, "os", (0.15, -0.15), strict=True))
    for (place, name), (shift, marker, above) in product(zip(places, NAMES, strict=True), styles):
        here = found.where(shift=shift)
        low, high = (here.where(d=d).mean(f"iou {name}") for d in (LOW, high_d))
        y, color = place + above, plots.COLOR_OF[name]
        ax.plot([high, low], [y, y], color=color, lw=1, alpha=0.5)
        ax.plot(high, y, marker=marker, color=color, ms=7, ls="")
        ax.plot(low, y, marker=marker, color=color, ms=7, ls="", mfc="white")
    for (d, fill), (shift, marker, _) in product(((high_d, "grey"), (LOW, "white")), styles):
        label = f"d = {d}, δ = {shift:g}"
        ax.plot([], [], marker=marker, color="grey", mfc=fill, ls="", label=label)
    ax.set_yticks(places, [plots.LABEL_OF[name] for name in NAMES])
    ax.set(xlim=(0, 1.02), xlabel="IoU with the truth", title="50 % split")
    ax.legend(loc="lower left", frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    name="dimension",
    title="The curse of dimension, and a way out",
    where="Sykes et al. 2024 §4.4, Fig. 4",
    caption="Left and middle: curves of Gaussian shifts in 2 048 dimensions, truth dashed: all "
    "neighbour curves lie far above it. The trained classifier of Simon et al. 2019 (orange) and "
    "the best of all (dotted), which the paper lacks, come far closer. Right: how much closer the "
    "same methods come in 64 dimensions (open).",
    seconds=(6, 230),
    steps=Steps(_cells, _measure, _compare, _draw),
)
