"""Two numbers for a curve: F-scores against the PR median (Sykes et al. 2024 §5.1).

The study that the paper leaves as future work: how each summary answers to mode dropping,
invention, re-weighting and tempering of known strength. F_b follows the field's convention: F_8 is
a recall, F_{1/8} a precision (the paper prints the reverse).
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from precall.curves.pr_curve import Curve
from precall.estimators import Coverage
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import curves_of
from precall.experiments.sykes.gaussians import FIGURE_3A, gaussian_mixture
from precall.report.plots import COLORS
from precall.truth import Mixture, true_curve

Pair = tuple[Mixture, Mixture]  # real, generated

ESTIMATOR = Coverage()  # with k = √n, the paper's recommendation (§6)
FEW_FEATURES = 8
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
POWERS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)  # the exponent τ of the density
SHOWN = {
    "f_1_8": ("F$_{1/8}$: precision", COLORS[0], "-"),
    "f_8": ("F$_8$: recall", COLORS[1], "-"),
    "median precision": ("PR median: precision", COLORS[0], "--"),
    "median recall": ("PR median: recall", COLORS[1], "--"),
}
SMALL_MODE = "k = √n is about all that generated has in its smallest mode; a smaller k helps"


def _separated(means: Sequence[float], real: Sequence[float], generated: Sequence[float]) -> Pair:
    """Two mixtures of the same modes in many dimensions, with these weights."""
    return gaussian_mixture(means, real), gaussian_mixture(means, generated)


def _two_modes(real: float, generated: float) -> Pair:
    """Two modes, of which the first has these masses."""
    return _separated((0.0, 5.0), (real, 1 - real), (generated, 1 - generated))


def _all_three(strength: float) -> Pair:
    """Walk from no difference to the mixtures of Figure 3a."""
    means, real, end = FIGURE_3A
    generated = (1 - strength) * np.array(real) + strength * np.array(end)
    return _separated(means, real, generated.tolist())


def _tempered(weights: tuple[float, ...], power: float) -> Pair:
    """Return a mixture p of modes far apart, and q ∝ p^τ: its modes have variance 1/τ."""
    means = [20.0 * i for i in range(len(weights))]
    real = gaussian_mixture(means, weights, FEW_FEATURES)
    powered = (np.array(weights) ** power).tolist()
    return real, gaussian_mixture(means, powered, FEW_FEATURES, 1 / power)


SCENARIOS: dict[str, Callable[[float], Pair]] = {
    "dropping": lambda strength: _two_modes(1 - strength, 1.0),
    "invention": lambda strength: _two_modes(1.0, 1 - strength),
    "re-weighting": lambda strength: _two_modes(0.5, 0.5 * (1 + strength)),
    "all three": _all_three,
    "tempered Gaussian": lambda power: _tempered((1.0,), power),
    "tempered mixture": lambda power: _tempered((0.5, 0.3, 0.2), power),
}
TEMPERED = [name for name in SCENARIOS if name.startswith("tempered")]


def _cells(size: Size) -> list[Cell]:
    n = size.pick(quick=2000, full=10_000)
    # At strength 1 nothing is shared, except in the mixtures of Figure 3a.
    strengths: dict[str, tuple[float, ...]] = dict.fromkeys(SCENARIOS, STRENGTHS)
    strengths |= {**dict.fromkeys(TEMPERED, POWERS), "all three": (*STRENGTHS, 1.0)}
    cells = [
        {"scenario": scenario, "strength": strength, "n": n}
        for scenario, those in strengths.items()
        for strength in those
    ]
    return size.repeat(cells, quick=1, full=2)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Summarize the true curve and an estimated one."""
    real, generated = SCENARIOS[cell["scenario"]](cell["strength"])
    seed = int(rng.integers(2**31))
    samples = real.draw(cell["n"], rng), generated.draw(cell["n"], rng)
    # Modes of equal shape are 40 standard deviations apart: the weights decide.
    labelled = cell["scenario"] not in TEMPERED
    curves: dict[str, Curve] = {
        "true": true_curve(real, generated, labelled=labelled, seed=seed),
        **curves_of(samples, {"estimated": ESTIMATOR}, seed=seed),
    }
    values = Values()
    for kind, curve in curves.items():
        values[f"{kind} f_1_8"] = curve.f_score(1 / 8)
        values[f"{kind} f_8"] = curve.f_score(8)
        values[f"{kind} f_1000"] = curve.f_score(1000)
        values[f"{kind} median precision"], values[f"{kind} median recall"] = curve.median()
        values[f"{kind} extreme precision"] = curve.max_precision
        values[f"{kind} extreme recall"] = curve.max_recall
    return values


def _compare(found: Measurements) -> Rows:
    yield from _median_is_extreme(found)
    yield from _reacts_to_reweighting(found.where(scenario="re-weighting", strength=0.8))
    yield from _limits(found)
    for scenario, power, summary in product(TEMPERED, (0.5, 2.0), SHOWN):
        here = found.where(scenario=scenario, strength=power)
        what = f"{scenario}, τ = {power:g}: true {summary}"
        yield Row.new(what, here.mean(f"true {summary}"))
    for scenario, here in found.by("scenario"):
        for summary in SHOWN:
            _, true = here.along("strength", f"true {summary}")
            _, estimated = here.along("strength", f"estimated {summary}")
            error = float(np.abs(np.subtract(estimated, true)).max())
            what = f"{scenario}: largest error of {summary} by {ESTIMATOR.name}"
            yield Row.new(what, error, note=SMALL_MODE * (scenario == "tempered mixture"))


