"""Labelled modes of real pictures (Simon et al. 2019 §6, Figure 2).

Real are pictures of the first five classes, generated others of the first q; so the expected curve
is a rectangle, as far as classes do not look alike.
"""

import math

import numpy as np

from precall.data.splits import CoinFlip
from precall.estimators import KNN, Clusters, Coverage, Estimator, Trained
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.real_data.datasets import available, load, rows_of
from precall.experiments.scoring import curves_of
from precall.experiments.simon.mode_dropping import FIRST, SIDES, TRADE_OFFS, UNLUCKY, rectangle

N_REAL_CLASSES = 5
FEW = "clusters 20"
TOLERANCE = 0.1  # classes of pictures look alike now and then


def _cells(size: Size) -> list[Cell]:
    values = size.pick(quick=(2, 5, 8), full=range(1, 10))
    names = size.pick(quick=available()[:1], full=available())
    cells = [{"data": name, "q": q} for name in names for q in values]
    return size.repeat(cells, quick=1, full=1)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Judge classifiers on a split by coins, as the paper; cluster without, as Sajjadi et al."""
    parts = load(cell["data"])
    rows = rows_of(cell["data"], parts)
    real = rows[0][parts[0].labels < N_REAL_CLASSES]
    generated = rows[1][parts[1].labels < cell["q"]]
    n = min(len(real), len(generated))
    samples = real, generated
    seed = int(rng.integers(2**31))
    judged: dict[str, Estimator] = {
        "classifier": Trained(),
        "coverage": Coverage("sqrt"),
        "knn": KNN("sqrt"),
    }
    curves = curves_of(samples, judged, split=CoinFlip(), seed=seed)
    curves |= curves_of(samples, {FEW: Clusters(20, runs=3)}, split=False, seed=seed)
    truth, values = rectangle(FIRST, cell["q"]), Values()
    for name, curve in curves.items():
        below = truth.at(TRADE_OFFS).precision - curve.at(TRADE_OFFS).precision
        values[f"{name} curve"] = plots.points(curve)
        values[f"{name} precision"], values[f"{name} recall"] = curve.median()
        values[f"{name} iou"] = curve.iou(truth)
        values[f"{name} below"] = float((below / (1 + TRADE_OFFS)).max())
    return values | {"n": n}


def _compare(found: Measurements) -> Rows:
    for data, here in found.by("data"):
        for q, at_q in here.by("q"):
            truth = rectangle(FIRST, q)
            corner = truth.max_precision, truth.max_recall
            for side, expected in zip(SIDES, corner, strict=True):
                yield at_q.row_against(
                    f"{data}, q = {q}: {side} of the classifier",
                    expected,
                    f"classifier {side}",
                    tolerance=TOLERANCE,
                    reason="classes that look alike round the corner off",
                )
        yield from _claims(here, data)
        for name in ("classifier", FEW, "coverage", "knn"):
            yield Row.new(f"{data}: IoU of {name}", here.mean(f"{name} iou"))


def _claims(here: Measurements, data: str) -> Rows:
    n_judged = float(here.values("n").min()) / 2
    allowed = math.sqrt(math.log(2 / UNLUCKY * len(here)) / (2 * n_judged))
    trained, clusters = (here.values(f"{name} below").max() for name in ("classifier", FEW))
    yield Row.claim(
        f"{data}: the classifier never underestimates beyond chance (Theorem 5)",
        f"largest (α − α̂)/(1 + λ): {trained:.3f}",
        holds=bool(trained <= allowed),
        note=f"chance allows {allowed:.3f}; clusters {clusters:.3f}, with no guarantee",
    )
    both = here.mean("classifier iou"), here.mean(f"{FEW} iou")
    yield Row.claim(
        f"{data}: the classifier is more accurate than 20 clusters",
        f"IoU with the rectangle {both[0]:.3f}, of clusters {both[1]:.3f}",
        holds=both[0] > both[1],
        reason=f"{n_judged:.0f} samples of a side or more are left to fit linear classifiers with",
    )


def _draw(found: Measurements, figure: plots.Figure) -> None:
    from matplotlib import colormaps

    names = found.parameter("data")
    figure.set_size_inches(9.6, 3.3 * len(names))
    axes = figure.subplots(len(names), 3, sharex=True, sharey=True, squeeze=False)
    titles = {FEW: "20 clusters", "classifier": "trained classifier", "knn": "kNN, k = √n"}
    for row, (data, here) in zip(axes, found.by("data"), strict=True):
        last = max(len(here.parameter("q")) - 1, 1)
        for ax, (name, title) in zip(row, titles.items(), strict=True):
            plots.pr_axes(ax, f"{data}: {title}")
            for i, (q, at_q) in enumerate(here.by("q")):
                color = colormaps["cividis"](0.9 * i / last)
                plots.mean_curve(ax, at_q, f"{name} curve", color=color, label=f"q = {q}")
                ax.plot(*plots.points(rectangle(FIRST, q)), color=color, ls=":", lw=1.2)
            ax.label_outer()
    axes[0, 2].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


EXPERIMENT = Experiment(
    name="real-modes",
    title="Labelled modes of real pictures: first q of ten classes",
    where="Simon et al. 2019 §6, Figure 2, on handwritten digits and what --data holds",
    caption="Real are pictures of the first five classes, generated other pictures of the first q; "
    "expected rectangles dotted. Where classes look different, all methods find the corner.",
    seconds=(10, 60),
    steps=Steps(_cells, _measure, _compare, _draw),
)
