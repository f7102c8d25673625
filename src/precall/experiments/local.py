"""Which points are found covered, as it depends on the local ratio of densities (001 §3.2).

Theorem 4 promises that of m generated points all whose k′-ball has P/Q > ω are found covered, once
n is large enough. Here P/Q is known: *constant*, where generated is uniform on a cube that holds a
share ω of real, uniformly too, and every ball has P/Q = ω exactly; *theorem*, the same with the k
and k′ that the theorem asks for; *smooth*, two Gaussians, where P/Q changes from point to point.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size, Values
from precall.experiments.scoring import evaluate_quietly
from precall.report.plots import COLORS
from precall.scores.catalog import COVER_RATIO as C
from precall.truth import Distribution, Gaussian, Mixture, UniformBox
from precall.truth.closed_forms import cover_guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

M = 1000  # generated samples
M_SMOOTH = 4000
M_THEOREM, D_THEOREM, OMEGA_THEOREM = 10_000, 2, 0.5
ABOVE = 1.02  # P/Q in units of the theorem's ω, which it must exceed
PRINTED = cover_guarantee(M_THEOREM, D_THEOREM, OMEGA_THEOREM, form="printed")
APPENDIX = cover_guarantee(M_THEOREM, D_THEOREM, OMEGA_THEOREM)
STEP_5 = round(9 * M_THEOREM / (C * OMEGA_THEOREM))
BREAK_EVEN = round(M_THEOREM / (C * OMEGA_THEOREM))  # k real samples expected in a k′-ball
SHIFT = 2.0  # between the two Gaussians
EDGES = np.linspace(-5.5, 4.5, 21)  # of classes of log₂ ω
N_QUANTILES = 800


def expected_share(omega: float, n: int, m: int, k: int) -> float:
    """Return the share of points found covered where P/Q = ω: P(Bin(n, ω·B) ≥ k).

    B, the mass of Q in a ball of k′ = 3k neighbours, is Beta(k′, m − k′). Where ω = 1 this is
    :func:`precall.theory.expected_cover`.
    """
    from scipy import stats

    quantiles = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    mass = stats.beta(C * k, m - C * k).ppf(quantiles)
    return float(stats.binom.sf(k - 1, n, np.minimum(omega * mass, 1.0)).mean())


def _constant(d: int, omega: float) -> tuple[Distribution, Distribution]:
    """A share ω of real where generated is, and the rest far away."""
    cube = UniformBox(np.zeros(d), np.ones(d))
    far = UniformBox(np.full(d, 10.0), np.full(d, 11.0))
    return Mixture((cube, far), np.array([omega, 1 - omega])), cube


def _smooth() -> tuple[Gaussian, Gaussian]:
    return Gaussian(np.zeros(2)), Gaussian(np.array([SHIFT, 0.0]))


def _cells(size: Size) -> list[Cell]:
    repeats = range(size.n_repeats(quick=2, full=10))
    omegas, dimensions = size.pick(quick=(0.125, 0.5, 1.0), full=(0.125, 0.25, 0.5, 1.0)), (2, 16)
    sizes = size.pick(quick=(250, 1000, 4000, 16_000), full=(250, 500, 1000, 2000, 4000, 16_000))
    asked = [PRINTED.n, BREAK_EVEN, *size.pick(quick=(12_000,), full=(5000, 8000, 10_000, 20_000))]
    cells = [
        {"case": "constant", "d": d, "omega": omega, "n": n, "m": M, "k": 3, "repeat": r}
        for d in dimensions
        for omega in omegas
        for n in sizes
        for r in repeats
    ]
    fixed = {"case": "theorem", "d": D_THEOREM, "omega": ABOVE * OMEGA_THEOREM}
    fixed |= {"m": M_THEOREM, "k": PRINTED.k}
    cells += [{**fixed, "n": n, "repeat": 0} for n in sorted(asked)]
    fixed = {"case": "smooth", "d": 2, "omega": "varies", "m": M_SMOOTH, "k": 3}
    cells += [{**fixed, "n": n, "repeat": r} for n in (1000, 4000, 16_000) for r in repeats]
    return [Cell(cell) for cell in cells]


def _measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> Values:
    is_smooth = parameters["case"] == "smooth"
    p, q = _smooth() if is_smooth else _constant(parameters["d"], parameters["omega"])
    real, generated = p.draw(parameters["n"], rng), q.draw(parameters["m"], rng)
    covered = _covered(real, generated, parameters["k"])
    values: Values = {"share": float(covered.mean())}
    if is_smooth:
        log_ratio = (p.log_density(generated) - q.log_density(generated)) / np.log(2)
        values["points"] = np.histogram(log_ratio, EDGES)[0].tolist()
        values["covered"] = np.histogram(log_ratio[covered], EDGES)[0].tolist()
    return values


def _covered(real: Floats, generated: Floats, k: int) -> NDArray[np.bool_]:
    """Whether each generated point is found covered: the k′-ball around it holds k real ones."""
    result = evaluate_quietly(real, generated, estimators=(), scores=["precision_cover"], score_k=k)
    if result.samples is None:
        raise ValueError("samples were not kept")
    return np.asarray(result.samples.generated["precision_cover"], dtype=bool)


def _shares_by_ratio(found: Measurements) -> tuple[Floats, Floats]:
    """Middle of each class of ω with at least 50 points, and the share of its points covered."""
    points, covered = (found.values(key).sum(axis=0) for key in ("points", "covered"))
    known = points >= 50
    return 2 ** ((EDGES[1:] + EDGES[:-1]) / 2)[known], covered[known] / points[known]


def _compare(found: Measurements) -> list[Row]:
    theorem = found.where(case="theorem")
    constant, smooth = found.where(case="constant"), found.where(case="smooth")
    setting = f"m = {M_THEOREM}, d = {D_THEOREM}, C = 3, ω = {OMEGA_THEOREM}"
    largest = max(theorem.parameter("n"))
    at_printed, at_largest = (theorem.where(n=n).mean("share") for n in (PRINTED.n, largest))
    too_many = cover_guarantee(M_THEOREM, 64, OMEGA_THEOREM)
    return [
        Row.claim(
            f"Theorem 4 as printed ({setting}): n = {PRINTED.n} finds all points with P/Q > ω",
            f"share {at_printed:.4f}",
            holds=at_printed == 1,
            note=f"the printed n lacks the factor m: a ball holds {_held(PRINTED.n):.0f} real "
            f"samples on average, and k = {PRINTED.k} are asked for",
        ),
        Row.claim(
            f"Theorem 4 with the factor m of A.2.2 (n ≥ {APPENDIX.n}): all are found",
            f"share {at_largest:.4f} at n = {largest} already",
            holds=at_largest == 1,
            note=f"step (5) of the proof needs n ≥ {STEP_5}; a ball holds k real samples on "
            f"average from n = {BREAK_EVEN} on",
        ),
        Row.new(
            "Theorem 4, d = 64, m = 10 000: k′ that is asked for",
            too_many.k_prime,
            note="more than the 10 000 points there are, so that no such ball exists",
        ),
        *_dimension_free(constant),
        *_against_expectation(constant),
        _uncovered_means_rare(smooth.where(n=M_SMOOTH)),
        *_half_way(smooth),
    ]


def _held(n: int) -> float:
    """Real samples that a ball of the theorem's k′ neighbours holds on average."""
    return n * ABOVE * OMEGA_THEOREM * PRINTED.k_prime / M_THEOREM


