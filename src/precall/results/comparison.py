"""Several models against the same real samples, and whether their differences mean anything."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, permutations, product
from os import PathLike
from typing import TYPE_CHECKING, Self

from precall.curves.pr_curve import PRCurve
from precall.errors import InputError
from precall.results import json_document
from precall.results.evaluation import Evaluation, axes_or_new
from precall.results.number_tables import table_of_models
from precall.results.page_writer import page_writer
from precall.results.tables import F_SCORES, Table, score_value, significant, summary_value
from precall.runtime.read_only import make_read_only

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    def __post_init__(self) -> None:
        make_read_only(self)

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
        pairs = permutations(self._curves(curve).items(), 2)
        return [(a, b) for (a, of_a), (b, of_b) in pairs if of_a.dominates(of_b)]

    def _curves(self, name: str | None) -> dict[str, PRCurve]:
        """One curve of every model that has it: the best one, or that of an estimator."""
        of_models = {
            model: result.best_curve if name is None else result.curves[name]
            for model, result in self.results.items()
        }
        return {model: curve for model, curve in of_models.items() if curve is not None}

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return all results and differences as a JSON document; write it if a path is given."""
        entries = {name: json_document.evaluation_entry(r) for name, r in self.results.items()}
        results = {name: json_document.versioned(entry) for name, entry in entries.items()}
        differences = [asdict(difference) for difference in self.differences]
        return json_document.write_document({"results": results, "differences": differences}, path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a comparison back from a JSON document or from the path of one."""
        with json_document.reading(source, "comparison") as document:
            found = cls(**json_document.read_fields(cls, document))
            named = {model for d in found.differences for model in (d.first, d.second)}
            if not found.results or not named <= found.results.keys():
                raise json_document.EntryError("expected models, and differences between these")
        return found

    def __repr__(self) -> str:
        p = next(iter(self.results.values())).protocol
        title = f"{len(self.results)} models against {p.n} real samples, {p.m} samples each"
        table = self._table().to_text(align="left")
        parts = [title, table, "\n".join(self.verdicts()), "\n".join(self._warnings())]
        return "\n\n".join(part for part in parts if part)

    def _warnings(self) -> list[str]:
        """The caveats of all results, each once; whose they are, unless they are everybody's."""
        models: dict[str, list[str]] = {}
        for model, result in self.results.items():
            for text in result.warnings:
                models.setdefault(text, []).append(model)
        everybody = list(self.results)
        whose = {
            text: "" if of == everybody else f"{', '.join(of)}: " for text, of in models.items()
        }
        return [f"warning: {of}{text}" for text, of in whose.items()]

    def table(self) -> Table:
        """Return a table to take along: one row a score, one column a model.

        As :meth:`precall.Evaluation.table`; CSV and data frames have the ends of intervals, too,
        in columns such as ``"gan low"``.
        """
        return table_of_models(self.results)

    def _table(self) -> Table:
        """One column a model."""
        results = list(self.results.values())
        rows = []
        for name in results[0].scores:
            scores = [result.scores[name] for result in results]
            cells = [score_value(score, significant, with_interval=True) for score in scores]
            rows.append([name, *cells])
        for name, f in product(results[0].curves, F_SCORES):
            curves = [(result.curves[name], result.bands.get(name)) for result in results]
            cells = [summary_value(f, curve, band, ends=False) for curve, band in curves]
            rows.append([f"{name} curve, {f.name}", *cells])
        return Table("Scores of every model", ["", *self.results], rows)

    def verdicts(self, *, brief: bool = False) -> list[str]:
        """Say in words which models differ, and which is as good as another everywhere.

        Parameters
        ----------
        brief
            Whether to count the differences instead of naming them.
        """
        describe = _count if brief else _verdict
        lines = []
        for pair in (
            combinations(self.results, 2) if any(d.interval for d in self.differences) else ()
        ):
            found = [d for d in self.differences if (d.first, d.second) == pair]
            lines.append(describe(*pair, found))
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
        page_writer()(
            path,
            self.results,
            title=title,
            differences=self.differences,
            images_real=images_real,
            images_generated=images_generated,
        )

    def plot(self, ax: "Axes | None" = None, *, curve: str | None = None) -> "Axes":
        """Draw one curve of every model in one picture: the best one, or that of an estimator."""
        ax = axes_or_new(ax)
        for name, chosen in self._curves(curve).items():
            chosen.plot(ax, label=name)
        return ax


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
