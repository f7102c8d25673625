"""Labelled modes: classifier, clustering and neighbours (Simon et al. 2019 §6, Figures 1 to 4).

Gaussian clusters take the place of the classes of CIFAR-10, ImageNet and CelebA: the label of every
sample is known, and with it the expected curve, a rectangle.
"""

import math

import numpy as np

from precall.curves.pr_curve import Curve, PRCurve
from precall.data.splits import CoinFlip
from precall.estimators import KNN, Clusters, Coverage, Estimator, Trained
from precall.experiments.drawing import Axes, Figure, draw_mean_curve, label_pr_axes, points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Rows, Size, Values
from precall.experiments.methods import COLOR_OF
from precall.experiments.scoring import curves_of
from precall.experiments.simon.labelled_modes import (
    FEMALE,
    FIRST,
    HALF,
    N_MANY,
    SHARED,
    labelled_pair,
    rectangle,
)
from precall.report.plots import COLORS

FEW_CLUSTERS = 20  # as Sajjadi et al. and the paper have it
FEW = f"clusters {FEW_CLUSTERS}"
CLUSTER_COUNTS = (5, 20, 100, 500)
HALF_SHARED = 0.5  # the share of common classes that claims are tested at
SMALL_K = 10  # where √n exceeds the number of samples in a class
# Three standard errors of a share near one half of 1 000 judged samples.
TOLERANCE = 0.05
UNLUCKY = 0.001  # chance with which a valid upper bound may fall below the truth


def _cells(size: Size) -> list[Cell]:
    parts = {  # values, and the number of samples
        FIRST: size.pick(quick=((2, 5, 8), 3000), full=(range(1, 10), 5000)),
        SHARED: size.pick(quick=((0.0, 0.5, 1.0), 3200), full=((0.0, 0.25, 0.5, 0.75, 1.0), 8000)),
        HALF: size.pick(quick=((FEMALE,), 2000), full=((FEMALE,), 5000)),
    }
    runs = size.pick(quick=3, full=10)
    cells = [
        {"part": part, "value": value, "n": n, "runs": runs}
        for part, (values, n) in parts.items()
        for value in values
    ]
    return size.repeat(cells, quick=1, full=2)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Judge classifiers on a split by coins, as the paper; cluster without, as Sajjadi et al."""
    part, value, n = cell["part"], cell["value"], cell["n"]
    real, generated = labelled_pair(part, value)
    samples = real.draw(n, rng), generated.draw(n, rng)
    seed = int(rng.integers(2**31))
    judged: dict[str, Estimator] = {"classifier": Trained(), "coverage": Coverage(), "knn": KNN()}
    counts: tuple[int, ...] = CLUSTER_COUNTS if part == HALF else (FEW_CLUSTERS,)
    if part == SHARED:
        judged["knn small"] = KNN(SMALL_K)
    if part == SHARED and value == HALF_SHARED:
        counts = FEW_CLUSTERS, 2 * N_MANY
    clusterings = {f"clusters {c}": Clusters(c, runs=cell["runs"] if c < 99 else 1) for c in counts}
    curves = curves_of(samples, judged, split=CoinFlip(), seed=seed)
    curves |= curves_of(samples, clusterings, split=False, seed=seed)
    values = Values()
    for name, curve in curves.items():
        described = _described(curve, rectangle(part, value))
        values |= {f"{name} {what}": found for what, found in described.items()}
    return values


def _described(curve: PRCurve, truth: Curve) -> Values:
    median = curve.median()
    trade_offs = np.tan(np.linspace(0, np.pi / 2, 63)[1:-1])
    below = truth.at(trade_offs).precision - curve.at(trade_offs).precision
    return {
        "curve": points(curve),
        "precision": median.precision,
        "recall": median.recall,
        "area": curve.area,
        "iou": curve.iou(truth),
        "below": float((below / (1 + trade_offs)).max()),
    }


def _compare(found: Measurements) -> Rows:
    first, shared, half = (found.where(part=part) for part in (FIRST, SHARED, HALF))
    half_shared = shared.where(value=HALF_SHARED)
    for value, here in first.by("value"):
        yield from _corner(here, f"q = {value:g}")
    yield from _claims_about_first(first)
    for value, here in shared.by("value"):
        yield from _corner(here, f"ρ = {value:g}")
    yield from _claims_about_shared(half_shared)
    yield from _corner(half, "60/40 against one half")
    for count in CLUSTER_COUNTS:
        precision, recall = (
            half.mean(f"clusters {count} {side}") for side in ("precision", "recall")
        )
        yield Row.claim(
            f"Fig. 4: {count} clusters lose precision or overestimate recall",
            f"precision {precision:.2f}, recall {recall:.2f} for 1 and {FEMALE}",
            holds=precision < 1 - TOLERANCE or recall > FEMALE + TOLERANCE,
        )
    for place, here in ((FIRST, first), ("ρ = .5", half_shared), (HALF, half)):
        for name in ("classifier", FEW, "coverage", "knn"):
            yield Row.new(f"{place}: IoU of {name}", here.mean(f"{name} iou"))
    note = f"k = {SMALL_K}: √n exceeds the samples of a class"
    yield Row.new("ρ = .5: IoU of knn, small k", half_shared.mean("knn small iou"), note=note)


def _corner_of(cell: Cell) -> dict[str, float]:
    """Return precision and recall at the corner of the expected rectangle."""
    truth = rectangle(cell["part"], cell["value"])
    return {"precision": truth.max_precision, "recall": truth.max_recall}


def _corner(here: Measurements, what: str) -> Rows:
    """Set the classifier's PR median beside the corner of the expected rectangle."""
    for side, expected in _corner_of(here.found[0].cell).items():
        yield here.row_against(
            f"{what}: {side} of the classifier",
            expected,
            f"classifier {side}",
            tolerance=TOLERANCE,
            reason="errors of the classifier round the corner off",
        )


