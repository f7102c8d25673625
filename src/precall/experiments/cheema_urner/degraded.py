"""Noise, down-sampling and blur (Cheema & Urner 2023 §4.2, Figure 4): precision must fall.

What their figures call PC is the recall cover of their Definition 2: their program swaps the names.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.real_data.datasets import CIFAR, available, load
from precall.experiments.scoring import evaluate_quietly
from precall.report.plots import COLORS

Pictures = NDArray[np.float64]  # (n, side, side), from 0 to 1
PC = "recall_cover"  # in the figures
SCORES = (PC, "precision", "density", "precision_cover")
HEADLINE = "support_precision"
_CLEAR = 0.02


def noisy(pictures: Pictures, level: float, rng: np.random.Generator) -> Pictures:
    """Add Gaussian noise of a standard deviation."""
    return np.clip(pictures + rng.normal(0, level, pictures.shape), 0, 1)


def down_sampled(pictures: Pictures, level: float, _rng: np.random.Generator) -> Pictures:
    """Replace each square of pixels by its mean; squares at the edge may be smaller."""
    side, square = pictures.shape[1], round(level)
    found = np.empty_like(pictures)
    for top in range(0, side, square):
        for left in range(0, side, square):
            part = (slice(None), slice(top, top + square), slice(left, left + square))
            found[part] = pictures[part].mean(axis=(1, 2), keepdims=True)
    return found


def blurred(pictures: Pictures, level: float, _rng: np.random.Generator) -> Pictures:
    """Smooth by a Gaussian of a standard deviation in pixels."""
    from scipy.ndimage import gaussian_filter

    return np.asarray(gaussian_filter(pictures, (0, level, level))) if level else pictures


_WAYS: dict[str, Callable[[Pictures, float, np.random.Generator], Pictures]] = {
    "noise": noisy,
    "down-sampling": down_sampled,
    "blur": blurred,
}
_LEVELS: dict[str, tuple[float, ...]] = {
    "noise": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5),
    "down-sampling": (1, 2, 3, 4, 7),
    "blur": (0.0, 0.4, 0.7, 1.0, 1.5, 2.0),
}


def _cells(size: Size) -> list[Cell]:
    names = size.pick(quick=available()[:1], full=[n for n in available() if n != CIFAR])
    cells = []
    for name in names:
        for way, levels in _LEVELS.items():
            chosen = size.pick(quick=levels[::2], full=levels)
            cells += [{"data": name, "way": way, "level": level} for level in chosen]
    return size.repeat(cells, quick=1, full=1)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Compare one half of the pictures with the other, degraded; pixels are the features."""
    real, other = (part.pixels.astype(np.float64) / 255 for part in load(cell["data"]))
    degraded = _WAYS[cell["way"]](other, cell["level"], rng)
    samples = real.reshape(len(real), -1), degraded.reshape(len(other), -1)
    result = evaluate_quietly(samples, estimators=(), scores=list(SCORES), headline=True, seed=0)
    return {name: result.scores[name].value for name in (*SCORES, HEADLINE)}


def _compare(found: Measurements) -> Rows:
    for data, way, here in found.by("data", "way"):
        ends = {name: here.along("level", name)[1] for name in (*SCORES, HEADLINE)}
        claimed = {name: ends[name] for name in (PC, "precision", "density")}
        yield Row.claim(
            f"{data}: PC, improved precision and density fall with {way}",
            ", ".join(f"{name} {v[0]:.2f} to {v[-1]:.2f}" for name, v in claimed.items()),
            holds=all(values[-1] < values[0] - _CLEAR for values in claimed.values()),
            note="PC is the recall cover of Definition 2",
        )
        for name in (HEADLINE, "precision_cover"):
            yield Row.new(f"{data}: {name} at the last level of {way}", ends[name][-1])
        improved, cover = float(np.mean(ends["precision"])), float(np.mean(ends[PC]))
        yield Row.claim(
            f"{data}, {way}: improved precision accepts more than PC",
            f"{improved:.2f} and {cover:.2f} on average",
            holds=improved > cover,
            note="PC is the recall cover of Definition 2",
        )


def _draw(found: Measurements, figure: plots.Figure) -> None:
    names, ways = found.parameter("data"), found.parameter("way")
    figure.set_size_inches(9.6, 3.2 * len(names))
    axes = figure.subplots(len(names), len(ways), squeeze=False, sharey=True)
    for row, data in zip(axes, names, strict=True):
        for ax, way in zip(row, ways, strict=True):
            here = found.where(data=data, way=way)
            for name, color in zip((*SCORES, HEADLINE), COLORS, strict=False):
                label = name.replace("_", " ")
                ax.plot(*here.along("level", name), "o-", ms=3, color=color, label=label)
            ax.set(title=f"{data}: {way}", ylim=(0, 1.3), xlabel="level")
    plots.legend_outside(figure, axes[0, 0])


EXPERIMENT = Experiment(
    name="degraded",
    title="Noise, down-sampling and blur",
    where="Cheema & Urner 2023 §4.2, Figure 4, on handwritten digits and what --data holds",
    caption="One half of the pictures against the other half, degraded more and more. Levels are "
    "the deviation of the noise, the side of squares and the deviation of the blur in pixels.",
    seconds=(10, 120),
    steps=Steps(_cells, _measure, _compare, _draw),
)