def _by_setting(found: Measurements) -> list[tuple[Mapping[str, Any], Floats]]:
    """Parameters of each setting with the shares of all its repetitions."""
    settings: dict[tuple[Any, ...], tuple[Mapping[str, Any], list[float]]] = {}
    for one in found:
        key = tuple(one.parameters[name] for name in ("d", "omega", "n"))
        settings.setdefault(key, (one.parameters, []))[1].append(one.values["share"])
    return [(parameters, np.array(shares)) for parameters, shares in settings.values()]


def _against_expectation(found: Measurements) -> list[Row]:
    differences = [
        shares.mean() - expected_share(at["omega"], at["n"], at["m"], at["k"])
        for at, shares in _by_setting(found)
    ]
    return [
        Row.new(
            "constant P/Q: largest difference of a mean share from P(Bin(n, ωB) ≥ k)",
            float(np.abs(differences).max()),
            note=f"over {len(differences)} settings of ω, n and d; on average "
            f"{np.mean(differences):+.4f}",
        )
    ]


def _dimension_free(found: Measurements) -> list[Row]:
    means = {(p["d"], p["omega"], p["n"]): shares.mean() for p, shares in _by_setting(found)}
    gaps = [abs(means[2, omega, n] - means[16, omega, n]) for d, omega, n in means if d == 2]
    what = "constant P/Q: largest difference of the share between 2 and 16 dimensions"
    return [Row.new(what, max(gaps), note="the dimension acts through P/Q in a ball alone")]


def _uncovered_means_rare(found: Measurements) -> Row:
    """Test what 001 §3.2 infers: where a point is not covered, P/Q is small."""
    points, covered = (found.values(key).sum(axis=0) for key in ("points", "covered"))
    missed = points - covered
    rare = float(missed[EDGES[1:] <= 0.5].sum() / missed.sum())
    return Row.claim(
        "smooth P/Q, n = m: a point that is not found covered lies where Q outweighs P",
        f"{rare:.3f} of them have ω < √2",
        holds=rare > 0.95,
    )


