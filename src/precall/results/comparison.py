"""Several models against the same real samples, and whether their differences mean anything."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Self

from precall.curves.pr_curve import PRCurve
from precall.errors import InputError
from precall.results import json_document
from precall.results.differences import (
    CurveDifference,
    Difference,
    Naming,
    sentence_of_curves,
    sentence_of_pair,
)
from precall.results.evaluation import Evaluation, axes_or_new
from precall.results.number_tables import table_of_models
from precall.results.page_writer import page_writer
from precall.results.tables import (
    F_SCORES,
    Table,
    best_first,
    score_value,
    significant,
    summary_value,
)
from precall.runtime.read_only import make_read_only

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The result of :func:`precall.compare`.

    Attributes
    ----------
    results
        By model.
    differences
        Of every score, and of a few summaries of one curve, between all pairs of models. Their
        intervals hold all at once, those of the curves' bands included.
    curve_differences
        Of every curve, between all pairs of models.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, a, b = np.random.default_rng(0).normal(size=(3, 600, 4))
    >>> found = precall.compare(real, {"a": a, "b": b + 1}, estimators=(), scores=["coverage"])
    >>> found.ranking("coverage")
    ['a', 'b']
    >>> [(difference.what, difference.is_clear) for difference in found.differences]
    [('coverage', True)]
    """

    results: Mapping[str, Evaluation]
    differences: tuple[Difference, ...]
    curve_differences: tuple[CurveDifference, ...] = ()

    def __post_init__(self) -> None:
        make_read_only(self)

    def ranking(self, score: str) -> list[str]:
        """Return the models, the highest score first; at equal scores in the order given."""
        for name, result in self.results.items():
            if score not in result.scores:
                raise InputError(f"score {score!r} was not computed for {name!r}.")
        return sorted(self.results, key=lambda name: -self.results[name].scores[score].value)

    def dominated(self, curve: str | None = None) -> list[tuple[str, str]]:
        """Return pairs of models of which the first is clearly better at some λ, and worse at none.

        By the band of the difference of their curves, which holds at all λ, and for all pairs and
        differences of the comparison, at once.

        Parameters
        ----------
        curve
            Name of a curve; by default the one that is compared: the best of several.
        """
        found = self._of_curve(curve)
        if not found:
            raise InputError(
                f"no differences of {'curves' if curve is None else f'the curve {curve!r}'} are "
                "known; compare with estimators, intervals and split=precall.RepeatedHoldOut()."
            )
        return [pair for difference in found if (pair := difference.dominance) is not None]

    def _of_curve(self, name: str | None) -> list[CurveDifference]:
        compared = self._compared_curve() if name is None else name
        return [difference for difference in self.curve_differences if difference.curve == compared]

    def _compared_curve(self) -> str | None:
        """Return the name of the curve that models are compared by."""
        return next(iter(best_first(next(iter(self.results.values())))), None)

    def _curves(self, name: str | None) -> dict[str, PRCurve]:
        """One curve of every model that has it: the one that is compared, or another."""
        chosen = self._compared_curve() if name is None else name
        drawn = {model: best_first(result) for model, result in self.results.items()}
        if name is not None and not all(name in curves for curves in drawn.values()):
            raise InputError(f"curve {name!r} was not computed for every model.")
        return {model: curves[chosen] for model, curves in drawn.items() if chosen in curves}

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return all results and differences as a JSON document; write it if a path is given."""
        entries = {name: json_document.evaluation_entry(r) for name, r in self.results.items()}
        results = {name: json_document.versioned(entry) for name, entry in entries.items()}
        entry = {
            "results": results,
            "differences": [asdict(difference) for difference in self.differences],
            "curve_differences": [asdict(difference) for difference in self.curve_differences],
        }
        return json_document.write_document(entry, path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a comparison back from a JSON document or from the path of one."""
        with json_document.reading(source, "comparison") as document:
            found = cls(**json_document.read_fields(cls, document))
            named = {model for d in found.differences for model in (d.first, d.second)}
            named |= {model for d in found.curve_differences for model in (d.first, d.second)}
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
        compared = self._compared_curve()
        for f in F_SCORES if compared is not None else ():
            bands = [result.bands.get(str(compared)) for result in results]
            pairs = zip(self._curves(None).values(), bands, strict=True)
            cells = [summary_value(f, curve, band, ends=False) for curve, band in pairs]
            rows.append([f"{compared} curve, {f.name}", *cells])
        return Table("Scores of every model", ["", *self.results], rows)

    def verdicts(self, naming: Naming = str) -> list[str]:
        """Say in words which models differ, in what, and which is better than another everywhere.

        Parameters
        ----------
        naming
            How scores and curves are to be written.
        """
        known = [d for d in self.differences if d.interval is not None]
        of_curves = self._of_curve(None)
        lines = []
        for pair in combinations(self.results, 2):
            found = [d for d in known if (d.first, d.second) == pair]
            lines += [sentence_of_pair(found, naming)] if found else []
        said = [sentence_of_curves(difference, naming) for difference in of_curves]
        lines += [sentence for sentence in said if sentence is not None]
        if lines:
            confidence = next(iter(self.results.values())).confidence or 0.0
            lines.append(
                f"All {len(known) + len(of_curves)} intervals and bands of these differences hold "
                f"at once, with {100 * confidence:.4g} % confidence."
            )
        return lines

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
            curve_differences=self.curve_differences,
            images_real=images_real,
            images_generated=images_generated,
        )

    def plot(self, ax: "Axes | None" = None, *, curve: str | None = None) -> "Axes":
        """Draw one curve of every model: the one that is compared, or that of an estimator."""
        ax = axes_or_new(ax)
        for name, chosen in self._curves(curve).items():
            chosen.plot(ax, label=name)
        return ax
