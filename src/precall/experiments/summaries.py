"""Two numbers for a curve: F-scores against the PR median (000 §5.1).

The study that 000 leaves as future work: how each summary answers to mode dropping, invention,
re-weighting and tempering of known strength. F_b follows the field's convention: F_8 is a recall,
F_{1/8} a precision (000 §5.1 prints the reverse).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from precall.curves.pr_curve import Curve
from precall.experiments.experiment import Cell, Experiment, Measurements, Row, Size, Values
from precall.experiments.gaussian_mixtures import DROPPED_INVENTED_REWEIGHTED, gaussian_mixture
from precall.experiments.scoring import evaluate_quietly
from precall.report.plots import COLORS
from precall.truth import Mixture, true_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[Mixture, Mixture]  # real, generated

ESTIMATOR = "coverage"  # with k = √n, the paper's recommendation (000 §6)
MANY_FEATURES, FEW_FEATURES = 64, 8
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
POWERS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)  # the exponent τ of the density
TEMPERED_WEIGHTS = (0.5, 0.3, 0.2)
SHOWN = {
    "f_1_8": ("F$_{1/8}$: precision", COLORS[0], "-"),
    "f_8": ("F$_8$: recall", COLORS[1], "-"),
    "median precision": ("PR median: precision", COLORS[0], "--"),
    "median recall": ("PR median: recall", COLORS[1], "--"),
}
REWEIGHTED_UP_TO = 0.8  # beyond, the rarer mode has less than a fifth of its share


def _two_modes(real: float, generated: float) -> Pair:
    """Two modes, of which the first has these masses."""
    return tuple(  # type: ignore[return-value]
        gaussian_mixture((0.0, 5.0), (mass, 1 - mass), MANY_FEATURES) for mass in (real, generated)
    )


def _all_three(strength: float) -> Pair:
    """Walk from no difference to the mixtures of 000 Figure 3a."""
    means, real, end = DROPPED_INVENTED_REWEIGHTED
    generated = (1 - strength) * np.array(real) + strength * np.array(end)
    weights = real, tuple(generated.tolist())
    return tuple(gaussian_mixture(means, w, MANY_FEATURES) for w in weights)  # type: ignore[return-value]


def _tempered(weights: tuple[float, ...], power: float) -> Pair:
    """Return a mixture p of modes far apart, and q ∝ p^τ: its modes have variance 1/τ."""
    means = tuple(20.0 * i for i in range(len(weights)))
    powered = tuple((np.array(weights) ** power).tolist())
    real = gaussian_mixture(means, weights, FEW_FEATURES)
    return real, gaussian_mixture(means, powered, FEW_FEATURES, 1 / power)


SCENARIOS: dict[str, Callable[[float], Pair]] = {
    "dropping": lambda strength: _two_modes(1 - strength, 1.0),
    "invention": lambda strength: _two_modes(1.0, 1 - strength),
    "re-weighting": lambda strength: _two_modes(0.5, 0.5 * (1 + strength)),
    "all three": _all_three,
    "tempered Gaussian": lambda power: _tempered((1.0,), power),
    "tempered mixture": lambda power: _tempered(TEMPERED_WEIGHTS, power),
}
TEMPERED = [name for name in SCENARIOS if name.startswith("tempered")]


def _strengths(scenario: str) -> tuple[float, ...]:
    """At strength 1 nothing is shared, except in the mixtures of 000 §4.2."""
    if scenario in TEMPERED:
        return POWERS
    return (*STRENGTHS, 1.0) if scenario == "all three" else STRENGTHS


def _cells(size: Size) -> list[Cell]:
    n = size.pick(quick=2000, full=10_000)
    return [
        Cell({"scenario": scenario, "strength": strength, "n": n, "repeat": repeat})
        for repeat in range(size.n_repeats(quick=1, full=2))
        for scenario in SCENARIOS
        for strength in _strengths(scenario)
    ]


def _measure(parameters: Mapping[str, Any], rng: np.random.Generator) -> Values:
    """Summarize the true curve and an estimated one."""
    scenario, n = parameters["scenario"], parameters["n"]
    real, generated = SCENARIOS[scenario](parameters["strength"])
    seed = int(rng.integers(2**31))
    result = evaluate_quietly(
        real.draw(n, rng), generated.draw(n, rng), estimators=[ESTIMATOR], scores=(), seed=seed
    )
    # Modes of equal shape are 40 standard deviations apart: the weights decide.
    truth = true_curve(real, generated, labelled=scenario not in TEMPERED, seed=seed)
    return _summaries("true", truth) | _summaries("estimated", result.curves[ESTIMATOR])


def _summaries(kind: str, curve: Curve) -> Values:
    median = curve.median()
    return {
        f"{kind} f_1_8": curve.f_score(1 / 8),
        f"{kind} f_8": curve.f_score(8),
        f"{kind} median precision": median.precision,
        f"{kind} median recall": median.recall,
        f"{kind} extreme precision": curve.max_precision,
        f"{kind} extreme recall": curve.max_recall,
        f"{kind} f_1000": curve.f_score(1000),
    }


def _compare(found: Measurements) -> list[Row]:
    rows = _median_is_extreme(found)
    rows += [_reacts_to_reweighting(found, kind) for kind in ("true", "estimated")]
    rows += [_survives_tails(found), _limit_of_f(found), *_cross_talk(found)]
    for scenario in TEMPERED:
        rows += _tempering(found.where(scenario=scenario), scenario)
    return rows + [
        Row.new(
            f"{scenario}: largest error of {summary} by {ESTIMATOR}",
            float(np.abs(_errors(found.where(scenario=scenario), summary)).max()),
            note="k = √n is about all that generated has in its smallest mode; a smaller k helps"
            * (scenario == "tempered mixture"),
        )
        for scenario in SCENARIOS
        for summary in SHOWN
    ]


def _errors(found: Measurements, summary: str) -> Any:
    """Return the estimated less the true value at each strength, in the mean over repeats."""
    return np.array(
        [
            here.mean(f"estimated {summary}") - here.mean(f"true {summary}")
            for here in (found.where(strength=s) for s in found.parameter("strength"))
        ]
    )


def _median_is_extreme(found: Measurements) -> list[Row]:
    """With dropping or invention alone the curve is a rectangle, and the median its corner."""
    alone = [one for one in found if one.parameters["scenario"] in ("dropping", "invention")]
    true, estimated = (
        max(
            abs(one.values[f"{kind} median {side}"] - one.values[f"true extreme {side}"])
            for one in alone
            for side in ("precision", "recall")
        )
        for kind in ("true", "estimated")
    )
    what = "pure dropping or invention: the median is the extremes"
    return [
        Row.claim(what, f"largest difference {true:.1e}", holds=true <= 1e-9),
        Row.new(
            f"{what}, if estimated by {ESTIMATOR}: largest difference",
            estimated,
            note="estimation rounds the corner, most where little of a class is left in common",
        ),
    ]


def _reacts_to_reweighting(found: Measurements, kind: str) -> Row:
    """Compare what the F-scores lose with what the median loses, precision and recall together."""
    here = found.where(scenario="re-weighting", strength=REWEIGHTED_UP_TO)
    f_lost, median_lost = (
        1 - sum(here.mean(f"{kind} {summary}") for summary in pair) / 2
        for pair in (("f_1_8", "f_8"), ("median precision", "median recall"))
    )
    return Row.claim(
        f"re-weighting of .5/.5 to .9/.1: F hardly reacts, the median does ({kind})",
        f"F loses {f_lost:.3f}, the median {median_lost:.3f}",
        holds=f_lost <= median_lost / 4,
        note="in the mean of precision and recall; holds if F loses a quarter or less",
    )


def _survives_tails(found: Measurements) -> Row:
    """A Gaussian and its tempered self share all of space: both extremes are 1."""
    here = found.where(scenario="tempered Gaussian", strength=4.0)
    values = {summary: here.mean(f"true {summary}") for summary in SHOWN}
    return Row.claim(
        "tails that decay fast impress neither (Gaussian, τ = 4, where α_∞ = β_0 = 1)",
        ", ".join(f"{name} {value:.2f}" for name, value in values.items()),
        holds=max(values["f_8"], values["median recall"]) < 0.9,
        note="holds if both recalls stay below .9",
    )


def _limit_of_f(found: Measurements) -> Row:
    here = found.where(scenario="dropping", strength=0.5)
    return Row.claim(
        "F_b tends to β_0 as b grows (half of real dropped: α_∞ = 1, β_0 = .5)",
        f"F_1000 = {here.mean('true f_1000'):.3f}",
        holds=abs(here.mean("true f_1000") - 0.5) < 1e-3,
        note="the field's convention; 000 §5.1 prints α_∞",
    )


def _cross_talk(found: Measurements) -> list[Row]:
    """Dropping costs no precision, but F_{1/8} sinks with it: b = 8 is no infinity."""
    here = found.where(scenario="dropping", strength=0.9)
    note = "nothing is invented, true precision is 1"
    return [
        Row.new(f"nine tenths dropped: true {name}", here.mean(f"true {name}"), note=note)
        for name in ("f_1_8", "median precision")
    ]


def _tempering(found: Measurements, scenario: str) -> list[Row]:
    return [
        Row.new(f"{scenario}, τ = {power:g}: true {summary}", here.mean(f"true {summary}"))
        for power in (0.5, 2.0)
        for here in (found.where(strength=power),)
        for summary in SHOWN
    ]


def _draw(found: Measurements, figure: "Figure") -> None:
    figure.set_size_inches(9.6, 6.0)
    axes = figure.subplots(2, 3, sharey=True)
    for ax, scenario in zip(axes.flat, SCENARIOS, strict=True):
        _draw_scenario(ax, found.where(scenario=scenario))
        ax.set_title(scenario)
        if scenario in TEMPERED:
            ax.set_xscale("log", base=2)
            ax.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
            ax.minorticks_off()
            ax.set_xlabel("τ: generated ∝ real$^τ$ (wider < 1 < narrower)")
        else:
            ax.set_xlabel("strength: share of mass concerned")
    for ax in axes[:, 0]:
        ax.set(ylabel="summary of the curve", ylim=(0, 1.03))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _draw_scenario(ax: "Axes", found: Measurements) -> None:
    """Draw true summaries as lines, estimated ones as dots."""
    strengths = found.parameter("strength")
    for summary, (label, color, style) in SHOWN.items():
        true, estimated = (
            [found.where(strength=s).mean(f"{kind} {summary}") for s in strengths]
            for kind in ("true", "estimated")
        )
        ax.plot(strengths, true, ls=style, color=color, label=label, lw=1.6)
        face = color if style == "-" else "white"
        ax.plot(strengths, estimated, "o", color=color, mfc=face, ms=4)


EXPERIMENT = Experiment(
    name="summaries",
    title="Two numbers for a curve: F-scores and the PR median",
    where="000 §5.1",
    caption="Lines: from the true curve; dots: estimated by coverage. Under pure dropping and "
    "invention all summaries tell the missing share (the median exactly, F nearly). Under "
    "re-weighting F hardly moves until a mode has almost vanished, while the median falls at once. "
    "Tempering (as truncation or guidance do) costs recall when generated is narrower and "
    "precision when it is wider; in a mixture it also re-weights, which the median adds.",
    quick_seconds=10,
    full_seconds=110,
    cells=_cells,
    measure=_measure,
    compare=_compare,
    draw=_draw,
)
