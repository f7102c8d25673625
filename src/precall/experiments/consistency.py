"""Whether curves tend to the truth, and how fast (000 §3.3, Theorem 3.1; §5.2 has no rates)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from precall.curves.error_rates import ErrorRates
from precall.curves.evidence import Evidence
from precall.curves.pr_curve import PRCurve
from precall.data.splits import HoldOut
from precall.estimators import KNN, NEIGHBOR_ESTIMATORS, Estimator
from precall.experiments.drawing import COLOR_OF, points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size
from precall.experiments.shifted_gaussians import LABEL_OF, METHODS, ShiftedGaussians, weigh
from precall.truth.closed_forms import fixed_k_risk

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHIFT = 5 / 3
DIMENSIONS = (2, 64)
FIXED_K = 4
FIXED = f"knn {FIXED_K}"
NAMES = (*METHODS, FIXED)
TRADE_OFFS = (0.5, 1.0, 2.0)
TRUTH = ShiftedGaussians(SHIFT).truth
FIXED_TOLERANCE = 0.01


def cells(size: Size) -> list[Cell]:
    """List sample sizes in few and in many dimensions."""
    sizes = {
        2: size.pick(quick=(100, 300, 1000, 3000), full=(100, 300, 1000, 3000, 10_000, 30_000)),
        64: size.pick(quick=(100, 300, 1000, 3000), full=(100, 300, 1000, 3000, 10_000)),
    }
    repeats = range(size.n_repeats(quick=10, full=30))
    return [
        Cell({"d": d, "n": n, "repeat": repeat})
        for d in DIMENSIONS
        for n in sizes[d]
        for repeat in repeats
    ]


def measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Find the distance of each curve from the truth, and what γ = λ costs kNN."""
    n = parameters["n"]
    estimators: dict[str, Estimator] = {
        method: NEIGHBOR_ESTIMATORS[method](round(n**0.5)) for method in METHODS
    }
    estimators[FIXED] = KNN(FIXED_K)
    samples = ShiftedGaussians(SHIFT, parameters["d"]).draw(n, rng)
    evidence = weigh(estimators, samples, HoldOut(), int(rng.integers(2**31)))
    curves = {name: PRCurve.of(ErrorRates.of(one)) for name, one in evidence.items()}
    true_points = np.array(points(TRUTH))
    values: dict[str, Any] = {}
    for name, curve in curves.items():
        # Mean over all rays of the distance between the two curves.
        moves = np.array(points(curve)) - true_points
        values[f"error {name}"] = float(np.hypot(*moves).mean())
        values[f"overlap {name}"] = curve.at(1.0).precision
    for trade_off in TRADE_OFFS:
        least = curves["knn"].at(trade_off).precision
        values[f"cost {trade_off}"] = _risk(evidence["knn"], trade_off) - least
    return values


def _risk(evidence: Evidence, trade_off: float) -> float:
    """λ·fpr + fnr of the classifier γ = λ."""
    called = evidence.called_real(trade_off)
    fpr, fnr = np.mean(~called[evidence.is_real]), np.mean(called[~evidence.is_real])
    return float(trade_off * fpr + fnr)


def compare(found: Measurements) -> list[Row]:
    """Test both items of Theorem 3.1, and report rates."""
    return [
        *(_consistent(found, d) for d in DIMENSIONS),
        *(_gamma_is_lambda(found, trade_off) for trade_off in TRADE_OFFS),
        _ipr_is_biased(found),
        _fixed_k(found),
        *_rates(found),
    ]


def _errors(found: Measurements, d: int, name: str) -> tuple[list[int], list[float]]:
    """Sample sizes and the mean error at each."""
    here = found.where(d=d)
    sizes = here.parameter("n")
    return sizes, [here.where(n=n).mean(f"error {name}") for n in sizes]


