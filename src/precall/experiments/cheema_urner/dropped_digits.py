"""Digits dropped one by one (Cheema & Urner 2023 §4.2, Figure 3, appendix B.4).

What their figures call RC is the precision cover of their Definition 2: their program swaps the
names.
"""

import numpy as np

from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.real_data.datasets import CIFAR, available, load, rows_of
from precall.experiments.scoring import evaluate_quietly
from precall.report.plots import COLORS

RC = "precision_cover"  # in the figures
SCORES = (RC, "recall", "coverage", "recall_cover")
HEADLINE = "recall_at_half"
_STEP = 0.1  # of recall, a digit


def _cells(size: Size) -> list[Cell]:
    dropped = size.pick(quick=(0, 3, 6, 9), full=range(10))
    names = size.pick(quick=available()[:1], full=[n for n in available() if n != CIFAR])
    cells = [{"data": name, "dropped": n} for name in names for n in dropped]
    return size.repeat(cells, quick=1, full=2)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Sample real from all digits, generated from those that are left, as many of each."""
    parts = load(cell["data"])
    rows = rows_of(cell["data"], parts)
    left = rng.permutation(10)[cell["dropped"] :]  # digits in random order, dropped from the front
    kept = np.flatnonzero(np.isin(parts[1].labels, left))
    n = min(len(rows[0]), len(kept))
    drawn = rng.choice(len(rows[0]), n, replace=False)
    samples = rows[0][drawn], rows[1][rng.choice(kept, n, replace=False)]
    result = evaluate_quietly(samples, estimators=(), scores=list(SCORES), headline=True, seed=0)
    found = {name: result.scores[name].value for name in (*SCORES, HEADLINE)}
    truth = float(np.isin(parts[0].labels[drawn], left).mean())
    return found | {"n": n, "truth": truth}


def _compare(found: Measurements) -> Rows:
    for data, here in found.by("data"):
        for name in (*SCORES, HEADLINE):
            dropped, values = here.along("dropped", name)
            slope = float(np.polyfit(dropped, values, 1)[0])
            yield Row.new(f"{data}: {name} a dropped digit", slope)
        for name, what in ((RC, "RC"), ("recall", "improved recall")):
            dropped, values = here.along("dropped", name)
            slope = -float(np.polyfit(dropped, values, 1)[0])
            yield Row.claim(
                f"{data}: {what} drops by about 10 % with each digit",
                f"{100 * slope:.1f} % a digit",
                holds=abs(slope - _STEP) < 0.02,
                note="holds within 2 points; RC is the precision cover of Definition 2",
            )
        dropped, values = here.along("dropped", "coverage")
        early = [value for n, value in zip(dropped, values, strict=True) if n <= 6]
        yield Row.claim(
            f"{data}: coverage is almost constant until two thirds are dropped",
            f"from {early[0]:.2f} to {early[-1]:.2f}",
            holds=early[0] - early[-1] < 0.1,
            reason="balls around real samples of a dropped digit hold no generated one",
        )


def _draw(found: Measurements, figure: plots.Figure) -> None:
    names = found.parameter("data")
    figure.set_size_inches(9.6, 4.0)
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for ax, (data, here) in zip(axes, found.by("data"), strict=True):
        for name, color in zip((*SCORES, HEADLINE), COLORS, strict=False):
            ax.plot(*here.along("dropped", name), "o-", ms=3, color=color, label=_label(name))
        dropped = here.parameter("dropped")
        ax.plot(dropped, [1 - n / 10 for n in dropped], "k--", lw=1, label="truth")
        ax.set(title=data, xlabel="digits dropped", ylim=(0, 1.02))
    axes[0].set_ylabel("score")
    plots.legend_outside(figure, axes[0])


def _label(name: str) -> str:
    return name.replace("_", " ")


EXPERIMENT = Experiment(
    name="dropped-digits",
    title="Digits dropped one by one",
    where="Cheema & Urner 2023 §4.2, Figure 3, on handwritten digits and what --data holds",
    caption="Of ten equally frequent digits, generated lacks more and more; the truth is dashed.",
    seconds=(10, 120),
    steps=Steps(_cells, _measure, _compare, _draw),
)
