"""What a single real outlier does to a curve (Sykes et al. 2024 §4.3, Figure 7)."""

from itertools import product

import numpy as np

from precall.estimators import NEIGHBOR_ESTIMATORS
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import evaluate_quietly
from precall.experiments.sykes.gaussians import K_OF, METHODS, ShiftedGaussians

PAIR = ShiftedGaussians(shift=3.0, n_features=64)
OUTLIER = 4.0  # in every coordinate
N, SMALLEST_N = 10_000, 4_000  # below the latter one of n points is too large a share of a curve
SPLITS = {"none": False, "50 %": True}
STATES = {"clean": "clean", "polluted": "one outlier"}
# What counts as moved, in 1 − IoU of the curves without and with the outlier.
MOVED, UNMOVED = 0.2, 0.03


def _cells(size: Size) -> list[Cell]:
    return size.cross(quick=3, full=10, split=SPLITS, n=[size.pick(quick=SMALLEST_N, full=N)])


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Evaluate with and without the outlier, which takes the place of one real sample.

    All other samples, and with a split who fits and who is judged, are the same.
    """
    real, generated = PAIR.draw(cell["n"], rng)
    polluted = real.copy()
    polluted[-1] = OUTLIER
    estimators = {f"{m} k={k}": NEIGHBOR_ESTIMATORS[m](K_OF[k]) for m in METHODS for k in K_OF}
    settings = {"split": SPLITS[cell["split"]], "seed": int(rng.integers(2**31)), "scores": ()}
    settings["estimators"] = list(estimators.values())
    results = [evaluate_quietly((rows, generated), **settings) for rows in (real, polluted)]
    values = Values()
    pairs = zip(*(result.curves.values() for result in results), strict=True)
    for name, pair in zip(estimators, pairs, strict=True):
        values[f"{name} moved"] = 1 - pair[0].iou(pair[1])
        for state, curve in zip(STATES, pair, strict=True):
            values[f"{name} {state}"] = plots.points(curve)
            values[f"{name} {state} extreme"] = curve.max_precision
            values[f"{name} {state} middle"] = curve.at(1.0).precision
            values[f"{name} {state} f"] = curve.f_score(1 / 8)
    samples = results[1].samples
    if samples is not None:
        ratios = next(c for key, c in samples.real.columns.items() if key.startswith("likelihood"))
        values["outlier is judged"] = int(not np.isnan(ratios[-1]))
    return values


def _compare(found: Measurements) -> Rows:
    unsplit, split = found.where(split="none"), found.where(split="50 %")
    yield from _claims(unsplit)
    for name, (state, label) in product(METHODS, STATES.items()):
        key = f"{name} k=√n {state}"
        note = f"F_1/8 {unsplit.mean(f'{key} f'):.3f}"
        yield unsplit.row(f"{name} k=√n: α_∞, {label}", f"{key} extreme", note)
    for judged, role in enumerate(("helps to fit", "is judged")):
        here = Measurements([one for one in split if one.values["outlier is judged"] == judged])
        for name, k in product(METHODS, K_OF) if here else ():
            yield here.row(
                f"split, outlier {role}: {name} at k = {k} moved",
                f"{name} k={k} moved",
                "no split helps against an outlier that fits" * (not judged and name == "ipr"),
            )


def _claims(found: Measurements) -> Rows:
    """Test what the paper says of curves without a split."""
    moved = {(name, k): found.mean(f"{name} k={k} moved") for name, k in product(METHODS, K_OF)}
    yield Row.claim(
        "the outlier moves ipr at k = 4 (1 − IoU)",
        _with_spread(found, "ipr k=4 moved"),
        holds=moved["ipr", "4"] >= MOVED,
        note=f"holds from {MOVED} on",
    )
    end, middle = (
        found.mean(f"ipr k=4 polluted {place}") - found.mean(f"ipr k=4 clean {place}")
        for place in ("extreme", "middle")
    )
    yield Row.claim(
        "at k = 4 ipr is moved most near its extremes",
        f"precision {end:+.3f} at λ = ∞, {middle:+.3f} at λ = 1",
        holds=end > 2 * middle,
        note="holds if more than twice as far; only real is polluted, hence precision",
    )
    what = "ipr at k = √n is moved less than half as much"
    is_halved = moved["ipr", "√n"] < moved["ipr", "4"] / 2
    yield Row.claim(what, _with_spread(found, "ipr k=√n moved"), holds=is_halved)
    for name, k in product(METHODS[1:], K_OF):
        yield Row.claim(
            f"{name} at k = {k} is not moved",
            _with_spread(found, f"{name} k={k} moved"),
            holds=moved[name, k] <= UNMOVED,
            note=f"holds up to {UNMOVED}",
        )


def _with_spread(found: Measurements, key: str) -> str:
    spread = found.deviation(key)
    return f"{found.mean(key):.3f}" + ("" if spread is None else f" ± {spread:.3f}")


def _draw(found: Measurements, figure: plots.Figure) -> None:
    figure.set_size_inches(9.6, 5.4)
    here = found.where(split="none")
    for (k, name), ax in plots.panels(figure, 2, 4, product(K_OF, METHODS)):
        line = {"color": plots.COLOR_OF[name], "lw": 2}
        plots.mean_curve(ax, here, f"{name} k={k} clean", ls=":", label="without", **line)
        plots.mean_curve(ax, here, f"{name} k={k} polluted", label="with one outlier", **line)
        plots.pr_axes(ax, f"{plots.LABEL_OF[name]}, k = {k}", PAIR.truth)
        moved = f"1 − IoU = {here.mean(f'{name} k={k} moved'):.3f}"
        ax.text(0.97, 0.93, moved, ha="right", transform=ax.transAxes)
    for shown in figure.legends[0].get_lines()[:2]:
        shown.set_color("0.4")  # every curve has a colour of its own


EXPERIMENT = Experiment(
    name="outlier",
    title="One outlier among the real samples",
    where="Sykes et al. 2024 §4.3, Figure 7",
    caption="Two Gaussians in 64 dimensions, 3 apart, no split; one real sample is moved to "
    "(4, …, 4). At k = 4 its ball holds much of generated, and the precision of ipr jumps; at "
    "k = √n, and in all other curves, little happens, except at the very end: where all real "
    "samples must be kept the outlier takes α_∞ of kNN and coverage to 1, while F_1/8 stays.",
    seconds=(5, 40),
    steps=Steps(_cells, _measure, _compare, _draw),
)
