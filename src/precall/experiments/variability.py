"""How curves vary from sample to sample (000 §4.5, appendix B, Fig. 8)."""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from precall.experiments.drawing import COLOR_OF, draw_truth, label_pr_axes, points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size
from precall.experiments.shifted_gaussians import (
    LABEL_OF,
    METHODS,
    ShiftedGaussians,
    method_curves,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIMENSION = 64
SHIFT = 0.21 * math.sqrt(DIMENSION)  # μ = .21 in every coordinate
BATCH = 10  # repetitions in one cell
DRAWN = (100, 1000, 10_000)
SLOPE_TOLERANCE = 0.1
ENOUGH = 10_000  # samples that make comparisons reliable, according to the paper

Floats = NDArray[np.float64]


def cells(size: Size) -> list[Cell]:
    """List sample sizes, each with batches of repetitions; the paper has 100."""
    sizes = size.pick(quick=(100, 300, 1000, 2000), full=(100, 300, 1000, 3000, ENOUGH))
    left = size.n_repeats(quick=20, full=100)
    batches = [min(BATCH, left - first) for first in range(0, left, BATCH)]
    return [
        Cell({"n": n, "batch": i, "repeats": repeats})
        for n in sizes
        for i, repeats in enumerate(batches)
    ]


def measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Sum the curves of a batch of samples, and their squares, ray by ray."""
    gaussians = ShiftedGaussians(SHIFT, DIMENSION)
    curves: dict[str, list[list[list[float]]]] = {method: [] for method in METHODS}
    for _ in range(parameters["repeats"]):
        found = method_curves(gaussians.draw(parameters["n"], rng), True, rng)
        for method in METHODS:
            curves[method].append(points(found[f"√n {method}"]))
    values: dict[str, Any] = {}
    for method, drawn in curves.items():
        values[f"sum {method}"] = np.sum(drawn, axis=0).round(5).tolist()
        values[f"squares {method}"] = np.sum(np.square(drawn), axis=0).round(9).tolist()
    return values


def _mean_and_deviation(here: Measurements, method: str) -> tuple[Floats, Floats]:
    """Recall and precision on every ray: (2, n_rays) each; 000 prints 1/n where it is 1/N."""
    n_repeats = sum(one.parameters["repeats"] for one in here)
    mean = here.values(f"sum {method}").sum(axis=0) / n_repeats
    mean_square = here.values(f"squares {method}").sum(axis=0) / n_repeats
    return mean, np.sqrt(np.maximum(mean_square - mean**2, 0))


def _along_rays(shifts: Floats) -> float:
    """Mean length of moves along the rays."""
    return float(np.hypot(*shifts).mean())


def compare(found: Measurements) -> list[Row]:
    """Test how deviations fall, and whether they are small enough to tell curves apart."""
    sizes = found.parameter("n")
    deviations = {
        (method, n): _along_rays(_mean_and_deviation(found.where(n=n), method)[1])
        for method in METHODS
        for n in sizes
    }
    rows = [_rate(method, sizes, deviations) for method in METHODS]
    rows += [_shrinks(found, sizes), _told_apart(found, max(sizes))]
    return rows + [
        Row.new(f"σ, mean over rays, n = {n}, {LABEL_OF[method]}", deviations[method, n])
        for method in METHODS
        for n in sizes
    ]


def _rate(method: str, sizes: list[int], deviations: Mapping[tuple[str, int], float]) -> Row:
    values = [deviations[method, n] for n in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
    return Row.claim(
        f"σ falls like 1/√n: {LABEL_OF[method]}",
        f"like n^{slope:.2f}",
        holds=abs(slope + 0.5) <= SLOPE_TOLERANCE,
        note="holds within ±.1 of the exponent",
    )


def _shrinks(found: Measurements, sizes: list[int]) -> Row:
    """Test that mean curves come closer to the truth with n (Theorem 3.1)."""
    truth = np.array(points(ShiftedGaussians(SHIFT).truth))
    errors = {
        method: [
            _along_rays(_mean_and_deviation(found.where(n=n), method)[0] - truth)
            for n in (min(sizes), max(sizes))
        ]
        for method in METHODS
    }
    return Row.claim(
        f"mean curves come closer to the truth from n = {min(sizes)} to {max(sizes)}",
        ", ".join(f"{LABEL_OF[m]} {few:.3f} to {many:.3f}" for m, (few, many) in errors.items()),
        holds=all(many < few for few, many in errors.values()),
        note="mean distance along the rays",
    )


def _told_apart(found: Measurements, n: int) -> Row:
    """Compare the distance of any two mean curves with the deviation of their difference."""
    here = found.where(n=n)
    curves = {method: _mean_and_deviation(here, method) for method in METHODS}
    ratios = {}
    for one, other in combinations(METHODS, 2):
        distance = _along_rays(curves[one][0] - curves[other][0])
        spread = np.hypot(_along_rays(curves[one][1]), _along_rays(curves[other][1]))
        ratios[f"{LABEL_OF[one]} and {LABEL_OF[other]}"] = float(distance / spread)
    closest = min(ratios, key=lambda pair: ratios[pair])
    few = "" if n >= ENOUGH else f"; n = {n} instead of {ENOUGH}"
    return Row.claim(
        f"{ENOUGH} samples suffice to compare curves",
        f"{closest}: {ratios[closest]:.1f} σ apart, the closest two",
        holds=ratios[closest] >= 1,
        note=f"holds if any two mean curves are further apart than σ of their difference{few}",
    )


def draw(found: Measurements, figure: "Figure") -> None:
    """Draw Fig. 8, and σ against n."""
    figure.set_size_inches(13.5, 4.2)
    sizes = found.parameter("n")
    drawn = [n for n in DRAWN if n in sizes]
    drawn += [max(sizes)] if len(drawn) < len(DRAWN) else []
    *left, right = figure.subplots(1, len(drawn) + 1)
    for n, ax in zip(drawn, left, strict=True):
        _draw_bands(ax, found.where(n=n))
        label_pr_axes(ax, f"n = {n}")
    for method in METHODS:
        values = [_along_rays(_mean_and_deviation(found.where(n=n), method)[1]) for n in sizes]
        right.loglog(sizes, values, marker="o", ms=4, color=COLOR_OF[method])
    guide = values[0] * np.sqrt(sizes[0] / np.array(sizes))
    right.loglog(sizes, 0.7 * guide, color="grey", ls=":", label="1/√n")
    right.set(xlabel="n", ylabel="σ, mean over rays", title="variability", box_aspect=1)
    right.set_yticks([0.01, 0.02, 0.05, 0.1], [".01", ".02", ".05", ".1"])
    right.minorticks_off()
    right.legend(frameon=False)
    handles, labels = left[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)


def _draw_bands(ax: "Axes", here: Measurements) -> None:
    """Fill between the mean curve less σ and plus σ."""
    draw_truth(ax, ShiftedGaussians(SHIFT).truth)
    for method in METHODS:
        mean, deviation = _mean_and_deviation(here, method)
        color = COLOR_OF[method]
        ax.plot(*mean, color=color, lw=1.4, label=LABEL_OF[method])
        low, high = mean - deviation, mean + deviation
        band = np.concatenate([low, high[:, ::-1]], axis=1)
        ax.fill(*band, color=color, alpha=0.2, lw=0)


EXPERIMENT = Experiment(
    name="variability",
    title="How curves vary from sample to sample",
    where="000 §4.5, Fig. 8",
    caption="Mean curves and bands of ± one standard deviation over repeated samples, shift .21 in "
    "each of 64 coordinates, with a split and k = √n; truth dashed. The bands shrink like 1/√n, "
    "and the curves move towards the truth. At n = 10 000 the bands hardly overlap.",
    quick_seconds=5,
    full_seconds=80,
    cells=cells,
    measure=measure,
    compare=compare,
    draw=draw,
)
