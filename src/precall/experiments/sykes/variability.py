"""How curves vary from sample to sample (Sykes et al. 2024 §4.5, appendix B, Fig. 8)."""

import math
from itertools import combinations, product

import numpy as np

from precall.curves.pr_curve import Floats
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.sykes.gaussians import METHODS, ShiftedGaussians, method_curves

GAUSSIANS = ShiftedGaussians(0.21 * math.sqrt(64), 64)  # μ = .21 in every coordinate
BATCH = 10  # repetitions in one cell
DRAWN = (100, 1000, 10_000)
ENOUGH = 10_000  # samples that make comparisons reliable, according to the paper


def _cells(size: Size) -> list[Cell]:
    """List sample sizes, each with batches of repetitions; the paper has 100."""
    sizes = size.pick(quick=(100, 300, 1000, 2000), full=(100, 300, 1000, 3000, ENOUGH))
    left = size.n_repeats(quick=20, full=100)
    return [
        {"n": n, "batch": first // BATCH, "repeats": min(BATCH, left - first)}
        for n, first in product(sizes, range(0, left, BATCH))
    ]


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Sum the curves of a batch of samples, and their squares, ray by ray."""
    batch = [
        method_curves(GAUSSIANS.draw(cell["n"], rng), True, rng) for _ in range(cell["repeats"])
    ]
    values = Values()
    for method in METHODS:
        drawn = [plots.points(curves[f"√n {method}"]) for curves in batch]
        values[f"sum {method}"] = np.sum(drawn, axis=0).round(5).tolist()
        values[f"squares {method}"] = np.sum(np.square(drawn), axis=0).round(9).tolist()
    return values


def _mean_and_deviation(here: Measurements, method: str) -> tuple[Floats, Floats]:
    """Recall and precision on every ray: (2, n_rays) each; the paper prints 1/n where it is 1/N."""
    n_repeats = sum(one.cell["repeats"] for one in here)
    mean = here.values(f"sum {method}").sum(axis=0) / n_repeats
    mean_square = here.values(f"squares {method}").sum(axis=0) / n_repeats
    return mean, np.sqrt(np.maximum(mean_square - mean**2, 0))


def _along_rays(shifts: Floats) -> float:
    """Mean length of moves along the rays."""
    return float(np.hypot(*shifts).mean())


def _deviations(found: Measurements, method: str) -> list[float]:
    """Mean deviation along the rays at each number of samples."""
    return [_along_rays(_mean_and_deviation(here, method)[1]) for _, here in found.by("n")]


def _compare(found: Measurements) -> Rows:
    """Test how deviations fall, and whether they are small enough to tell curves apart."""
    sizes = found.parameter("n")
    for method in METHODS:
        slope = np.polyfit(np.log(sizes), np.log(_deviations(found, method)), 1)[0]
        yield Row.claim(
            f"σ falls like 1/√n: {plots.LABEL_OF[method]}",
            f"like n^{slope:.2f}",
            holds=abs(slope + 0.5) <= 0.1,
            note="holds within ±.1 of the exponent",
        )
    yield from _claims(found)
    for method in METHODS:
        for n, deviation in zip(sizes, _deviations(found, method), strict=True):
            yield Row.new(f"σ, mean over rays, n = {n}, {plots.LABEL_OF[method]}", deviation)


def _claims(found: Measurements) -> Rows:
    """Test that curves come closer to the truth with n (Theorem 3.1), and can be told apart."""
    few, many = min(found.parameter("n")), max(found.parameter("n"))
    curves = {
        n: {method: _mean_and_deviation(found.where(n=n), method) for method in METHODS}
        for n in (few, many)
    }
    truth = np.array(plots.points(GAUSSIANS.truth))
    errors = {m: [_along_rays(curves[n][m][0] - truth) for n in (few, many)] for m in METHODS}
    yield Row.claim(
        f"mean curves come closer to the truth from n = {few} to {many}",
        ", ".join(f"{plots.LABEL_OF[m]} {a:.3f} to {b:.3f}" for m, (a, b) in errors.items()),
        holds=all(last < first for first, last in errors.values()),
        note="mean distance along the rays",
    )
    apart = {}  # distance of two mean curves over the deviation of their difference
    for one, other in combinations(METHODS, 2):
        (mean, deviation), (its_mean, its_deviation) = curves[many][one], curves[many][other]
        spread = np.hypot(_along_rays(deviation), _along_rays(its_deviation))
        names = f"{plots.LABEL_OF[one]} and {plots.LABEL_OF[other]}"
        apart[names] = float(_along_rays(mean - its_mean) / spread)
    closest = min(apart, key=lambda names: apart[names])
    fewer = "" if many >= ENOUGH else f"; n = {many} instead of {ENOUGH}"
    yield Row.claim(
        f"{ENOUGH} samples suffice to compare curves",
        f"{closest}: {apart[closest]:.1f} σ apart, the closest two",
        holds=apart[closest] >= 1,
        note=f"holds if any two mean curves are further apart than σ of their difference{fewer}",
    )


def _draw(found: Measurements, figure: plots.Figure) -> None:
    """Draw Fig. 8, with bands of ± σ, and σ against n."""
    figure.set_size_inches(13.5, 4.2)
    sizes = found.parameter("n")
    drawn = [n for n in DRAWN if n in sizes]
    drawn += [max(sizes)] if len(drawn) < len(DRAWN) else []
    *left, right = figure.subplots(1, len(drawn) + 1)
    for n, ax in zip(drawn, left, strict=True):
        plots.pr_axes(ax, f"n = {n}", GAUSSIANS.truth)
        for method in METHODS:
            mean, deviation = _mean_and_deviation(found.where(n=n), method)
            ax.plot(*mean, lw=1.4, **plots.LINE_OF[method])
            band = np.concatenate([mean - deviation, (mean + deviation)[:, ::-1]], axis=1)
            ax.fill(*band, color=plots.COLOR_OF[method], alpha=0.2, lw=0)
    for method in METHODS:
        deviations = _deviations(found, method)
        right.loglog(sizes, deviations, marker="o", ms=4, color=plots.COLOR_OF[method])
    guide = deviations[0] * np.sqrt(sizes[0] / np.array(sizes))
    right.loglog(sizes, 0.7 * guide, color="grey", ls=":", label="1/√n")
    right.set(xlabel="n", ylabel="σ, mean over rays", title="variability", box_aspect=1)
    right.set_yticks([0.01, 0.02, 0.05, 0.1], [".01", ".02", ".05", ".1"])
    right.minorticks_off()
    right.legend(frameon=False)
    plots.legend_outside(figure, left[0])


EXPERIMENT = Experiment(
    name="variability",
    title="How curves vary from sample to sample",
    where="Sykes et al. 2024 §4.5, Fig. 8",
    caption="Mean curves and bands of ± one standard deviation over repeated samples, shift .21 in "
    "each of 64 coordinates, with a split and k = √n; truth dashed. The bands shrink like 1/√n, "
    "and the curves move towards the truth. At n = 10 000 the bands hardly overlap.",
    seconds=(5, 80),
    steps=Steps(_cells, _measure, _compare, _draw),
)