def _distance_to_corner(found: Measurements, name: str) -> float:
    """Return how far the median is from the corner, in the mean."""
    gaps = [
        max(abs(one.values[f"{name} {side}"] - at) for side, at in _corner_of(one.cell).items())
        for one in found
    ]
    return float(np.mean(gaps))


def _claims_about_first(found: Measurements) -> Rows:
    clusters, trained = (_distance_to_corner(found, name) for name in (FEW, "classifier"))
    both = f"{clusters:.3f} by clusters, {trained:.3f} by the classifier"
    yield Row.claim(
        "Fig. 2: both methods find the corner",
        both,
        holds=max(clusters, trained) <= TOLERANCE,
        note="mean distance of the PR median from the corner",
    )
    yield Row.claim(
        "Fig. 2: the classifier is more accurate at the transitions",
        both,
        holds=trained < clusters,
        reason="Gaussian clusters far apart are easier to cluster than CIFAR-10",
    )
    n_judged = found.parameter("n")[0] / 2
    allowed = math.sqrt(math.log(2 / UNLUCKY * len(found.found)) / (2 * n_judged))
    clusters, trained = (found.values(f"{name} below").max() for name in (FEW, "classifier"))
    yield Row.claim(
        "Fig. 2: the classifier never underestimates beyond chance (Theorem 5)",
        f"largest (α − α̂)/(1 + λ): {trained:.3f}",
        holds=bool(trained <= allowed),
        note=f"chance allows {allowed:.3f}; clusters {clusters:.3f}, with no guarantee",
    )


def _claims_about_shared(found: Measurements) -> Rows:
    true = rectangle(SHARED, HALF_SHARED).area
    names = (FEW, f"clusters {2 * N_MANY}", "classifier")
    few, many, trained = (found.mean(f"{name} area") / true for name in names)
    yield Row.claim(
        f"Fig. 3: {FEW_CLUSTERS} clusters for {N_MANY} classes overestimate (ρ = .5)",
        f"{few:.2f} times the expected area; the classifier {trained:.2f} times",
        holds=few > 2 and few > trained,
        note="holds beyond twice the area; clusters mix classes of both sides",
    )
    yield Row.claim(
        "Fig. 3: more clusters help (ρ = .5)",
        f"{2 * N_MANY} clusters: {many:.2f} times the expected area",
        holds=abs(many - 1) < abs(few - 1),
    )


def _draw(found: Measurements, figure: Figure) -> None:
    figure.set_size_inches(9.6, 8.6)
    axes = figure.subplots(3, 3, sharex=True, sharey=True)
    titles = {FEW: "20 clusters", "classifier": "trained classifier", "knn": "kNN, k = √n"}
    half = found.where(part=HALF)
    for (first, shared, below), (name, title) in zip(axes.T, titles.items(), strict=True):
        label_pr_axes(first, f"first q of 10 classes: {title}")
        _draw_values(first, found.where(part=FIRST), name, "q")
        label_pr_axes(shared, f"ρ of 80 classes: {title}")
        _draw_values(shared, found.where(part=SHARED), name, "ρ")
        if name == FEW:
            for count, color in zip(CLUSTER_COUNTS, COLORS, strict=False):
                label = f"{count} clusters"
                draw_mean_curve(below, half, f"clusters {count} curve", color=color, label=label)
        else:
            draw_mean_curve(below, half, f"{name} curve", color=COLOR_OF[name])
        halves = f"one of two halves: {'clusters' if name == FEW else title}"
        label_pr_axes(below, halves, rectangle(HALF, FEMALE))
    axes[2, 0].legend(loc="lower left", frameon=False)
    for ax in axes.flat:
        ax.label_outer()


def _draw_values(ax: Axes, found: Measurements, name: str, letter: str) -> None:
    """Draw a curve for each value, and the expected rectangles dotted in the same colour."""
    from matplotlib import colormaps

    last = max(len(found.parameter("value")) - 1, 1)
    for i, (value, here) in enumerate(found.by("value")):
        color = colormaps["cividis"](0.9 * i / last)
        draw_mean_curve(ax, here, f"{name} curve", color=color, label=f"{letter} = {value:g}")
        truth = rectangle(here.found[0].cell["part"], value)
        ax.plot(*points(truth), color=color, ls=":", lw=1.2)
    if name == "knn":
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


EXPERIMENT = Experiment(
    name="modes",
    title="Labelled modes: classifier against clustering",
    where="Simon et al. 2019 §6, Figures 1 to 4, on Gaussian clusters",
    caption="Expected rectangles dotted. Top: with 10 classes all methods find them. Middle: with "
    "80 classes on each side 20 clusters mix the sides and see far too much in common; kNN drifts "
    "the same way where k = √n exceeds the samples of a class; the trained classifier follows. "
    "Bottom: real is 60/40, generated one half of it; no number of clusters finds the corner, the "
    "classifier does.",
    seconds=(15, 90),
    cells=_cells,
    measure=_measure,
    compare=_compare,
    draw=_draw,
)
