"""How fast scores and curves find the overlap of two cubes (001 §4.1, Figures 1 and 13–16).

Real is uniform on [0, 10]^d, generated on [s, 10 + s]^d: the true precision and recall are both
((10 − s)/10)^d (appendix B.2). Equally many samples of both, and one k for all measures that grows
with the logarithm of their number, from 9 at 15 samples to 13 at 1000; covers take it for k′, with
k = k′/3, rounded down. The paper stops at four dimensions.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from precall.estimators import IPR, KNN, Coverage, Parzen
from precall.experiments.drawing import COLOR_OF
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size, Values
from precall.experiments.scoring import evaluate_quietly, in_words, scores_at
from precall.report.plots import COLORS
from precall.truth import UniformBox, true_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHIFT_OF = {1: 8, 2: 6, 3: 4, 4: 4, 5: 2, 6: 2, 7: 2, 8: 2}  # of each dimension
PUBLISHED_OVERLAP = {1: 0.2, 2: 0.16, 3: 0.216, 4: 0.1296}
LARGEST_PUBLISHED = 1000  # samples
SHOWN_IN_FULL = (4, 8)  # dimensions whose every measure has a row
SIDES = {  # scores of one side by their family
    "precision": {
        "improved PR": "precision",
        "density, coverage": "density",
        "precision coverage": "precision_coverage",
        "probabilistic PR": "probabilistic_precision",
        "PR cover": "precision_cover",
    },
    "recall": {
        "improved PR": "recall",
        "density, coverage": "coverage",
        "probabilistic PR": "probabilistic_recall",
        "PR cover": "recall_cover",
    },
}
STYLE_OF = {
    "improved PR": (COLORS[4], "s"),
    "density, coverage": (COLORS[0], "^"),
    "precision coverage": (COLORS[5], "v"),
    "probabilistic PR": (COLORS[3], "D"),
    "PR cover": (COLORS[1], "o"),
}
CURVES = {"ipr": IPR, "coverage": Coverage, "knn": KNN, "parzen": Parzen}
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
    repeats = range(size.n_repeats(quick=3, full=7))
    return [Cell({"d": d, "n": n, "repeat": r}) for d in SHIFT_OF for n in sizes for r in repeats]


def _measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> Values:
    """All scores, and the extremes of the curves where half of the samples can fit them."""
    n = parameters["n"]
    k = neighbors(n)
    real, generated = (cube.draw(n, rng) for cube in _cubes(parameters["d"]))
    names = [name for side in SIDES.values() for name in side.values()]
    k_of = {name: k // 3 if name.endswith("_cover") else k for name in names}
    values: Values = scores_at(real, generated, k_of)
    if n < 2 * (k + 1):
        return values
    estimators = [curve(k) for curve in CURVES.values()]
    seed = int(rng.integers(2**31))
    for name, split in SPLITS.items():
        result = evaluate_quietly(
            real, generated, estimators=estimators, split=split, scores=(), seed=seed
        )
        for curve in CURVES:
            found = result.curves[curve]
            values[f"{curve}, {name}"] = (found.max_precision + found.max_recall) / 2
    return values


def _errors(found: Measurements, name: str, d: int) -> tuple[list[int], list[float]]:
    """Sizes that the paper shows, and how far the mean score is from the truth at each."""
    sizes = [n for n in found.parameter("n") if n <= LARGEST_PUBLISHED]
    return sizes, [abs(found.where(d=d, n=n).mean(name) - overlap(d)) for n in sizes]


def _compare(found: Measurements) -> list[Row]:
    sizes = found.parameter("n")
    smallest, published_end = min(sizes), found.where(n=LARGEST_PUBLISHED)
    rows = [
        Row.against(f"k at n = {n}", k, neighbors(n), tolerance=0)
        for n, k in ((15, 9), (LARGEST_PUBLISHED, 13))
    ]
    rows += [
        Row.against(f"d = {d}: true precision and recall", published, overlap(d), tolerance=1e-12)
        for d, published in PUBLISHED_OVERLAP.items()
    ]
    for d in PUBLISHED_OVERLAP:
        rows += _approach(found, d, smallest)
    for d in PUBLISHED_OVERLAP:
        rows += [_fastest(found, side, d) for side in SIDES]
    for d in SHIFT_OF:
        rows += _at_the_end(published_end.where(d=d), d)
    if max(sizes) > LARGEST_PUBLISHED:
        rows += _beyond(found.where(n=max(sizes)))
    return rows


def _approach(found: Measurements, d: int, smallest: int) -> list[Row]:
    """Test whether all three families of the paper come closer to the truth as n grows."""
    truth = overlap(d)
    errors = []
    for n in (smallest, LARGEST_PUBLISHED):
        here = found.where(d=d, n=n)
        names = [SIDES[side][family] for side in SIDES for family in ("improved PR", "PR cover")]
        errors.append([abs(here.mean(name) - truth) for name in (*names, "density", "coverage")])
    before, after = np.array(errors)
    return [
        Row.claim(
            f"d = {d}: all scores approach {truth:.4f}",
            f"at n = {LARGEST_PUBLISHED} off by at most {after.max():.3f}",
            holds=bool((after < before).all()),
            note=f"at n = {smallest} by at most {before.max():.3f}",
        )
    ]


def _fastest(found: Measurements, side: str, d: int) -> Row:
    """Test whether the cover is closer to the truth than the other two.

    On average over all n from 15 to 1000, which the paper draws at even distances.
    """
    from scipy.integrate import trapezoid

    names = [SIDES[side][family] for family in ("PR cover", "density, coverage", "improved PR")]
    sizes = _errors(found, names[0], d)[0]
    errors = np.array([_errors(found, name, d)[1] for name in names])
    averages = trapezoid(errors, sizes, axis=1) / (sizes[-1] - sizes[0])
    closest = [str(n) for n, at in zip(sizes, errors.T, strict=True) if at[0] < at[1:].min()]
    return Row.claim(
        f"d = {d}: {side} cover converges faster than {names[1]} and improved {side}",
        "mean error {:.3f}, {:.3f}, {:.3f}".format(*averages),
        holds=bool(averages[0] < averages[1:].min()),
        note=f"the cover is closest at n = {', '.join(closest)}" if closest else "never closest",
    )


def _at_the_end(found: Measurements, d: int) -> list[Row]:
    """Report where scores and extremes of curves are at the paper's largest size."""
    names = [name for side in SIDES.values() for name in side.values()]
    names += [f"{curve}, {split}" for curve in CURVES for split in SPLITS]
    return [
        Row.new(
            f"d = {d}, n = {LARGEST_PUBLISHED}: {_described(name)}",
            found.mean(name),
            spread=found.deviation(name),
            note=f"truth {overlap(d):.4f}",
        )
        for name in (names if d in SHOWN_IN_FULL else names[4:5])
    ]


