"""How fast scores and curves find the overlap of two cubes (Cheema & Urner 2023 §4.1).

Real is uniform on [0, 10]^d, generated on [s, 10 + s]^d: the true precision and recall are both
((10 − s)/10)^d (Figures 1 and 13–16, appendix B.2). Equally many samples of both, and one k for all
measures that grows with the logarithm of their number, from 9 at 15 samples to 13 at 1000; covers
take it for k′, with k = k′/3, rounded down. The paper stops at four dimensions.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from precall.curves.pr_curve import Floats
from precall.estimators import NEIGHBOR_ESTIMATORS
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import curves_of, in_words, scores_at
from precall.report.plots import COLORS
from precall.truth import UniformBox, true_curve

SHIFT_OF = {1: 8, 2: 6, 3: 4, 4: 4, 5: 2, 6: 2, 7: 2, 8: 2}  # of each dimension
PUBLISHED_OVERLAP = {1: 0.2, 2: 0.16, 3: 0.216, 4: 0.1296}
LARGEST_PUBLISHED = 1000  # samples
SHOWN_IN_FULL = (4, 8)  # dimensions whose every measure has a row
FAMILIES = {  # colour, marker, scores of the side of precision and of recall
    "improved PR": (COLORS[4], "s", ("precision", "recall")),
    "density, coverage": (COLORS[0], "^", ("density", "coverage")),
    "precision coverage": (COLORS[5], "v", ("precision_coverage",)),
    "probabilistic PR": (COLORS[3], "D", ("probabilistic_precision", "probabilistic_recall")),
    "PR cover": (COLORS[1], "o", ("precision_cover", "recall_cover")),
}
PAPER_FAMILIES = ("PR cover", "density, coverage", "improved PR")
SIDES = {
    side: {family: scores[i] for family, (_, _, scores) in FAMILIES.items() if i < len(scores)}
    for i, side in enumerate(("precision", "recall"))
}
SCORES = [score for side in SIDES.values() for score in side.values()]
SPLITS = {"no split": False, "cross-fit": "auto"}


def neighbors(n: int) -> int:
    """Return the k of all measures, ⌊ln n + 7⌋: from 9 to 13, as the paper has it (B.2)."""
    return math.floor(math.log(n) + 7)


def overlap(d: int) -> float:
    """Return the share of each cube that lies in the other."""
    return true_curve(*_cubes(d)).max_precision


def _cubes(d: int) -> tuple[UniformBox, UniformBox]:
    low = np.full(d, float(SHIFT_OF[d]))
    return UniformBox(np.zeros(d), np.full(d, 10.0)), UniformBox(low, low + 10)


def _cells(size: Size) -> list[Cell]:
    sizes = size.pick(
        quick=(15, 60, 250, 1000), full=(15, 30, 60, 120, 250, 500, 1000, 2000, 4000, 8000)
    )
    return size.cross(quick=3, full=7, d=SHIFT_OF, n=sizes)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """All scores, and the extremes of the curves where half of the samples can fit them."""
    n, k = cell["n"], neighbors(cell["n"])
    real, generated = (cube.draw(n, rng) for cube in _cubes(cell["d"]))
    k_of = {score: k // 3 if score.endswith("_cover") else k for score in SCORES}
    values: Values = scores_at((real, generated), k_of)
    if n < 2 * (k + 1):
        return values
    estimators = {name: estimator(k) for name, estimator in NEIGHBOR_ESTIMATORS.items()}
    seed = int(rng.integers(2**31))
    for split_name, split in SPLITS.items():
        curves = curves_of((real, generated), estimators, split=split, seed=seed)
        for name, curve in curves.items():
            values[f"{name}, {split_name}"] = (curve.max_precision + curve.max_recall) / 2
    return values


def _compare(found: Measurements) -> Rows:
    for n, k in ((15, 9), (LARGEST_PUBLISHED, 13)):
        yield Row.against(f"k at n = {n}", k, neighbors(n), tolerance=0)
    for d, share in PUBLISHED_OVERLAP.items():
        what = f"d = {d}: true precision and recall"
        yield Row.against(what, share, overlap(d), tolerance=1e-12)
    for d in PUBLISHED_OVERLAP:
        yield _approach(found, d)
    for d, side in product(PUBLISHED_OVERLAP, SIDES):
        yield _fastest(found, d, side)
    curves = [f"{curve}, {split}" for curve, split in product(NEIGHBOR_ESTIMATORS, SPLITS)]
    for d in SHIFT_OF:
        shown = [*SCORES, *curves] if d in SHOWN_IN_FULL else ["precision_cover"]
        yield from _reached(found, d, LARGEST_PUBLISHED, shown)
    largest = max(found.parameter("n"))
    for d in SHOWN_IN_FULL if largest > LARGEST_PUBLISHED else ():
        shown = ["precision_cover", "density", "coverage", "precision"]
        yield from _reached(found, d, largest, shown)


def _errors(found: Measurements, d: int, side: str) -> tuple[list[int], Floats]:
    """Sizes that the paper shows, and how far its families are from the truth: (family, size)."""
    here = Measurements([one for one in found.where(d=d) if one.cell["n"] <= LARGEST_PUBLISHED])
    means = [here.along("n", SIDES[side][family])[1] for family in PAPER_FAMILIES]
    return here.parameter("n"), np.abs(np.array(means) - overlap(d))


def _approach(found: Measurements, d: int) -> Row:
    """Test whether all three families of the paper come closer to the truth as n grows."""
    (sizes, precision), (_, recall) = (_errors(found, d, side) for side in SIDES)
    errors = np.concatenate([precision, recall])
    return Row.claim(
        f"d = {d}: all scores approach {overlap(d):.4f}",
        f"at n = {sizes[-1]} off by at most {errors[:, -1].max():.3f}",
        holds=bool((errors[:, -1] < errors[:, 0]).all()),
        note=f"at n = {sizes[0]} by at most {errors[:, 0].max():.3f}",
    )


def _fastest(found: Measurements, d: int, side: str) -> Row:
    """Test whether the cover is the closest, on average over n, drawn evenly in the paper."""
    from scipy.integrate import trapezoid

    sizes, errors = _errors(found, d, side)
    averages = trapezoid(errors, sizes, axis=1) / (sizes[-1] - sizes[0])
    closest = [str(n) for n, at in zip(sizes, errors.T, strict=True) if at[0] < at[1:].min()]
    other = SIDES[side]["density, coverage"]
    return Row.claim(
        f"d = {d}: {side} cover converges faster than {other} and improved {side}",
        "mean error {:.3f}, {:.3f}, {:.3f}".format(*averages),
        holds=bool(averages[0] < averages[1:].min()),
        note=f"the cover is closest at n = {', '.join(closest)}" if closest else "never closest",
    )


def _reached(found: Measurements, d: int, n: int, measures: Sequence[str]) -> Rows:
    """Report where scores and extremes of curves are at some size."""
    for measure in measures:
        words = in_words(measure)
        if measure not in SCORES:
            words = "extremes of the {} curve, {}".format(*measure.split(", "))
        what = f"d = {d}, n = {n}: {words}"
        yield found.where(d=d, n=n).row(what, measure, f"truth {overlap(d):.4f}")


def _draw(found: Measurements, figure: plots.Figure) -> None:
    figure.set_size_inches(13.2, 7.6)
    axes = figure.subplots(3, len(SHIFT_OF), sharex=True, sharey="row")
    for d, column in zip(SHIFT_OF, axes.T, strict=True):
        here = found.where(d=d)
        for side, ax in zip(SIDES.values(), column[:2], strict=True):
            for family, score in side.items():
                color, marker, _ = FAMILIES[family]
                line = {"color": color, "marker": marker, "ms": 3.5, "lw": 1.4, "label": family}
                ax.plot(*here.along("n", score), **line)
        for curve, split in product(NEIGHBOR_ESTIMATORS, SPLITS):
            known = Measurements([one for one in here if f"{curve}, {split}" in one.values])
            line = {"color": plots.COLOR_OF[curve], "ls": "-" if SPLITS[split] else ":", "lw": 1.6}
            line["label"] = f"{curve} curve, {split}"
            column[2].plot(*known.along("n", f"{curve}, {split}"), **line)
        for ax in column:
            ax.axhline(overlap(d), color="black", ls="--", lw=1.2, label="truth")
            ax.set(xscale="log", ylim=(0, 1.05))
        column[0].set_title(f"d = {d}")
        column[2].set_xlabel("n = m")
    sides = (*(f"{side}-type scores" for side in SIDES), "extremes of curves\n(mean of α∞ and β₀)")
    for ax, label in zip(axes[:, 0], sides, strict=True):
        ax.set_ylabel(label)
    plots.legend_outside(figure, axes[0, 0], axes[2, 0], ncols=7)


EXPERIMENT = Experiment(
    name="cubes",
    title="Convergence to the overlap of two cubes",
    where="Cheema & Urner 2023 §4.1, Figures 1 and 13–16, appendix B.2",
    caption="Every score falls to the true overlap (dashed) as samples are added, the slower the "
    "more dimensions. The covers (orange-red) are the closest but at the smallest sizes; from five "
    "dimensions on nothing comes near. Below, the extremes of curves: with a split a single sample "
    "apart from all others can send them to 1.",
    seconds=(12, 215),
    steps=Steps(_cells, _measure, _compare, _draw),
)
