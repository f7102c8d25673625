"""A variational autoencoder in training, and truncated (Cheema & Urner 2023, Figures 2 and 5).

Theirs are an autoencoder of MNIST and StyleGAN of faces; here both are a small autoencoder,
trained on the spot. What their figures call PC and RC are the recall and the precision cover of
their Definition 2: their program swaps the names.
"""

import numpy as np

from precall.experiments import plots
from precall.experiments.base import Cell, Experiment, Measurements, Row, Rows, Size, Steps, Values
from precall.experiments.real_data.datasets import CIFAR, available, load
from precall.experiments.real_data.vae import Autoencoder
from precall.experiments.scoring import scores_at
from precall.report.plots import COLORS

TRAINING, TRUNCATION = "training", "truncation"
PC, RC = "recall_cover", "precision_cover"  # in the figures
_K_OF = {
    "precision_cover": 3,
    "recall_cover": 3,
    "precision": 3,
    "recall": 3,
    "density": 5,
    "coverage": 5,
}
_SHOWN = {
    TRAINING: (PC, "precision", "density", RC),
    TRUNCATION: (PC, RC, "precision", "recall"),
}
_EXPECTED = {  # as truncation is lifted
    PC: ("PC", -1),
    "precision": ("improved precision", -1),
    RC: ("RC", 1),
    "recall": ("improved recall", 1),
}
_CLEAR = 0.02  # of a change of a score


def _cells(size: Size) -> list[Cell]:
    names = size.pick(quick=available()[:1], full=[n for n in available() if n != CIFAR])
    steps = size.pick(quick=(0, 100, 1000), full=(0, 100, 300, 1000, 2000, 4000))
    factors = size.pick(quick=(0.3, 0.6, 1.0), full=(0.2, 0.4, 0.6, 0.8, 1.0))
    cells: list[Cell] = []
    for name in names:
        cells += [{"part": TRAINING, "data": name, "value": n} for n in steps]
        cells += [
            {"part": TRUNCATION, "data": name, "value": f, "steps": steps[-1]} for f in factors
        ]
    return size.repeat(cells, quick=1, full=1)


def _measure(cell: Cell, rng: np.random.Generator) -> Values:
    """Train on one part, compare what is drawn with the other; pixels are the features."""
    train, test = (part.flat().astype(np.float64) for part in load(cell["data"]))
    is_truncated = cell["part"] == TRUNCATION
    # The same autoencoder in every cell of a repetition.
    seeded = np.random.default_rng((cell["repeat"], 7))
    model = Autoencoder.fresh(train.shape[1], seeded)
    loss = model.train(train, cell["steps"] if is_truncated else cell["value"], seeded)
    drawn = model.draw(len(test), rng, cell["value"] if is_truncated else 1.0)
    found = scores_at((test, drawn), _K_OF)
    return found | {"loss": loss, "picture": _some(drawn)}


def _some(drawn: np.ndarray) -> list[list[float]]:
    """Keep a few pictures for the figure."""
    return [[round(float(value), 2) for value in picture] for picture in drawn[:4]]


def _compare(found: Measurements) -> Rows:
    for data, here in found.where(part=TRAINING).by("data"):
        steps, cover = here.along("value", PC)
        _, improved = here.along("value", "precision")
        yield Row.claim(
            f"{data}: PC grows in training",
            _ends(steps, cover, "step"),
            holds=cover[-1] > cover[0] + _CLEAR,
        )
        yield Row.claim(
            f"{data}: improved precision stays 1 whatever the quality",
            _ends(steps, improved, "step"),
            holds=min(improved) > 1 - _CLEAR,
            reason="what an untrained autoencoder draws lies in no ball of real",
        )
        _, density = here.along("value", "density")
        yield Row.claim(
            f"{data}: density is not bounded by 1",
            f"largest {max(density):.2f}",
            holds=max(density) > 1,
        )
    for data, here in found.where(part=TRUNCATION).by("data"):
        factors, _ = here.along("value", "precision")
        for name, (what, sign) in _EXPECTED.items():
            _, values = here.along("value", name)
            word = "falls" if sign < 0 else "grows"
            yield Row.claim(
                f"{data}: {what} {word} as truncation is lifted",
                _ends(factors, values, "ψ ="),
                holds=sign * (values[-1] - values[0]) > _CLEAR,
                reason="by Definition 2 it is a recall, and grows as one" if name == PC else "",
            )


def _ends(places: list[float], values: list[float], word: str) -> str:
    return f"{values[0]:.2f} at {word} {places[0]:g}, {values[-1]:.2f} at {word} {places[-1]:g}"


def _draw(found: Measurements, figure: plots.Figure) -> None:
    names = found.parameter("data")
    figure.set_size_inches(9.6, 3.4 * len(names))
    axes = figure.subplots(len(names), 3, squeeze=False, width_ratios=[1, 1, 0.9])
    for row, data in zip(axes, names, strict=True):
        here = found.where(data=data)
        for ax, part in zip(row, (TRAINING, TRUNCATION), strict=False):
            for name, color in zip(_SHOWN[part], COLORS, strict=False):
                line = here.where(part=part).along("value", name)
                ax.plot(*line, "o-", ms=3, color=color, label=name.replace("_", " "))
            ax.set(ylim=(0, 1.5 if part == TRAINING else 1.02), title=f"{data}: {part}")
            ax.legend(frameon=False, fontsize=7)
        row[0].set_xlabel("step")
        row[1].set_xlabel("ψ")
        _draw_pictures(row[2], here.where(part=TRAINING))


def _draw_pictures(ax: plots.Axes, here: Measurements) -> None:
    """Show what is drawn in training, one row a cell."""
    rows = []
    for one in here:
        pictures = np.array(one.values["picture"])
        side = round(pictures.shape[1] ** 0.5)
        rows.append(np.concatenate(list(pictures.reshape(-1, side, side)), axis=1))
    ax.imshow(np.concatenate(rows), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title("drawn in training", fontsize=8)
    ax.axis("off")


EXPERIMENT = Experiment(
    name="vae",
    title="An autoencoder in training, and truncated",
    where="Cheema & Urner 2023 §4.2, Figures 2 and 5, with an autoencoder trained here",
    caption="Left: scores of what an autoencoder draws, over its training. Middle: drawn nearer to "
    "the middle of the latent space, ψ = 1 is the whole: fidelity is bought with diversity.",
    seconds=(15, 150),
    steps=Steps(_cells, _measure, _compare, _draw),
)
