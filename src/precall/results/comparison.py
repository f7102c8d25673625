"""Several models against the same real samples, and whether their differences mean anything."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from precall.data.feature_sets import FeatureSet
from precall.errors import InputError
from precall.evaluation.flow import evaluate_sets
from precall.evaluation.settings import Settings
from precall.evaluation.workbench import open_workbench
from precall.results.evaluation import FORMAT_VERSION, Evaluation
from precall.results.json_format import parse, read_finite
from precall.runtime.output_files import write_text
from precall.runtime.written_calls import python_call
from precall.uncertainty.bands import SUMMARIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "Difference", "compare"]

_COMPARED_SUMMARIES = ("f_1_8", "f_8", "area")


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of one model less that of another."""

    what: str  # the score, or the curve and its summary
    first: str  # model
    second: str  # model
    value: float
    interval: tuple[float, float] | None  # None where there is none

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The result of :func:`precall.compare`."""

    results: Mapping[str, Evaluation]  # by model
    differences: tuple[Difference, ...]

    def ranking(self, score: str) -> list[str]:
        """Return the models, the highest score first; at equal scores in the order given."""
        for name, result in self.results.items():
            if score not in result.scores:
                raise InputError(f"score {score!r} was not computed for {name!r}.")
        return sorted(self.results, key=lambda name: -self.results[name].scores[score].value)

    def dominated(self, curve: str | None = None) -> list[tuple[str, str]]:
        """Return pairs of models of which the first is as good at every λ, and better at some.

        Parameters
        ----------
        curve
            Name of a curve; by default the best curve of each model.
        """
        curves = {
            name: result.best_curve if curve is None else result.curves[curve]
            for name, result in self.results.items()
        }
        return [
            (a, b)
            for a, of_a in curves.items()
            for b, of_b in curves.items()
            if a != b and of_a is not None and of_b is not None and of_a.dominates(of_b)
        ]

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return all results and differences as a JSON document; write it if a path is given."""
        document = {
            "format_version": FORMAT_VERSION,
            "results": {
                name: json.loads(result.to_json()) for name, result in self.results.items()
            },
            "differences": [
                {
                    "what": d.what,
                    "first": d.first,
                    "second": d.second,
                    "value": d.value,
                    "interval": d.interval,
                }
                for d in self.differences
            ],
        }
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        if path is not None:
            write_text(Path(path), text)
        return text

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a comparison back from a JSON document or from the path of one."""
        document = parse(source)
        try:
            results = {
                name: Evaluation.from_json(json.dumps(entry))
                for name, entry in document["results"].items()
            }
            differences = tuple(_difference(entry, results) for entry in document["differences"])
            if not results or document["format_version"] != FORMAT_VERSION:
                raise TypeError(f"expected models and format_version {FORMAT_VERSION}")
        except InputError:
            raise
        except (ArithmeticError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"this is not a comparison of precall: {error!r:.200}.") from error
        return cls(results, differences)

    def __repr__(self) -> str:
        from tabulate import tabulate

        first = next(iter(self.results.values()))
        p = first.protocol
        title = f"{len(self.results)} models against {p.n} real samples, {p.m} samples each"
        rows = [
            [score, *(_cell(result.scores[score]) for result in self.results.values())]
            for score in first.scores
        ]
        rows += [
            [
                f"{name} curve, {label}",
                *(self._summary(r, name, key) for r in self.results.values()),
            ]
            for name in first.curves
            for key, label in (("f_1_8", "F 1/8"), ("f_8", "F 8"))
        ]
        table = tabulate(rows, ["", *self.results], "simple", disable_numparse=True)
        return "\n\n".join([title, table, "\n".join(self.verdicts())])

    def verdicts(self, *, brief: bool = False) -> list[str]:
        """Say in words which models differ, and which is as good as another everywhere.

        Parameters
        ----------
        brief
            Whether to count the differences instead of naming them.
        """
        describe = _count if brief else _verdict
        pairs = combinations(self.results, 2) if self.differences else ()
        lines = [describe(a, b, self._between(a, b)) for a, b in pairs]
        return lines + [f"{a} is as good as {b} at every trade-off." for a, b in self.dominated()]

    def to_html(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        images_real: object = None,
        images_generated: Mapping[str, object] | None = None,
    ) -> None:
        """Write a page about all models; see :meth:`precall.Evaluation.to_html`.

        Parameters
        ----------
        images_generated
            Pictures of the generated samples, by model.
        """
        from precall.report.page import Pictures, write_page

        write_page(
            path,
            self.results,
            title=title,
            differences=self.differences,
            pictures=Pictures(images_real, images_generated),
        )

    def _between(self, first: str, second: str) -> list[Difference]:
        return [d for d in self.differences if (d.first, d.second) == (first, second)]

    @staticmethod
    def _summary(result: Evaluation, curve: str, key: str) -> str:
        value = SUMMARIES[key](result.curves[curve])
        if curve not in result.bands:
            return f"{value:.3f}"
        low, high = result.bands[curve].summaries[key]
        return f"{value:.3f} ± {(high - low) / 2:.3f}"

    def plot(self, ax: "Axes | None" = None, *, curve: str | None = None) -> "Axes":
        """Draw one curve of every model in one picture: the best one, or that of an estimator."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
        for name, result in self.results.items():
            chosen = result.best_curve if curve is None else result.curves[curve]
            if chosen is not None:
                chosen.plot(ax, label=name)
        return ax


