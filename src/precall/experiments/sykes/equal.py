"""What a split does where P = Q and the truth is the whole square (Sykes et al. 2024, Fig. 5)."""

from itertools import product

import numpy as np

from precall.experiments.drawing import Figure, legend_outside, points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Rows, Size, Values
from precall.experiments.methods import K_OF, LABEL_OF, METHODS
from precall.experiments.sykes.shifted_gaussians import (
    ShiftedGaussians,
    draw_methods,
    method_curves,
)
from precall.truth.closed_forms import expected_coverage

SPLITS = {"no split": False, "split": True}
CLOSE = 0.95  # IoU with the true curve that we call very close


def cells(size: Size) -> list[Cell]:
    """List repetitions; the paper averages three."""
    return size.cross(quick=3, full=10, n=[size.pick(quick=2000, full=10_000)])


def measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Compare two samples of one Gaussian in 64 dimensions."""
    gaussians = ShiftedGaussians(0.0)
    samples = gaussians.draw(cell["n"], rng)
    values = Values()
    for split_name, split in SPLITS.items():
        for name, curve in method_curves(samples, split, rng, K_OF).items():
            values[f"iou {split_name} {name}"] = curve.iou(gaussians.truth)
            values[f"overlap {split_name} {name}"] = curve.at(1.0).precision
            values[f"extreme {split_name} {name}"] = (curve.max_precision + curve.max_recall) / 2
            values[f"points {split_name} {name}"] = points(curve)
    return values


def compare(found: Measurements) -> Rows:
    """Test both claims for every method, and report how far the curves are from the ideal."""
    (n,) = found.parameter("n")
    scalar = expected_coverage(n, n, 3)  # a sample is one of its own four neighbours
    for k, method in product(K_OF, METHODS):
        extreme = found.mean(f"extreme no split {k} {method}")
        is_scalar = k == "4" and method in ("knn", "coverage")
        yield Row.claim(
            f"without a split extreme precision and recall are below 1: k = {k}, "
            f"{LABEL_OF[method]}",
            f"mean {extreme:.4f}",
            holds=extreme < 1,
            note=f"the scalar coverage at k - 1: {scalar:.4f} expected" * is_scalar,
        )
    for k, method in product(K_OF, METHODS):
        iou = found.mean(f"iou split {k} {method}")
        yield Row.claim(
            f"with a split very close to the ideal curve: k = {k}, {LABEL_OF[method]}",
            f"IoU {iou:.3f}",
            holds=iou >= CLOSE,
            reason="held-out samples are fewer: the least risk over all classifiers is biased "
            "downwards",
        )
    guessed = 1 - 0.63 * (2 / (n // 2)) ** 0.5
    expected = f"about {guessed:.3f} expected of the best of many classifiers, all of them guessing"
    for split, k, method in product(SPLITS, K_OF, METHODS):
        yield found.row(
            f"α at λ = 1, {split}, k = {k}, {LABEL_OF[method]} (truth 1)",
            f"overlap {split} {k} {method}",
            note=expected * SPLITS[split],
        )


def draw(found: Measurements, figure: Figure) -> None:
    """Draw Fig. 5: no split on the left, a split on the right."""
    figure.set_size_inches(13, 4.2)
    axes = figure.subplots(1, 4, sharey=True)
    for (split, k), ax in zip(product(SPLITS, K_OF), axes, strict=True):
        draw_methods(ax, found, f"points {split} {k}", 0.0, f"{split}, k = {k}")
        ax.label_outer()
    legend_outside(figure, axes[0])


EXPERIMENT = Experiment(
    name="equal",
    title="P = Q, with and without a split",
    where="Sykes et al. 2024, appendix B, Fig. 5",
    caption="Mean curves of two samples of one Gaussian, d = 64; the truth is the upper right "
    "corner. Without a split samples judge themselves, and all curves fall short of it, k = 4 by "
    "far; with a split they reach it.",
    seconds=(3, 24),
    cells=cells,
    measure=measure,
    compare=compare,
    draw=draw,
)
