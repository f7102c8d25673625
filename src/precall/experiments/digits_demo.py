"""The demonstration: handwritten digits, and generators that fail in the three classic ways."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from precall.errors import PrecallWarning
from precall.evaluation.compare import compare
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation
from precall.results.tables import Table, score_value, significant
from precall.runtime.output_files import replacing
from precall.scores import HEADLINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Images = NDArray[np.float32]  # (n, 64): 8 × 8 pixels from 0 to 16

_CURVE = "coverage"  # recommended by Sykes et al. 2024 §6
_SIDE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """What the demonstration found, and the files it left."""

    comparison: Comparison
    picture: Path
    document: Path
    report: Path

    @property
    def results(self) -> Mapping[str, Evaluation]:
        """By generator."""
        return self.comparison.results

    @property
    def n_real(self) -> int:
        """Number of real digits."""
        return next(iter(self.results.values())).protocol.n

    def __str__(self) -> str:
        rows = []
        for name, result in self.results.items():
            scores = [
                score_value(result.scores[score], significant, with_interval=True)
                for score in HEADLINE
            ]
            moved = "" if result.best_curve is None else f"{result.best_curve.total_variation:.3f}"
            rows.append([name, *scores, moved])
        headings = [name.replace("_", "\n", 1).replace("_", " ") for name in HEADLINE]
        return Table("Headline", ["generator", *headings, "total\nvariation"], rows).to_text()


def digit_generators(seed: int = 0) -> tuple[Images, dict[str, Images]]:
    """Return real handwritten digits, and what four imagined generators would make of them.

    scikit-learn carries 1 797 scans. A third of them are real; the generators draw on the rest, as
    many each, so that none can copy. ``perfect`` shows what is there, ``drops 7, 8 and 9`` never
    draws these digits, ``invents blurs`` replaces three in ten by a blend of two different digits,
    and ``re-weights`` draws four even digits out of five and one odd digit out of five.
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    images, labels = images[order].astype(np.float32), labels[order]
    third = len(images) // 3
    real, pool, digit = images[:third], images[third:], labels[third:]

    blurred = pool.copy()
    chosen = rng.choice(len(pool), size=round(0.3 * len(pool)), replace=False)
    for i in chosen:
        other = rng.choice(np.flatnonzero(digit != digit[i]))
        blurred[i] = (pool[i] + pool[other]) / 2

    kept = rng.random(len(pool)) < np.where(digit % 2 == 0, 0.8, 0.2)
    generators = {
        "perfect": pool,
        "drops 7, 8 and 9": pool[digit < 7],
        "invents blurs": blurred,
        "re-weights": pool[kept],
    }
    as_many = min(map(len, generators.values()))  # in random order, so that the first will do
    return real, {name: drawn[:as_many] for name, drawn in generators.items()}


def run_demo(folder: Path, *, progress: bool = False) -> Demo:
    """Compare the generators; write a report, a JSON document and a picture of all curves."""
    folder.mkdir(parents=True, exist_ok=True)
    real, generators = digit_generators()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecallWarning)  # few samples: the report says so
        comparison = compare(real, generators, modes="auto", progress=progress)
    demo = Demo(comparison, folder / "curves.png", folder / "demo.json", folder / "report.html")
    comparison.to_json(demo.document)
    comparison.to_html(
        demo.report,
        title="How four generators of digits fail",
        images_real=_pixels(real),
        images_generated={name: _pixels(drawn) for name, drawn in generators.items()},
    )
    _write_picture(demo, generators)
    return demo


def run_picture_demo(folder: Path, features: object, *, progress: bool = False) -> Demo:
    """Do the same from pictures on: write them to folders, extract features, compare."""
    real, generators = digit_generators()
    sets = {"real": real, **generators}
    for name, images in sets.items():
        _write_files(folder / "pictures" / name, images)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecallWarning)  # few samples: the report says so
        comparison = compare(
            folder / "pictures" / "real",
            {name: folder / "pictures" / name for name in generators},
            features=features,
            modes="auto",
            progress=progress,
        )
    demo = Demo(comparison, folder / "curves.png", folder / "demo.json", folder / "report.html")
    comparison.to_json(demo.document)
    comparison.to_html(demo.report, title="How four generators of pictures of digits fail")
    _write_picture(demo, generators)
    return demo


def _write_files(folder: Path, images: Images) -> None:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for row, pixels in enumerate(np.round(255 * _pixels(images)).astype(np.uint8)):
        Image.fromarray(pixels).resize((64, 64), Image.Resampling.NEAREST).save(
            folder / f"{row:04d}.png"
        )


def _write_picture(demo: Demo, generators: Mapping[str, Images]) -> None:
    figure = _draw(demo.results, generators)
    with replacing(demo.picture) as temporary:
        figure.savefig(temporary, dpi=150)


def _pixels(images: Images) -> Images:
    """Dark ink on white, from 0 to 1."""
    return np.float32(1) - images.reshape(-1, _SIDE, _SIDE) / np.float32(16)


def _draw(results: Mapping[str, Evaluation], generators: Mapping[str, Images]) -> "Figure":
    """Draw the curves of all generators beside a few of the images each produced."""
    from matplotlib.figure import Figure

    colors = ["#000000", "#0072b2", "#d55e00", "#009e73"]  # told apart by the colour-blind
    styles = ["--", "-", "-", "-"]
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    ((left, right),) = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.15, 1])
    ax = left.subplots()
    for (name, result), color, style in zip(results.items(), colors, styles, strict=True):
        result.curves[_CURVE].plot(ax, label=name, color=color, ls=style, lw=2)
    ax.set_title("How four generators of digits fail")
    ax.legend(loc="lower left", frameon=False)
    rows = right.subplots(len(generators), 1, squeeze=False)
    for (row,), (name, images), color in zip(rows, generators.items(), colors, strict=True):
        row.imshow(_contact_sheet(images), cmap="gray_r")
        row.set_title(name, color=color, loc="left", fontsize=10)
        row.axis("off")
    return figure


def _contact_sheet(images: Images) -> Images:
    """Lay twenty images out in two rows, with a margin."""
    shown = np.pad(images[:20].reshape(2, 10, _SIDE, _SIDE), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return shown.transpose(0, 2, 1, 3).reshape(2 * (_SIDE + 2), -1)
