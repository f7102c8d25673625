"""Labelled modes: classifier, clustering and neighbours (Simon et al. 2019 §6, Figures 1 to 4).

Gaussian clusters take the place of the classes of CIFAR-10, ImageNet and CelebA: the label of every
sample is known, and with it the expected curve, a rectangle.
"""

import functools
import math

import numpy as np

from precall.curves.pr_curve import Curve
from precall.data.splits import CoinFlip
from precall.estimators import KNN, Clusters, Coverage, Estimator, Trained
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import curves_of
from precall.report.plots import COLORS
from precall.truth import Gaussian, Mixture, true_curve

SIDES = ("precision", "recall")
FIRST, SHARED, HALF = "first classes", "shared classes", "one half"
N_MANY = 80  # Figure 3: classes of each side
FEMALE = 0.6  # Figure 4
FEW_CLUSTERS = 20  # as Sajjadi et al. and the paper have it
FEW = f"clusters {FEW_CLUSTERS}"
CLUSTER_COUNTS = (5, 20, 100, 500)
HALF_SHARED = 0.5  # the share of common classes that claims are tested at
SMALL_K = 10  # where √n exceeds the number of samples in a class
# Three standard errors of a share near one half of 1 000 judged samples.
TOLERANCE = 0.05
TRADE_OFFS = np.tan(np.linspace(0, np.pi / 2, 63)[1:-1])
UNLUCKY = 0.001  # chance with which a valid upper bound may fall below the truth


@functools.cache
def _classes(n_classes: int, n_features: int, spread: float) -> tuple[Gaussian, ...]:
    """Return unit Gaussians around random centres, the same at every call."""
    centers = np.random.default_rng(0).normal(0, spread, (n_classes, n_features))
    return tuple(Gaussian(center) for center in centers)


def _mixture_of(classes: tuple[Gaussian, ...], first: int, n: int) -> Mixture:
    """Return n classes of equal weight, from a first one on."""
    chosen = np.arange(len(classes))
    return Mixture(classes, ((chosen >= first) & (chosen < first + n)).astype(float))


def labelled_pair(part: str, value: float) -> tuple[Mixture, Mixture]:
    """Return real and generated.

    ``FIRST``: real has five classes, generated the first ``value`` of ten (Figure 2); ``SHARED``:
    both have 80, and a share ``value`` in common (Figure 3); ``HALF``: real has two halves, the
    first with a share ``value``, generated has that one (Figure 4).
    """
    if part == FIRST:
        classes = _classes(10, 64, 1.0)
        return _mixture_of(classes, 0, 5), _mixture_of(classes, 0, round(value))
    if part == SHARED:
        classes = _classes(2 * N_MANY, 256, 4.0)
        first = N_MANY - round(value * N_MANY)
        return _mixture_of(classes, 0, N_MANY), _mixture_of(classes, first, N_MANY)
    # Two halves that differ in one feature, while eight others vary more: clusters follow these.
    deviations = np.ones(64)
    deviations[1:9] = 4.0
    centers = np.zeros((2, 64))
    centers[1, 0] = 6.0
    halves = tuple(Gaussian(center, deviations**2) for center in centers)
    return Mixture(halves, np.array([value, 1 - value])), Mixture(halves, np.array([1.0, 0.0]))


@functools.cache
def rectangle(part: str, value: float) -> Curve:
    """Return the expected rectangle (§6)."""
    return true_curve(*labelled_pair(part, value), labelled=True)


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
    truth, values = rectangle(part, value), Values()
    for name, curve in curves.items():
        below = truth.at(TRADE_OFFS).precision - curve.at(TRADE_OFFS).precision
        values[f"{name} curve"] = plots.points(curve)
        values[f"{name} precision"], values[f"{name} recall"] = curve.median()
        values[f"{name} area"] = curve.area
        values[f"{name} iou"] = curve.iou(truth)
        values[f"{name} below"] = float((below / (1 + TRADE_OFFS)).max())
    return values


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
        precision, recall = (half.mean(f"clusters {count} {side}") for side in SIDES)
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


def _corner_of(cell: Cell) -> tuple[float, float]:
    """Return precision and recall at the corner of the expected rectangle."""
    truth = rectangle(cell["part"], cell["value"])
    return truth.max_precision, truth.max_recall


def _corner(here: Measurements, what: str) -> Rows:
    """Set the classifier's PR median beside the corner of the expected rectangle."""
    reason = "errors of the classifier round the corner off"
    for side, expected in zip(SIDES, _corner_of(here[0].cell), strict=True):
        label, key = f"{what}: {side} of the classifier", f"classifier {side}"
        yield here.row_against(label, expected, key, tolerance=TOLERANCE, reason=reason)


def _distance_to_corner(found: Measurements, name: str) -> float:
    """Return how far the median is from the corner, in the mean."""
    medians = np.stack([found.values(f"{name} {side}") for side in SIDES], axis=1)
    corners = np.array([_corner_of(one.cell) for one in found])
    return float(np.abs(medians - corners).max(axis=1).mean())


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
    allowed = math.sqrt(math.log(2 / UNLUCKY * len(found)) / (2 * n_judged))
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
    what = "Fig. 3: more clusters help (ρ = .5)"
    shown = f"{2 * N_MANY} clusters: {many:.2f} times the expected area"
    yield Row.claim(what, shown, holds=abs(many - 1) < abs(few - 1))


def _draw(found: Measurements, figure: plots.Figure) -> None:
    figure.set_size_inches(9.6, 8.6)
    axes = figure.subplots(3, 3, sharex=True, sharey=True)
    titles = {FEW: "20 clusters", "classifier": "trained classifier", "knn": "kNN, k = √n"}
    half = found.where(part=HALF)
    for (first, shared, below), (name, title) in zip(axes.T, titles.items(), strict=True):
        plots.pr_axes(first, f"first q of 10 classes: {title}")
        _draw_values(first, found.where(part=FIRST), name, "q")
        plots.pr_axes(shared, f"ρ of 80 classes: {title}")
        _draw_values(shared, found.where(part=SHARED), name, "ρ")
        if name == FEW:
            for count, color in zip(CLUSTER_COUNTS, COLORS, strict=False):
                label = f"{count} clusters"
                plots.mean_curve(below, half, f"clusters {count} curve", color=color, label=label)
        else:
            plots.mean_curve(below, half, f"{name} curve", color=plots.COLOR_OF[name])
        halves = f"one of two halves: {'clusters' if name == FEW else title}"
        plots.pr_axes(below, halves, rectangle(HALF, FEMALE))
    axes[2, 0].legend(loc="lower left", frameon=False)
    for ax in axes.flat:
        ax.label_outer()


def _draw_values(ax: plots.Axes, found: Measurements, name: str, letter: str) -> None:
    """Draw a curve for each value, and the expected rectangles dotted in the same colour."""
    from matplotlib import colormaps

    last = max(len(found.parameter("value")) - 1, 1)
    for i, (value, here) in enumerate(found.by("value")):
        color = colormaps["cividis"](0.9 * i / last)
        plots.mean_curve(ax, here, f"{name} curve", color=color, label=f"{letter} = {value:g}")
        truth = rectangle(here[0].cell["part"], value)
        ax.plot(*plots.points(truth), color=color, ls=":", lw=1.2)
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
    steps=Steps(_cells, _measure, _compare, _draw),
)