def _exponent(sizes: list[int], errors: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def _consistent(found: Measurements, d: int) -> Row:
    sizes, errors = _errors(found, d, "knn")
    return Row.claim(
        f"Theorem 3.1.2: the kNN curve tends to the truth, d = {d}",
        f"error {errors[0]:.3f} at n = {sizes[0]}, {errors[-1]:.3f} at n = {sizes[-1]}",
        holds=bool(np.all(np.diff(errors) < 0)),
        note="holds if it falls with every n",
    )


def _ipr_is_biased(found: Measurements) -> Row:
    """Test what §3.3 says of iPR in general: more samples do not help."""
    sizes, ipr = _errors(found, DIMENSIONS[0], "ipr")
    _, knn = _errors(found, DIMENSIONS[0], "knn")
    return Row.claim(
        f"iPR stays biased however many samples there are, d = {DIMENSIONS[0]}",
        f"error {ipr[-1]:.3f} at n = {sizes[-1]}, smallest {min(ipr):.3f}",
        holds=ipr[-1] >= 3 * knn[-1],
        note=f"holds if three times kNN's, {knn[-1]:.3f}; where density is smooth every sample "
        "lies in about k balls of either class, whatever the density",
    )


def _gamma_is_lambda(found: Measurements, trade_off: float) -> Row:
    here = found.where(d=DIMENSIONS[0])
    sizes = here.parameter("n")
    costs = [here.where(n=n).mean(f"cost {trade_off}") for n in (sizes[0], sizes[-1])]
    return Row.claim(
        f"Theorem 3.1.1: γ = λ is the best kNN classifier in the limit, λ = {trade_off:g}, d = 2",
        f"risk {costs[0]:.3f} above the least at n = {sizes[0]}, {costs[1]:.3f} at {sizes[-1]}",
        holds=costs[1] < costs[0] / 2,
        note="holds if at least halved",
    )


def _fixed_k(found: Measurements) -> Row:
    """Compare α_1 with k = 4 with its limit, which is not the truth."""
    here = found.where(d=DIMENSIONS[0])
    here = here.where(n=max(here.parameter("n")))
    p, q = ShiftedGaussians(SHIFT, DIMENSIONS[0]).distributions
    key = f"overlap {FIXED}"
    return Row.against(
        f"α at λ = 1 with k = {FIXED_K}, d = 2: limit by Eq. 10–11, corrected",
        fixed_k_risk(p, q, FIXED_K),
        here.mean(key),
        tolerance=FIXED_TOLERANCE,
        spread=here.deviation(key),
        note=f"truth {TRUTH.at(1.0).precision:.3f}: without growing k there is no consistency",
    )


def _rates(found: Measurements) -> list[Row]:
    rows = []
    for d in DIMENSIONS:
        for name in NAMES:
            sizes, errors = _errors(found, d, name)
            label = LABEL_OF.get(name, f"kNN with k = {FIXED_K}")
            row = Row.new(
                f"rate of convergence, d = {d}, {label}: exponent of n",
                _exponent(sizes, errors),
                note=f"error {errors[0]:.3f} at n = {sizes[0]}, {errors[-1]:.3f} at {sizes[-1]}",
            )
            rows.append(row)
    return rows


def draw(found: Measurements, figure: "Figure") -> None:
    """Draw the error against n, in few and in many dimensions."""
    axes = figure.subplots(1, len(DIMENSIONS), sharey=True)
    for d, ax in zip(DIMENSIONS, axes, strict=True):
        _draw_errors(ax, found, d)
        ax.set(xlabel="n", title=f"d = {d}")
    axes[0].set_ylabel("mean distance from the true curve")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)


def _draw_errors(ax: "Axes", found: Measurements, d: int) -> None:
    for name in NAMES:
        sizes, errors = _errors(found, d, name)
        if name == FIXED:
            style: dict[str, Any] = {"color": COLOR_OF["knn"], "ls": ":", "mfc": "white"}
            style["label"] = f"kNN, k = {FIXED_K}"
        else:
            style = {"color": COLOR_OF[name], "label": f"{LABEL_OF[name]}, k = √n"}
        ax.loglog(sizes, errors, marker="o", ms=4, lw=1.6, **style)
    guide = 0.12 * np.sqrt(sizes[0] / np.array(sizes))
    ax.loglog(sizes, guide, color="grey", ls="--", lw=1, label="1/√n")
    ax.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], [".01", ".02", ".05", ".1", ".2"])
    ax.minorticks_off()


EXPERIMENT = Experiment(
    name="consistency",
    title="Curves tend to the truth",
    where="000 §3.3, Theorem 3.1, and §5.2",
    caption="Distance from the true curve against the number of samples, shift 5/3, with a split. "
    "In two dimensions kNN, Parzen and coverage with k = √n converge about as fast as the noise of "
    "the samples allows, like 1/√n. kNN with k = 4 stops at its own limit, and iPR even moves "
    "away: where density is smooth every sample lies in about k balls of either class. In 64 "
    "dimensions all are slower, coverage the fastest.",
    quick_seconds=4,
    full_seconds=180,
    cells=cells,
    measure=measure,
    compare=compare,
    draw=draw,
)