def compare(
    real: object,
    models: Mapping[str, object],
    *,
    subsample: bool = False,
    seed: int = 0,
    engine: str = "auto",
    **options: Any,
) -> Comparison:
    """Evaluate several models against the same real samples.

    Differences are paired: the real samples are divided alike for all models, so that what is due
    to them cancels, and intervals of differences are narrower than those of either score suggest.

    Parameters
    ----------
    real
        Features of real samples.
    models
        Features of generated samples, by the name of the model.
    subsample
        Scores depend on the number of samples, so models with unequal numbers are refused unless
        random subsets of the larger ones may be used.
    seed, engine, **options
        As in :func:`precall.evaluate`; intervals are on.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, good, bad = rng.normal(0, 1, (3, 1000, 8)) + np.array([0, 0, 1]).reshape(3, 1, 1)
    >>> both = precall.compare(real, {"good": good, "bad": bad}, estimators=["knn"])
    >>> both.ranking("coverage"), both.dominated()
    (['good', 'bad'], [('good', 'bad')])
    """
    call = python_call(compare, locals())
    sets = _as_models(models, subsample=subsample, seed=seed)
    reference = FeatureSet.of(real, "real")
    threads, progress = options.pop("threads", None), options.pop("progress", False)
    settings = Settings.of(seed=seed, **{"intervals": True, **options})
    results = {}
    with open_workbench(engine, threads=threads, progress=progress) as bench:
        bench.session.place(reference.rows)  # what concerns real samples alone is measured once
        for name, generated in sets.items():
            generated = replace(generated, role="generated")
            with bench.placed(generated):
                results[name] = evaluate_sets(settings, (reference, generated), bench, call)
    differences: list[Difference] = []
    for first, second in combinations(results, 2):
        differences += _differences(first, results[first], second, results[second])
    return Comparison(results, tuple(differences))


def _as_models(
    models: Mapping[str, object], *, subsample: bool, seed: int
) -> dict[str, FeatureSet]:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError("models must map at least two names to features of generated samples.")
    sets = {str(name): FeatureSet.of(rows, f"model {name!r}") for name, rows in models.items()}
    sizes = {name: len(features) for name, features in sets.items()}
    smallest = min(sizes.values())
    if max(sizes.values()) == smallest:
        return sets
    if not subsample:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(
            f"scores depend on the number of samples, which differs: {listed}. Pass as many of "
            "each, or subsample=True for random subsets of the larger ones."
        )
    rng = np.random.default_rng((seed, 5))
    return {
        name: features.subset(
            np.sort(rng.choice(len(features), smallest, replace=False)), f"{smallest} of them"
        )
        for name, features in sets.items()
    }


def _differences(
    first: str, one: Evaluation, second: str, other: Evaluation
) -> Sequence[Difference]:
    found = []
    for name, score in one.scores.items():
        value = score.value - other.scores[name].value
        interval = None
        if name in one.replicates and name in other.replicates:
            blocks = one.replicates[name].minus(other.replicates[name])
            half = blocks.half_width(_confidence(one))
            interval = (value - half, value + half)
        found.append(Difference(name, first, second, value, interval))
    for name, band in one.bands.items():
        for key in _COMPARED_SUMMARIES:
            value = SUMMARIES[key](one.curves[name]) - SUMMARIES[key](other.curves[name])
            half = band.half_width_of_difference(other.bands[name], key)
            what = f"{key} of the {name} curve"
            found.append(Difference(what, first, second, value, (value - half, value + half)))
    return found


def _confidence(result: Evaluation) -> float:
    return 0.95 if result.confidence is None else result.confidence


def _cell(score: Any) -> str:
    if score.interval is None:
        return f"{score.value:.4g}"
    low, high = score.interval
    return f"{score.value:.3f} ± {max(score.value - low, high - score.value):.3f}"


def _verdict(first: str, second: str, differences: Sequence[Difference]) -> str:
    """One line about two models: what is clear of chance, and how much is not."""
    clear = [
        f"{d.what} {d.value:+.3f} ± {(d.interval[1] - d.interval[0]) / 2:.3f}"
        for d in differences
        if d.is_clear and d.interval is not None
    ]
    n_unclear = sum(d.interval is not None and not d.is_clear for d in differences)
    chance = f"; {n_unclear} differences may be chance" if n_unclear else ""
    return f"{first} less {second}: {', '.join(clear) or 'nothing clear'}{chance}."


def _count(first: str, second: str, differences: Sequence[Difference]) -> str:
    n_clear = sum(d.is_clear for d in differences)
    n_known = sum(d.interval is not None for d in differences)
    return f"{first} and {second}: {n_clear} of {n_known} differences are clear of chance."


def _difference(entry: Any, results: Mapping[str, Evaluation]) -> Difference:
    interval = entry["interval"]
    if entry["first"] not in results or entry["second"] not in results:
        raise LookupError("a difference is between models of the comparison")
    return Difference(
        str(entry["what"]),
        entry["first"],
        entry["second"],
        read_finite(entry["value"]),
        None if interval is None else (read_finite(interval[0]), read_finite(interval[1])),
    )