def _median_is_extreme(found: Measurements) -> Rows:
    """With dropping or invention alone the curve is a rectangle, and the median its corner."""
    alone = [one.values for one in found if one.cell["scenario"] in ("dropping", "invention")]
    cases = list(product(alone, ("precision", "recall")))
    true, estimated = (
        max(abs(one[f"{kind} median {side}"] - one[f"true extreme {side}"]) for one, side in cases)
        for kind in ("true", "estimated")
    )
    what = "pure dropping or invention: the median is the extremes"
    yield Row.claim(what, f"largest difference {true:.1e}", holds=true <= 1e-9)
    yield Row.new(
        f"{what}, if estimated by {ESTIMATOR.name}: largest difference",
        estimated,
        note="estimation rounds the corner, most where little of a class is left in common",
    )


def _reacts_to_reweighting(here: Measurements) -> Rows:
    """Compare what the F-scores lose with what the median loses, precision and recall together.

    Beyond a strength of .8 the rarer mode has less than a fifth of its share.
    """
    for kind in ("true", "estimated"):
        f_lost, median_lost = (
            1 - sum(here.mean(f"{kind} {summary}") for summary in pair) / 2
            for pair in (("f_1_8", "f_8"), ("median precision", "median recall"))
        )
        yield Row.claim(
            f"re-weighting of .5/.5 to .9/.1: F hardly reacts, the median does ({kind})",
            f"F loses {f_lost:.3f}, the median {median_lost:.3f}",
            holds=f_lost <= median_lost / 4,
            note="in the mean of precision and recall; holds if F loses a quarter or less",
        )


def _limits(found: Measurements) -> Rows:
    # A Gaussian and its tempered self share all of space: both extremes are 1.
    here = found.where(scenario="tempered Gaussian", strength=4.0)
    values = {summary: here.mean(f"true {summary}") for summary in SHOWN}
    yield Row.claim(
        "tails that decay fast impress neither (Gaussian, τ = 4, where α_∞ = β_0 = 1)",
        ", ".join(f"{name} {value:.2f}" for name, value in values.items()),
        holds=max(values["f_8"], values["median recall"]) < 0.9,
        note="holds if both recalls stay below .9",
    )
    # Dropping costs no precision, but F_{1/8} sinks with it: b = 8 is no infinity.
    half, most = (found.where(scenario="dropping", strength=share) for share in (0.5, 0.9))
    limit = half.mean("true f_1000")
    yield Row.claim(
        "F_b tends to β_0 as b grows (half of real dropped: α_∞ = 1, β_0 = .5)",
        f"F_1000 = {limit:.3f}",
        holds=abs(limit - 0.5) < 1e-3,
        note="the field's convention; Sykes et al. 2024 §5.1 print α_∞",
    )
    for name in ("f_1_8", "median precision"):
        what, note = f"nine tenths dropped: true {name}", "nothing is invented, true precision is 1"
        yield Row.new(what, most.mean(f"true {name}"), note=note)


def _draw(found: Measurements, figure: plots.Figure) -> None:
    """Draw true summaries as lines, estimated ones as dots."""
    figure.set_size_inches(9.6, 6.0)
    axes = figure.subplots(2, 3, sharey=True)
    for ax, (scenario, here) in zip(axes.flat, found.by("scenario"), strict=True):
        for summary, (label, color, style) in SHOWN.items():
            true = here.along("strength", f"true {summary}")
            ax.plot(*true, ls=style, color=color, label=label, lw=1.6)
            face = color if style == "-" else "white"
            estimated = here.along("strength", f"estimated {summary}")
            ax.plot(*estimated, "o", color=color, mfc=face, ms=4)
        ax.set(title=scenario, xlabel="strength: share of mass concerned")
        if scenario in TEMPERED:
            ax.set_xscale("log", base=2)
            ax.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
            ax.minorticks_off()
            ax.set_xlabel("τ: generated ∝ real$^τ$ (wider < 1 < narrower)")
    for ax in axes[:, 0]:
        ax.set(ylabel="summary of the curve", ylim=(0, 1.03))
    plots.legend_outside(figure, axes[0, 0])


EXPERIMENT = Experiment(
    name="summaries",
    title="Two numbers for a curve: F-scores and the PR median",
    where="Sykes et al. 2024 §5.1",
    caption="Lines: from the true curve; dots: estimated by coverage. Under pure dropping and "
    "invention all summaries tell the missing share (the median exactly, F nearly). Under "
    "re-weighting F hardly moves until a mode has almost vanished, while the median falls at once. "
    "Tempering (as truncation or guidance do) costs recall when generated is narrower and "
    "precision when it is wider; in a mixture it also re-weights, which the median adds.",
    seconds=(10, 110),
    steps=Steps(_cells, _measure, _compare, _draw),
)
