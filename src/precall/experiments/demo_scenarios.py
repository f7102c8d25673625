"""The tutorial's demonstration: ideal, collapsed and noisy generators."""

import math
from itertools import product

import numpy as np

from precall.curves.pr_curve import Floats
from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.scoring import evaluate_quietly
from precall.report.plots import COLORS, PRECISION_MEANS, RECALL_MEANS

N, DIMENSION, SEED = 5000, 128, 42
CENTERS = np.array([[-2.0, -2.0], [-2.0, 2.0], [2.0, -2.0], [2.0, 2.0]])
SPREAD, NOISE = 0.5, 2.0
NEIGHBOR_COUNTS = (1, 3, 5, 10, 20)
SCENARIOS = ("ideal", "collapse", "noisy", "noisier")
TUTORIAL = "the tutorial's"  # samples, from its own seed

# The page shows no numbers. These are what its programs print when they are run with its seed:
# improved precision and recall, density and coverage, and the "basic" precision and recall.
PRINTED = {
    "ideal": (0.9790, 0.9778, 0.9966, 0.9696, 0.9382, 0.9318),
    "collapse": (0.9772, 0.2466, 1.0050, 0.2500, 0.9302, 0.2374),
    "noisy": (0.5018, 0.9870, 0.3891, 0.5674, 0.4638, 0.9536),
}
IMPROVED = ("precision_k3", "recall_k3")
PRDC = (*IMPROVED, "density_k5", "coverage_k5")
PRINTED_SCORES = (*PRDC, "nearest_precision_k3", "nearest_recall_k3")
# The tutorial's matrix of diagnoses, and how ours begins in the same case.
DIAGNOSES = {
    "ideal": ("Excellent generation", "The two distributions are hard to tell apart"),
    "collapse": ("Mode collapse detected", "High support precision, low recall at ½"),
    "noisy": ("Low quality but good coverage", "Low support precision"),
}
QUADRANTS = ("mode collapse", "ideal", "failure", "low fidelity")  # of precision and recall


def _same_distance_noise() -> float:
    """Return the noise whose Fréchet distance from real is that of collapse, in closed form.

    Real has variance 4 + .5² in each of two directions; collapse moves the mean by (2, 2).
    """
    real = math.sqrt(4 + SPREAD**2)
    collapse = 8 + 2 * (real - SPREAD) ** 2
    return math.sqrt((real + math.sqrt(collapse / 2)) ** 2 - 4)


