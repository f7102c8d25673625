"""Which points are found covered, by the local ratio of densities (Cheema & Urner 2023 §3.2).

Theorem 4 promises that of m generated points all whose k′-ball has P/Q > ω are found covered, once
n is large enough. Here P/Q is known: *constant*, where generated is uniform on a cube that holds a
share ω of real, uniformly too, and every ball has P/Q = ω exactly; *theorem*, the same with the k
and k′ that the theorem asks for; *smooth*, two Gaussians, where P/Q changes from point to point.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.curves.pr_curve import Floats
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import Samples, evaluate_quietly
from precall.report.plots import COLORS
from precall.scores.catalog import COVER_RATIO as C
from precall.truth import Distribution, Gaussian, Mixture, UniformBox
from precall.truth.closed_forms import cover_guarantee

M, M_SMOOTH, M_THEOREM = 1000, 4000, 10_000  # generated samples
D_THEOREM, OMEGA_THEOREM = 2, 0.5
ABOVE = 1.02  # P/Q in units of the theorem's ω, which it must exceed
PRINTED = cover_guarantee(M_THEOREM, D_THEOREM, OMEGA_THEOREM, form="printed")
APPENDIX = cover_guarantee(M_THEOREM, D_THEOREM, OMEGA_THEOREM)
BREAK_EVEN = round(M_THEOREM / (C * OMEGA_THEOREM))  # k real samples expected in a k′-ball
SHIFT = 2.0  # between the two Gaussians
SMOOTH = Gaussian(np.zeros(2)), Gaussian(np.array([SHIFT, 0.0]))
EDGES = np.linspace(-5.5, 4.5, 21)  # of classes of log₂ ω


def expected_share(omega: float, n: int, m: int, k: int) -> float:
    """Return the share of points found covered where P/Q = ω: P(Bin(n, ω·B) ≥ k).

    B, the mass of Q in a ball of k′ = 3k neighbours, is Beta(k′, m − k′). Where ω = 1 this is
    :func:`precall.theory.expected_cover`.
    """
    from scipy import stats

    quantiles = (np.arange(800) + 0.5) / 800
    mass = stats.beta(C * k, m - C * k).ppf(quantiles)
    return float(stats.binom.sf(k - 1, n, np.minimum(omega * mass, 1.0)).mean())


def _constant(d: int, omega: float) -> tuple[Distribution, Distribution]:
    """A share ω of real where generated is, and the rest far away."""
    cube = UniformBox(np.zeros(d), np.ones(d))
    far = UniformBox(np.full(d, 10.0), np.full(d, 11.0))
    return Mixture((cube, far), np.array([omega, 1 - omega])), cube


def _cells(size: Size) -> list[Cell]:
    repeats: dict[str, Any] = {"quick": 2, "full": 10}
    omegas = size.pick(quick=(0.125, 0.5, 1.0), full=(0.125, 0.25, 0.5, 1.0))
    sizes = size.pick(quick=(250, 1000, 4000, 16_000), full=(250, 500, 1000, 2000, 4000, 16_000))
    asked = [PRINTED.n, BREAK_EVEN, *size.pick(quick=(12_000,), full=(5000, 8000, 10_000, 20_000))]
    theorem = {"case": "theorem", "d": D_THEOREM, "omega": ABOVE * OMEGA_THEOREM}
    theorem |= {"m": M_THEOREM, "k": PRINTED.k}
    smooth: dict[str, Any] = {"d": [2], "omega": ["varies"], "m": [M_SMOOTH], "k": [3]}
    return [
        *size.cross(case=["constant"], d=(2, 16), omega=omegas, n=sizes, m=[M], k=[3], **repeats),
        *({**theorem, "n": n, "repeat": 0} for n in sorted(asked)),
        *size.cross(case=["smooth"], **smooth, n=(1000, 4000, 16_000), **repeats),
    ]


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    is_smooth = cell["case"] == "smooth"
    p, q = SMOOTH if is_smooth else _constant(cell["d"], cell["omega"])
    real, generated = p.draw(cell["n"], rng), q.draw(cell["m"], rng)
    covered = _covered((real, generated), cell["k"])
    values: Values = {"share": float(covered.mean())}
    if is_smooth:
        log_ratio = (p.log_density(generated) - q.log_density(generated)) / np.log(2)
        values["points"] = np.histogram(log_ratio, EDGES)[0].tolist()
        values["covered"] = np.histogram(log_ratio[covered], EDGES)[0].tolist()
    return values


def _covered(samples: Samples, k: int) -> NDArray[np.bool_]:
    """Whether each generated point is found covered: the k′-ball around it holds k real ones."""
    result = evaluate_quietly(samples, estimators=(), scores=["precision_cover"], score_k=k)
    if result.samples is None:
        raise ValueError("samples were not kept")
    return np.asarray(result.samples.generated["precision_cover"], dtype=bool)


def _compare(found: Measurements) -> Rows:
    yield from _theorem(found.where(case="theorem"))
    yield from _constant_ratio(found.where(case="constant"))
    yield from _smooth_ratio(found.where(case="smooth"))


def _theorem(found: Measurements) -> Rows:
    largest = max(found.parameter("n"))
    at_printed, at_largest = (found.where(n=n).mean("share") for n in (PRINTED.n, largest))
    held = PRINTED.n * ABOVE * OMEGA_THEOREM * PRINTED.k_prime / M_THEOREM
    yield Row.claim(
        f"Theorem 4 as printed (m = {M_THEOREM}, d = {D_THEOREM}, C = 3, ω = {OMEGA_THEOREM}): "
        f"n = {PRINTED.n} finds all points with P/Q > ω",
        f"share {at_printed:.4f}",
        holds=at_printed == 1,
        note=f"the printed n lacks the factor m: a ball holds {held:.0f} real samples on average, "
        f"and k = {PRINTED.k} are asked for",
    )
    yield Row.claim(
        f"Theorem 4 with the factor m of A.2.2 (n ≥ {APPENDIX.n}): all are found",
        f"share {at_largest:.4f} at n = {largest} already",
        holds=at_largest == 1,
        note=f"step (5) of the proof needs n ≥ {round(9 * M_THEOREM / (C * OMEGA_THEOREM))}; a "
        f"ball holds k real samples on average from n = {BREAK_EVEN} on",
    )
    yield Row.new(
        "Theorem 4, d = 64, m = 10 000: k′ that is asked for",
        cover_guarantee(M_THEOREM, 64, OMEGA_THEOREM).k_prime,
        note="more than the 10 000 points there are, so that no such ball exists",
    )


def _constant_ratio(found: Measurements) -> Rows:
    shares = {
        (d, omega, n): here.mean("share") for d, omega, n, here in found.by("d", "omega", "n")
    }
    yield Row.new(
        "constant P/Q: largest difference of the share between 2 and 16 dimensions",
        max(abs(share - shares[16, omega, n]) for (d, omega, n), share in shares.items() if d == 2),
        note="the dimension acts through P/Q in a ball alone",
    )
    differences = [
        share - expected_share(omega, n, M, 3) for (_, omega, n), share in shares.items()
    ]
    yield Row.new(
        "constant P/Q: largest difference of a mean share from P(Bin(n, ωB) ≥ k)",
        float(np.abs(differences).max()),
        note=f"over {len(differences)} settings of ω, n and d; on average "
        f"{np.mean(differences):+.4f}",
    )


def _smooth_ratio(found: Measurements) -> Rows:
    """Test what §3.2 infers, and find where half of the points are covered."""
    at_m = found.where(n=M_SMOOTH)
    missed = (at_m.values("points") - at_m.values("covered")).sum(axis=0)
    rare = float(missed[EDGES[1:] <= 0.5].sum() / missed.sum())
    yield Row.claim(
        "smooth P/Q, n = m: a point that is not found covered lies where Q outweighs P",
        f"{rare:.3f} of them have ω < √2",
        holds=rare > 0.95,
    )
    grid = np.geomspace(2.0**-7, 2.0**5, 61)
    for n, here in found.by("n"):
        omegas, shares = _shares_by_ratio(here)
        expected = [expected_share(omega, n, M_SMOOTH, 3) for omega in grid]
        predicted = 2 ** np.interp(0.5, expected, np.log2(grid))
        yield Row.new(
            f"smooth P/Q, n = {n}, m = {M_SMOOTH}: ω where half of the points are covered",
            float(2 ** np.interp(0.5, shares, np.log2(omegas))),
            note=f"expected {predicted:.3f}; m/(Cn) = {M_SMOOTH / (C * n):.3f}",
        )


def _shares_by_ratio(found: Measurements) -> tuple[Floats, Floats]:
    """Middle of each class of ω with at least 50 points, and the share of its points covered."""
    points, covered = (found.values(key).sum(axis=0) for key in ("points", "covered"))
    known = points >= 50
    return 2 ** ((EDGES[1:] + EDGES[:-1]) / 2)[known], covered[known] / points[known]


def _draw(found: Measurements, figure: plots.Figure) -> None:
    figure.set_size_inches(13.2, 4.6)
    left, middle, right = figure.subplots(1, 3)
    _draw_map(left)
    _draw_ratios(middle, found.where(case="smooth"))
    _draw_collapse(right, found.where(case="constant"), found.where(case="theorem"))
    for ax in (middle, right):
        ax.set(xscale="log", ylim=(-0.03, 1.03), ylabel="share of points found covered")


def _draw_map(ax: plots.Axes) -> None:
    rng = np.random.default_rng(0)
    real, generated = (side.draw(1000, rng) for side in SMOOTH)
    covered = _covered((real, generated), 3)
    for chosen, color, marker, label in (
        (covered, COLORS[2], "o", "generated, covered"),
        (~covered, COLORS[1], "x", "generated, not covered"),
    ):
        x, y = generated[chosen].T
        ax.scatter(x, y, s=9, color=color, marker=marker, lw=0.8, label=label)
    edge = SHIFT / 2 + np.log(C) / SHIFT
    ax.axvline(edge, color="black", ls="--", lw=1.2, label="P/Q = 1/3")
    title = "real is N(0, I), generated is shifted by 2; n = m = 1000"
    ax.set(xlabel="feature 1", ylabel="feature 2", ylim=(-4.6, 3.6), title=title)
    ax.legend(loc="lower left", frameon=False, fontsize=8)


def _draw_ratios(ax: plots.Axes, found: Measurements) -> None:
    grid = np.geomspace(2.0**-6, 2.0**5, 60)
    for (n, here), color, marker in zip(found.by("n"), COLORS, "^os", strict=False):
        expected = [expected_share(omega, n, M_SMOOTH, 3) for omega in grid]
        ax.plot(*_shares_by_ratio(here), marker, color=color, ms=6, label=f"n = {n}")
        ax.plot(grid, expected, color=color, lw=1.2)
    ax.set(xlabel="ω = P/Q at the point", title=f"two Gaussians, m = {M_SMOOTH}")
    ax.legend(frameon=False)


def _draw_collapse(ax: plots.Axes, constant: Measurements, theorem: Measurements) -> None:
    for (omega, here), color in zip(constant.by("omega"), COLORS, strict=False):
        dots = [(C * omega * n / M, at.mean("share")) for _, n, at in here.by("d", "n")]
        ax.plot(*zip(*dots, strict=True), "o", ms=5, color=color, label=f"ω = {omega}")
    x = [C * one.cell["omega"] * one.cell["n"] / M_THEOREM for one in theorem]
    label = f"k = {PRINTED.k} (Theorem 4)"
    ax.plot(x, theorem.values("share"), "D", ms=5, color="black", label=label)
    grid = np.geomspace(0.05, 60, 120)
    for m, k, color in ((M, 3, "grey"), (M_THEOREM, PRINTED.k, "black")):
        n = 50 * m
        expected = [expected_share(x * m / (C * n), n, m, k) for x in grid]
        ax.plot(grid, expected, color=color, lw=1.2, zorder=0)
    xlabel = "C·ω·n/m: real samples expected in a k′-ball, over k"
    ax.set(xlabel=xlabel, title="constant P/Q, k = 3")
    ax.legend(frameon=False, loc="lower right", fontsize=8)


EXPERIMENT = Experiment(
    name="local",
    title="Local coverage against the local ratio of densities",
    where="Cheema & Urner 2023 §3.2, Theorem 4",
    caption="Left, generated points that are not found covered lie where Q outweighs P. Middle, "
    "the share found covered rises with the local ratio ω and with n, by a binomial law (lines). "
    "Right, all of ω, n and the dimension fall on one line; with the k of Theorem 4 (black) it is "
    "a step where a k′-ball expects k real samples.",
    seconds=(12, 95),
    steps=Steps(_cells, _measure, _compare, _draw),
)
