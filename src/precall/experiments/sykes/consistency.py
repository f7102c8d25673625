"""Whether curves tend to the truth, and how fast (Sykes et al. 2024 §3.3, Theorem 3.1)."""

import numpy as np

from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.pr_curve import PRCurve
from precall.data.splits import HoldOut
from precall.estimators import KNN, NEIGHBOR_ESTIMATORS, Estimator
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.sykes.gaussians import METHODS, ShiftedGaussians, weigh
from precall.truth.closed_forms import fixed_k_risk

SHIFT = 5 / 3
LOW, HIGH = 2, 64  # dimensions
FIXED_K = 4
FIXED = f"knn {FIXED_K}"
NAMES = (*METHODS, FIXED)
TRADE_OFFS = (0.5, 1.0, 2.0)
TRUTH = ShiftedGaussians(SHIFT).truth


def _cells(size: Size) -> list[Cell]:
    sizes = (100, 300, 1000, 3000, *size.pick(quick=(), full=(10_000,)))
    cells = [{"d": d, "n": n} for d in (LOW, HIGH) for n in sizes]
    cells += size.pick(quick=[], full=[{"d": LOW, "n": 30_000}])
    return size.repeat(cells, quick=10, full=30)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
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
        moves = np.array(plots.points(curve)) - np.array(plots.points(TRUTH))
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


def _compare(found: Measurements) -> Rows:
    """Test both items of Theorem 3.1, and report rates."""
    low = found.where(d=LOW)
    for d, here in found.by("d"):
        sizes, errors = here.along("n", "error knn")
        yield Row.claim(
            f"Theorem 3.1.2: the kNN curve tends to the truth, d = {d}",
            f"error {errors[0]:.3f} at n = {sizes[0]}, {errors[-1]:.3f} at n = {sizes[-1]}",
            holds=bool(np.all(np.diff(errors) < 0)),
            note="holds if it falls with every n",
        )
    for trade_off in TRADE_OFFS:
        sizes, costs = low.along("n", f"cost {trade_off}")
        yield Row.claim(
            f"Theorem 3.1.1: γ = λ is the best kNN classifier in the limit, λ = {trade_off:g}, "
            f"d = {LOW}",
            f"risk {costs[0]:.3f} above the least at n = {sizes[0]}, {costs[-1]:.3f} at "
            f"{sizes[-1]}",
            holds=costs[-1] < costs[0] / 2,
            note="holds if at least halved",
        )
    yield from _limits(low)
    for d, here in found.by("d"):
        for name in NAMES:
            sizes, errors = here.along("n", f"error {name}")
            label = plots.LABEL_OF.get(name, f"kNN with k = {FIXED_K}")
            yield Row.new(
                f"rate of convergence, d = {d}, {label}: exponent of n",
                float(np.polyfit(np.log(sizes), np.log(errors), 1)[0]),
                note=f"error {errors[0]:.3f} at n = {sizes[0]}, {errors[-1]:.3f} at {sizes[-1]}",
            )


def _limits(found: Measurements) -> Rows:
    """Test where more samples do not help (§3.3): iPR, and α_1 with a fixed k."""
    (sizes, ipr), (_, knn) = (found.along("n", f"error {name}") for name in ("ipr", "knn"))
    yield Row.claim(
        f"iPR stays biased however many samples there are, d = {LOW}",
        f"error {ipr[-1]:.3f} at n = {sizes[-1]}, smallest {min(ipr):.3f}",
        holds=ipr[-1] >= 3 * knn[-1],
        note=f"holds if three times kNN's, {knn[-1]:.3f}; where density is smooth every sample "
        "lies in about k balls of either class, whatever the density",
    )
    yield found.where(n=max(sizes)).row_against(
        f"α at λ = 1 with k = {FIXED_K}, d = {LOW}: limit by Eq. 10–11, corrected",
        fixed_k_risk(*ShiftedGaussians(SHIFT, LOW).distributions, FIXED_K),
        f"overlap {FIXED}",
        tolerance=0.01,
        note=f"truth {TRUTH.at(1.0).precision:.3f}: without growing k there is no consistency",
    )


def _draw(found: Measurements, figure: plots.Figure) -> None:
    lines = {m: plots.LINE_OF[m] | {"label": f"{plots.LABEL_OF[m]}, k = √n"} for m in METHODS}
    fixed = {"label": f"kNN, k = {FIXED_K}", "ls": ":", "mfc": "white"}
    lines[FIXED] = plots.LINE_OF["knn"] | fixed
    axes = figure.subplots(1, 2, sharey=True)
    for (d, here), ax in zip(found.by("d"), axes, strict=True):
        for name, line in lines.items():
            ax.loglog(*here.along("n", f"error {name}"), marker="o", ms=4, lw=1.6, **line)
        sizes = np.array(here.parameter("n"))
        guide = 0.12 * np.sqrt(sizes[0] / sizes)
        ax.loglog(sizes, guide, color="grey", ls="--", lw=1, label="1/√n")
        ax.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], [".01", ".02", ".05", ".1", ".2"])
        ax.minorticks_off()
        ax.set(xlabel="n", title=f"d = {d}")
    axes[0].set_ylabel("mean distance from the true curve")
    plots.legend_outside(figure, axes[0], loc="outside right center", ncols=1)


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
    steps=Steps(_cells, _measure, _compare, _draw),
)
