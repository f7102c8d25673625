"""P = Q (000 appendix B, Fig. 5): what a split does where the true curve is the whole square."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from precall.experiments.drawing import points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size
from precall.experiments.shifted_gaussians import (
    LABEL_OF,
    METHODS,
    ShiftedGaussians,
    draw_methods,
    method_curves,
)
from precall.truth.closed_forms import expected_coverage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KS = ("4", "√n")
SPLITS = {"no split": False, "split": True}
CLOSE = 0.95  # IoU with the true curve that we call very close


def cells(size: Size) -> list[Cell]:
    """List repetitions; the paper averages three."""
    n = size.pick(quick=2000, full=10_000)
    return [Cell({"n": n, "repeat": repeat}) for repeat in range(size.n_repeats(quick=3, full=10))]


def measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Compare two samples of one Gaussian in 64 dimensions."""
    gaussians = ShiftedGaussians(0.0)
    samples = gaussians.draw(parameters["n"], rng)
    values: dict[str, Any] = {}
    for split_name, split in SPLITS.items():
        for name, curve in method_curves(samples, split, rng, KS).items():
            values[f"iou {split_name} {name}"] = curve.iou(gaussians.truth)
            values[f"overlap {split_name} {name}"] = curve.at(1.0).precision
            values[f"extreme {split_name} {name}"] = (curve.max_precision + curve.max_recall) / 2
            values[f"points {split_name} {name}"] = points(curve)
    return values


def compare(found: Measurements) -> list[Row]:
    """Test both claims for every method, and report how far the curves are from the ideal."""
    return [*_claims(found), *_distances(found)]


def _claims(found: Measurements) -> list[Row]:
    rows = []
    (n,) = found.parameter("n")
    scalar = expected_coverage(n, n, 3)  # a sample is one of its own four neighbours
    for k in KS:
        for method in METHODS:
            extreme = found.mean(f"extreme no split {k} {method}")
            row = Row.claim(
                f"without a split extreme precision and recall are below 1: k = {k}, "
                f"{LABEL_OF[method]}",
                f"mean {extreme:.4f}",
                holds=extreme < 1,
                note=f"the scalar coverage at k - 1: {scalar:.4f} expected"
                if k == "4" and method in ("knn", "coverage")
                else "",
            )
            rows.append(row)
    for k in KS:
        for method in METHODS:
            iou = found.mean(f"iou split {k} {method}")
            row = Row.claim(
                f"with a split very close to the ideal curve: k = {k}, {LABEL_OF[method]}",
                f"IoU {iou:.3f}",
                holds=iou >= CLOSE,
                note=""
                if iou >= CLOSE
                else "held-out samples are fewer: the least risk over all "
                "classifiers is biased downwards",
            )
            rows.append(row)
    return rows


def _distances(found: Measurements) -> list[Row]:
    (n,) = found.parameter("n")
    n_evaluated = n // 2
    expected = 1 - 0.63 * (2 / n_evaluated) ** 0.5
    rows = []
    for split in SPLITS:
        for k in KS:
            for method in METHODS:
                key = f"overlap {split} {k} {method}"
                row = Row.new(
                    f"α at λ = 1, {split}, k = {k}, {LABEL_OF[method]} (truth 1)",
                    found.mean(key),
                    spread=found.deviation(key),
                    note=f"about {expected:.3f} expected of the best of many classifiers, all of "
                    "them guessing"
                    if split == "split"
                    else "",
                )
                rows.append(row)
    return rows


def draw(found: Measurements, figure: "Figure") -> None:
    """Draw Fig. 5: no split on the left, a split on the right."""
    figure.set_size_inches(13, 4.2)
    settings = [(split, k) for split in SPLITS for k in KS]
    axes = figure.subplots(1, len(settings), sharey=True)
    for (split, k), ax in zip(settings, axes, strict=True):
        draw_methods(ax, found, f"points {split} {k}", 0.0, f"{split}, k = {k}")
        ax.label_outer()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)


EXPERIMENT = Experiment(
    name="equal",
    title="P = Q, with and without a split",
    where="000 appendix B, Fig. 5",
    caption="Mean curves of two samples of one Gaussian, d = 64; the truth is the upper right "
    "corner. Without a split samples judge themselves, and all curves fall short of it, k = 4 by "
    "far; with a split they reach it.",
    quick_seconds=3,
    full_seconds=24,
    cells=cells,
    measure=measure,
    compare=compare,
    draw=draw,
)
