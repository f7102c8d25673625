"""Whether curves tend to the truth, and how fast (Sykes et al. 2024 §3.3, Theorem 3.1)."""

import numpy as np

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.pr_curve import PRCurve
from precall.data.splits import HoldOut
from precall.estimators import KNN, NEIGHBOR_ESTIMATORS, Estimator
from precall.experiments.drawing import Axes, Figure, legend_outside, points
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Rows, Size, Values
from precall.experiments.methods import COLOR_OF, LABEL_OF, METHODS
from precall.experiments.sykes.shifted_gaussians import ShiftedGaussians, weigh
from precall.truth.closed_forms import fixed_k_risk

SHIFT = 5 / 3
LOW, HIGH = 2, 64  # dimensions
FIXED_K = 4
FIXED = f"knn {FIXED_K}"
NAMES = (*METHODS, FIXED)
TRADE_OFFS = (0.5, 1.0, 2.0)
TRUTH = ShiftedGaussians(SHIFT).truth


def cells(size: Size) -> list[Cell]:
    """List sample sizes in few and in many dimensions."""
    sizes = (100, 300, 1000, 3000, *size.pick(quick=(), full=(10_000,)))
    cells = [{"d": d, "n": n} for d in (LOW, HIGH) for n in sizes]
    cells += size.pick(quick=[], full=[{"d": LOW, "n": 30_000}])
    return size.repeat(cells, quick=10, full=30)


def measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Find the distance of each curve from the truth, and what γ = λ costs kNN."""
    n = cell["n"]
    estimators: dict[str, Estimator] = {m: NEIGHBOR_ESTIMATORS[m](round(n**0.5)) for m in METHODS}
    estimators[FIXED] = KNN(FIXED_K)
    samples = ShiftedGaussians(SHIFT, cell["d"]).draw(n, rng)
    evidence = weigh(estimators, samples, HoldOut(), int(rng.integers(2**31)))
    curves = {name: PRCurve.of(ErrorRates.of(one)) for name, one in evidence.items()}
    values = Values()
    for name, curve in curves.items():
        # Mean over all rays of the distance between the two curves.
        moves = np.array(points(curve)) - np.array(points(TRUTH))
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


def compare(found: Measurements) -> Rows:
    """Test both items of Theorem 3.1, and report rates."""
    for d in (LOW, HIGH):
        sizes, errors = found.where(d=d).along("n", "error knn")
        yield Row.claim(
            f"Theorem 3.1.2: the kNN curve tends to the truth, d = {d}",
            f"error {errors[0]:.3f} at n = {sizes[0]}, {errors[-1]:.3f} at n = {sizes[-1]}",
            holds=bool(np.all(np.diff(errors) < 0)),
            note="holds if it falls with every n",
        )
    for trade_off in TRADE_OFFS:
        sizes, costs = found.where(d=LOW).along("n", f"cost {trade_off}")
        yield Row.claim(
            f"Theorem 3.1.1: γ = λ is the best kNN classifier in the limit, λ = {trade_off:g}, "
            f"d = {LOW}",
            f"risk {costs[0]:.3f} above the least at n = {sizes[0]}, {costs[-1]:.3f} at "
            f"{sizes[-1]}",
            holds=costs[-1] < costs[0] / 2,
            note="holds if at least halved",
        )
    yield _ipr_is_biased(found.where(d=LOW))
    yield _fixed_k(found.where(d=LOW))
    for d in (LOW, HIGH):
        for name in NAMES:
            sizes, errors = found.where(d=d).along("n", f"error {name}")
            label = LABEL_OF.get(name, f"kNN with k = {FIXED_K}")
            yield Row.new(
                f"rate of convergence, d = {d}, {label}: exponent of n",
                float(np.polyfit(np.log(sizes), np.log(errors), 1)[0]),
                note=f"error {errors[0]:.3f} at n = {sizes[0]}, {errors[-1]:.3f} at {sizes[-1]}",
            )


def _ipr_is_biased(found: Measurements) -> Row:
    """Test what §3.3 says of iPR in general: more samples do not help."""
    (sizes, ipr), (_, knn) = (found.along("n", f"error {name}") for name in ("ipr", "knn"))
    return Row.claim(
        f"iPR stays biased however many samples there are, d = {LOW}",
        f"error {ipr[-1]:.3f} at n = {sizes[-1]}, smallest {min(ipr):.3f}",
        holds=ipr[-1] >= 3 * knn[-1],
        note=f"holds if three times kNN's, {knn[-1]:.3f}; where density is smooth every sample "
        "lies in about k balls of either class, whatever the density",
    )


def _fixed_k(found: Measurements) -> Row:
    """Compare α_1 with k = 4 with its limit, which is not the truth."""
    return found.where(n=max(found.parameter("n"))).row_against(
        f"α at λ = 1 with k = {FIXED_K}, d = {LOW}: limit by Eq. 10–11, corrected",
        fixed_k_risk(*ShiftedGaussians(SHIFT, LOW).distributions, FIXED_K),
        f"overlap {FIXED}",
        tolerance=0.01,
        note=f"truth {TRUTH.at(1.0).precision:.3f}: without growing k there is no consistency",
    )


def draw(found: Measurements, figure: Figure) -> None:
    """Draw the error against n, in few and in many dimensions."""
    axes = figure.subplots(1, 2, sharey=True)
    for d, ax in zip((LOW, HIGH), axes, strict=True):
        _draw_errors(ax, found.where(d=d))
        ax.set(xlabel="n", title=f"d = {d}")
    axes[0].set_ylabel("mean distance from the true curve")
    legend_outside(figure, axes[0], loc="outside right center", ncols=1)


def _draw_errors(ax: Axes, found: Measurements) -> None:
    line = {"marker": "o", "ms": 4, "lw": 1.6}
    for name in METHODS:
        sizes, errors = found.along("n", f"error {name}")
        ax.loglog(sizes, errors, color=COLOR_OF[name], label=f"{LABEL_OF[name]}, k = √n", **line)
    line |= {"color": COLOR_OF["knn"], "ls": ":", "mfc": "white"}
    ax.loglog(*found.along("n", f"error {FIXED}"), label=f"kNN, k = {FIXED_K}", **line)
    guide = 0.12 * np.sqrt(sizes[0] / np.array(sizes))
    ax.loglog(sizes, guide, color="grey", ls="--", lw=1, label="1/√n")
    ax.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], [".01", ".02", ".05", ".1", ".2"])
    ax.minorticks_off()


EXPERIMENT = Experiment(
    name="consistency",
    title="Curves tend to the truth",
    where="Sykes et al. 2024 §3.3, Theorem 3.1, and §5.2",
    caption="Distance from the true curve against the number of samples, shift 5/3, with a split. "
    "In two dimensions kNN, Parzen and coverage with k = √n converge about as fast as the noise of "
    "the samples allows, like 1/√n. kNN with k = 4 stops at its own limit, and iPR even moves "
    "away: where density is smooth every sample lies in about k balls of either class. In 64 "
    "dimensions all are slower, coverage the fastest.",
    seconds=(4, 180),
    cells=cells,
    measure=measure,
    compare=compare,
    draw=draw,
)