def _half_way(found: Measurements) -> list[Row]:
    """Where half of the points are covered, against the expectation for a constant ratio."""
    rows = []
    grid = np.geomspace(2.0**-7, 2.0**5, 61)
    for n in found.parameter("n"):
        omegas, shares = _shares_by_ratio(found.where(n=n))
        expected = [expected_share(omega, n, M_SMOOTH, 3) for omega in grid]
        measured = 2 ** np.interp(0.5, shares, np.log2(omegas))
        predicted = 2 ** np.interp(0.5, expected, np.log2(grid))
        rows.append(
            Row.new(
                f"smooth P/Q, n = {n}, m = {M_SMOOTH}: ω where half of the points are covered",
                float(measured),
                note=f"expected {predicted:.3f}; m/(Cn) = {M_SMOOTH / (C * n):.3f}",
            )
        )
    return rows


def _draw(found: Measurements, figure: "Figure") -> None:
    figure.set_size_inches(13.2, 4.6)
    axes = figure.subplots(1, 3)
    _draw_map(axes[0])
    _draw_ratios(axes[1], found.where(case="smooth"))
    _draw_collapse(axes[2], found)
    for ax in axes[1:]:
        ax.set(xscale="log", ylim=(-0.03, 1.03), ylabel="share of points found covered")


def _draw_map(ax: "Axes") -> None:
    rng = np.random.default_rng(0)
    p, q = _smooth()
    real, generated = p.draw(1000, rng), q.draw(1000, rng)
    covered = _covered(real, generated, 3)
    for chosen, color, marker, label in (
        (covered, COLORS[2], "o", "covered"),
        (~covered, COLORS[1], "x", "not covered"),
    ):
        x, y = generated[chosen].T
        ax.scatter(x, y, s=9, color=color, marker=marker, lw=0.8, label=f"generated, {label}")
    edge = SHIFT / 2 + np.log(C) / SHIFT
    ax.axvline(edge, color="black", ls="--", lw=1.2, label="P/Q = 1/3")
    ax.set(
        xlabel="feature 1",
        ylabel="feature 2",
        ylim=(-4.6, 3.6),
        title="real is N(0, I), generated is shifted by 2; n = m = 1000",
    )
    ax.legend(loc="lower left", frameon=False, fontsize=8)


def _draw_ratios(ax: "Axes", found: Measurements) -> None:
    grid = np.geomspace(2.0**-6, 2.0**5, 60)
    for n, color, marker in zip(found.parameter("n"), COLORS, "^os", strict=False):
        label = f"n = {n}"
        ax.plot(*_shares_by_ratio(found.where(n=n)), marker, color=color, ms=6, label=label)
        ax.plot(
            grid, [expected_share(omega, n, M_SMOOTH, 3) for omega in grid], color=color, lw=1.2
        )
    ax.set(xlabel="ω = P/Q at the point", title=f"two Gaussians, m = {M_SMOOTH}")
    ax.legend(frameon=False)


def _draw_collapse(ax: "Axes", found: Measurements) -> None:
    grid = np.geomspace(0.05, 60, 120)
    constant, theorem = found.where(case="constant"), found.where(case="theorem")
    for omega, color in zip(constant.parameter("omega"), COLORS, strict=False):
        shares = _by_setting(constant.where(omega=omega))
        x = [C * omega * at["n"] / at["m"] for at, _ in shares]
        ax.plot(
            x, [share.mean() for _, share in shares], "o", ms=5, color=color, label=f"ω = {omega}"
        )
    x = [C * one.parameters["omega"] * one.parameters["n"] / M_THEOREM for one in theorem]
    ax.plot(
        x, theorem.values("share"), "D", ms=5, color="black", label=f"k = {PRINTED.k} (Theorem 4)"
    )
    for m, k, color in ((M, 3, "grey"), (M_THEOREM, PRINTED.k, "black")):
        n = 50 * m
        expected = [expected_share(x * m / (C * n), n, m, k) for x in grid]
        ax.plot(grid, expected, color=color, lw=1.2, zorder=0)
    ax.set(
        xlabel="C·ω·n/m: real samples expected in a k′-ball, over k", title="constant P/Q, k = 3"
    )
    ax.legend(frameon=False, loc="lower right", fontsize=8)


EXPERIMENT = Experiment(
    name="local",
    title="Local coverage against the local ratio of densities",
    where="001 §3.2, Theorem 4",
    caption="Left, generated points that are not found covered lie where Q outweighs P. Middle, "
    "the share found covered rises with the local ratio ω and with n, by a binomial law (lines). "
    "Right, all of ω, n and the dimension fall on one line; with the k of Theorem 4 (black) it is "
    "a step where a k′-ball expects k real samples.",
    quick_seconds=12,
    full_seconds=95,
    cells=_cells,
    measure=_measure,
    compare=_compare,
    draw=_draw,
)