def _samples(rng: "np.random.Generator | np.random.RandomState") -> dict[str, Floats]:
    """Draw real and the generators in the tutorial's order; two features vary, the rest are 0."""

    def clusters(spread: float) -> Floats:
        parts = [rng.standard_normal((N // 4, 2)) * spread + center for center in CENTERS]
        return np.concatenate(parts)

    sets = {
        "real": clusters(SPREAD),
        "ideal": clusters(SPREAD),
        "collapse": rng.standard_normal((N, 2)) * SPREAD + CENTERS[0],
        "noisy": clusters(NOISE),
        "noisier": clusters(_same_distance_noise()),
    }
    return {name: np.pad(rows, ((0, 0), (0, DIMENSION - 2))) for name, rows in sets.items()}


def _cells(size: Size) -> list[Cell]:
    draws = [TUTORIAL, *range(size.n_repeats(quick=1, full=10))]
    return [{"scenario": name, "draw": draw} for draw in draws for name in SCENARIOS]


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Evaluate one generator: all scores at several k, curves, and a diagnosis in words."""
    sets = _samples(np.random.RandomState(SEED) if cell["draw"] == TUTORIAL else rng)
    result = evaluate_quietly(
        (sets["real"], sets[cell["scenario"]]),
        scores=[*(score.partition("_k")[0] for score in PRINTED_SCORES), "frechet_distance"],
        score_k=NEIGHBOR_COUNTS,
        headline=True,
        seed=int(rng.integers(2**31)),
    )
    values: Values = {name: score.value for name, score in result.scores.items()}
    values |= {"diagnosis": result.diagnosis()[0], "curve": plots.points(result.curves["coverage"])}
    return values


def _compare(found: Measurements) -> Rows:
    for scenario, printed in PRINTED.items():
        here = found.where(scenario=scenario, draw=TUTORIAL)
        for score, published in zip(PRINTED_SCORES, printed, strict=True):
            note = "what its program prints when it is run; agrees within one sample"
            what = f"{scenario}: {_in_words(score)}"
            yield here.row_against(what, published, score, tolerance=1 / N, note=note)
    for scenario in DIAGNOSES:
        yield from _diagnoses(found.where(scenario=scenario), scenario)
    yield from _advice(found)
    for scenario, fresh in found.without(draw=TUTORIAL).by("scenario"):
        for score in (*PRDC, "frechet_distance"):
            yield fresh.row(f"{scenario}, fresh samples: {_in_words(score)}", score)


def _in_words(score: str) -> str:
    name, _, k = score.partition("_k")
    return name.replace("_", " ") + f", k = {k}" * bool(k)


def _tutorial_diagnosis(found: Measurements) -> str:
    """Apply the tutorial's thresholds ("comprehensive evaluation")."""
    precision, recall = (found.mean(score) for score in IMPROVED)
    if found.mean("frechet_distance") < 20 and precision > 0.7 and recall > 0.7:
        return "Excellent generation"
    if precision > 0.7 and recall < 0.5:
        return "Mode collapse detected"
    if precision < 0.5 and recall > 0.7:
        return "Low quality but good coverage"
    return "Needs improvement"


def _diagnoses(found: Measurements, scenario: str) -> Rows:
    """Check that the tutorial's thresholds and our words tell what is wrong."""
    here = found.where(draw=TUTORIAL)
    theirs, ours = _tutorial_diagnosis(here), str(here[0].values["diagnosis"])
    expected, beginning = DIAGNOSES[scenario]
    precision, everywhere = here.mean("precision_k3"), found.mean("precision_k3")
    yield Row.claim(
        f"{scenario}: the tutorial's thresholds say “{expected}”",
        theirs,
        holds=theirs == expected,
        reason=f"precision {precision:.3f} is not below the threshold of .5 (mean over all draws "
        f"{everywhere:.3f}); at k = 1 it would be {here.mean('precision_k1'):.2f}",
    )
    what = f"{scenario}: diagnosis() begins with “{beginning}”"
    yield Row.claim(what, ours, holds=ours.startswith(beginning))


def _advice(found: Measurements) -> Rows:
    """Test why the tutorial wants two numbers instead of one, and its choice of k."""
    keys = ("frechet_distance", *IMPROVED)
    collapse, noisier = (
        [found.where(scenario=name).mean(key) for key in keys] for name in ("collapse", "noisier")
    )
    shown = "{}: FID {:.1f}, P {:.2f}, R {:.2f}".format
    yield Row.claim(
        "the same FID hides opposite failures",
        f"{shown('collapse', *collapse)}; {shown('noisier', *noisier)}",
        holds=abs(collapse[0] - noisier[0]) < 0.05 * collapse[0]
        and min(collapse[1], noisier[2]) > 0.9
        and max(noisier[1], collapse[2]) < 0.35,
        note=f"noise of {_same_distance_noise():.2f} instead of 2; holds if the distances agree "
        "within 5 %, the high values exceed .9 and the low ones stay below .35",
    )
    by_k = {k: found.where(scenario="noisy").mean(f"precision_k{k}") for k in NEIGHBOR_COUNTS}
    yield Row.claim(
        "k = 3 is a robust choice (noisy: precision)",
        ", ".join(f"{value:.2f} at {k}" for k, value in by_k.items()),
        holds=max(abs(by_k[k] - by_k[3]) for k in (1, 5)) < 0.05,
        note="holds if k = 1 and 5 give the same within .05; the union of balls grows with k",
    )


def _draw(found: Measurements, figure: plots.Figure) -> None:
    figure.set_size_inches(9.6, 4.2)
    scatter, curves, sensitivity = figure.subplots(1, 3)
    for (name, here), color in zip(found.by("scenario"), COLORS, strict=False):
        precision, recall = (here.values(score) for score in IMPROVED)
        scatter.plot(recall, precision, "o", color=color, label=name, alpha=0.7)
        plots.mean_curve(curves, here, "curve", color=color, label=name)
        for score, style in (("precision", "-"), ("recall", "--")):
            means = [here.mean(f"{score}_k{k}") for k in NEIGHBOR_COUNTS]
            sensitivity.plot(NEIGHBOR_COUNTS, means, ls=style, marker="o", ms=3, color=color)
    for word, (y, x) in zip(QUADRANTS, product((0.75, 0.25), (0.25, 0.75)), strict=True):
        scatter.text(x, y, word, ha="center", va="center", color="0.6")
    scatter.axhline(0.5, color="0.8", lw=0.8)
    scatter.axvline(0.5, color="0.8", lw=0.8)
    plots.pr_axes(scatter, "improved precision and recall, k = 3")
    scatter.set(xlabel=RECALL_MEANS, ylabel=PRECISION_MEANS)
    plots.pr_axes(curves, "coverage curves, k = √n, split")
    sensitivity.set(xscale="log", xlabel="k: number of neighbours", ylim=(0, 1.02), box_aspect=1)
    sensitivity.set_xticks(NEIGHBOR_COUNTS, [str(k) for k in NEIGHBOR_COUNTS])
    sensitivity.minorticks_off()
    sensitivity.set_title("precision (solid) and recall (dashed)")
    plots.legend_outside(figure, scatter)


EXPERIMENT = Experiment(
    name="demo-scenarios",
    title="The tutorial's generators: ideal, collapsed, noisy",
    where="The tutorial, demonstration and best practices",
    caption="Four clusters in two of 128 features, n = 5 000. Collapse keeps precision and loses "
    "recall, noise the reverse; “noisier” is as far from real by Fréchet distance as collapse, and "
    "lies in the opposite quadrant. Improved precision and recall grow with k; the curves show "
    "that noise also costs recall as soon as it is asked for together with precision.",
    seconds=(8, 45),
    steps=Steps(_cells, _measure, _compare, _draw),
)
