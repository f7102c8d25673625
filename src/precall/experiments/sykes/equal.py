"""What a split does where P = Q and the truth is the whole square (Sykes et al. 2024, Fig. 5)."""

from itertools import product

import numpy as np

from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.sykes.gaussians import K_OF, METHODS, ShiftedGaussians, method_curves
from precall.truth.closed_forms import expected_coverage

GAUSSIANS = ShiftedGaussians(0.0)
SPLITS = {"no split": False, "split": True}
CLOSE = 0.95  # IoU with the true curve that we call very close


def _cells(size: Size) -> list[Cell]:
    return size.cross(quick=3, full=10, n=[size.pick(quick=2000, full=10_000)])


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Compare two samples of one Gaussian in 64 dimensions."""
    samples = GAUSSIANS.draw(cell["n"], rng)
    values = Values()
    for split_name, split in SPLITS.items():
        for name, curve in method_curves(samples, split, rng, K_OF).items():
            values[f"iou {split_name} {name}"] = curve.iou(GAUSSIANS.truth)
            values[f"overlap {split_name} {name}"] = curve.at(1.0).precision
            values[f"extreme {split_name} {name}"] = (curve.max_precision + curve.max_recall) / 2
            values[f"points {split_name} {name}"] = plots.points(curve)
    return values


def _compare(found: Measurements) -> Rows:
    (n,) = found.parameter("n")
    scalar = expected_coverage(n, n, 3)  # a sample is one of its own four neighbours
    for k, method in product(K_OF, METHODS):
        extreme = found.mean(f"extreme no split {k} {method}")
        is_scalar = k == "4" and method in ("knn", "coverage")
        yield Row.claim(
            f"without a split extreme precision and recall are below 1: k = {k}, "
            f"{plots.LABEL_OF[method]}",
            f"mean {extreme:.4f}",
            holds=extreme < 1,
            note=f"the scalar coverage at k - 1: {scalar:.4f} expected" * is_scalar,
        )
    for k, method in product(K_OF, METHODS):
        iou = found.mean(f"iou split {k} {method}")
        yield Row.claim(
            f"with a split very close to the ideal curve: k = {k}, {plots.LABEL_OF[method]}",
            f"IoU {iou:.3f}",
            holds=iou >= CLOSE,
            reason="held-out samples are fewer: the least risk over all classifiers is biased "
            "downwards",
        )
    guessed = 1 - 0.63 * (2 / (n // 2)) ** 0.5
    expected = f"about {guessed:.3f} expected of the best of many classifiers, all of them guessing"
    for split, k, method in product(SPLITS, K_OF, METHODS):
        what = f"α at λ = 1, {split}, k = {k}, {plots.LABEL_OF[method]} (truth 1)"
        yield found.row(what, f"overlap {split} {k} {method}", expected * SPLITS[split])


def _draw(found: Measurements, figure: plots.Figure) -> None:
    figure.set_size_inches(13, 4.2)
    for (split, k), ax in plots.panels(figure, 1, 4, product(SPLITS, K_OF)):
        plots.pr_axes(ax, f"{split}, k = {k}", GAUSSIANS.truth)
        for method in METHODS:
            plots.mean_curve(ax, found, f"points {split} {k} {method}", **plots.LINE_OF[method])


EXPERIMENT = Experiment(
    name="equal",
    title="P = Q, with and without a split",
    where="Sykes et al. 2024, appendix B, Fig. 5",
    caption="Mean curves of two samples of one Gaussian, d = 64; the truth is the upper right "
    "corner. Without a split samples judge themselves, and all curves fall short of it, k = 4 by "
    "far; with a split they reach it.",
    seconds=(3, 24),
    steps=Steps(_cells, _measure, _compare, _draw),
)