def _described(name: str) -> str:
    if ", " in name:
        return "extremes of the {} curve, {}".format(*name.split(", "))
    return in_words(name)


def _beyond(found: Measurements) -> list[Row]:
    """Report the error that is left with many more samples than the paper has."""
    n = found.parameter("n")[0]
    rows = []
    for d in SHOWN_IN_FULL:
        here = found.where(d=d)
        rows += [
            Row.new(
                f"d = {d}, n = {n}: {_described(name)}",
                here.mean(name),
                spread=here.deviation(name),
                note=f"truth {overlap(d):.4f}",
            )
            for name in ("precision_cover", "density", "coverage", "precision")
        ]
    return rows


def _draw(found: Measurements, figure: "Figure") -> None:
    figure.set_size_inches(13.2, 7.6)
    axes = figure.subplots(3, len(SHIFT_OF), sharex=True, sharey="row")
    for column, d in enumerate(SHIFT_OF):
        for row, side in enumerate(SIDES):
            for family, name in SIDES[side].items():
                color, marker = STYLE_OF[family]
                line = {"color": color, "marker": marker, "ms": 3.5, "lw": 1.4}
                _draw_line(axes[row, column], found.where(d=d), name, label=family, **line)
        for curve in CURVES:
            for split, style in zip(SPLITS, (":", "-"), strict=True):
                line = {"color": COLOR_OF[curve], "ls": style, "lw": 1.6}
                label = f"{curve} curve, {split}"
                _draw_line(
                    axes[2, column], found.where(d=d), f"{curve}, {split}", label=label, **line
                )
        for ax in axes[:, column]:
            ax.axhline(overlap(d), color="black", ls="--", lw=1.2, label="truth")
            ax.set(xscale="log", ylim=(0, 1.05))
        axes[0, column].set_title(f"d = {d}")
        axes[2, column].set_xlabel("n = m")
    axes[0, 0].set_ylabel("precision-type scores")
    axes[1, 0].set_ylabel("recall-type scores")
    axes[2, 0].set_ylabel("extremes of curves\n(mean of α∞ and β₀)")
    scores, curves = (axes[row, 0].get_legend_handles_labels() for row in (0, 2))
    entries = dict(zip([*scores[1], *curves[1]], [*scores[0], *curves[0]], strict=True))
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=7, frameon=False
    )


def _draw_line(ax: "Axes", found: Measurements, name: str, **line: Any) -> None:
    known = Measurements([one for one in found if name in one.values])
    sizes = known.parameter("n")
    ax.plot(sizes, [known.where(n=n).mean(name) for n in sizes], **line)


EXPERIMENT = Experiment(
    name="cubes",
    title="Convergence to the overlap of two cubes",
    where="001 §4.1, Figures 1 and 13–16, appendix B.2",
    caption="Every score falls to the true overlap (dashed) as samples are added, the slower the "
    "more dimensions. The covers (orange-red) are the closest but at the smallest sizes; from five "
    "dimensions on nothing comes near. Below, the extremes of curves: with a split a single sample "
    "apart from all others can send them to 1.",
    quick_seconds=12,
    full_seconds=215,
    cells=_cells,
    measure=_measure,
    compare=_compare,
    draw=_draw,
)
