"""What an evaluation found and how it was done: frozen, readable, JSON both ways."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

from precall.curves.best import BEST
from precall.curves.pr_curve import PRCurve
from precall.data.labels import ClassShare
from precall.errors import InputError
from precall.findings.diagnosis import diagnose
from precall.findings.influence import Influence
from precall.findings.modes import Mode
from precall.findings.part_sentences import class_sentences, guessed_sentences
from precall.findings.reasons import Reasons
from precall.findings.samples import Extremes, Samples
from precall.findings.shares import SharesCompared
from precall.inputs.items import Inputs
from precall.results import json_document
from precall.results.flat_numbers import flat_numbers
from precall.results.number_tables import table_for_papers, table_of_curves, table_of_scores
from precall.results.page_writer import page_writer
from precall.results.protocol_sentence import protocol_sentence
from precall.results.table_formats import latex_float
from precall.results.tables import Table, best_of_several, printed_tables, written
from precall.runtime.read_only import make_read_only
from precall.scores import Score
from precall.uncertainty.bands import CurveBand
from precall.uncertainty.intervals import Replicates
from precall.uncertainty.resampling import Resampled
from precall.uncertainty.two_sample import TwoSampleTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CONFIDENCE = 0.95  # of what is said of classes, where no intervals were asked for


@dataclass(frozen=True, slots=True)
class Protocol:
    """Everything needed to repeat an evaluation."""

    n: int  # real samples
    m: int  # generated samples
    d: int  # features
    dtype: str  # the wider of the two inputs'
    estimators: Mapping[str, str]  # of each curve, with its parameters
    k: Mapping[str, int | None]  # of each curve
    choices: Mapping[str, tuple[str, ...]]  # of cross-validation, fold by fold
    split: str
    seed: int
    tie_rule: str  # of the scores; balls of curves are closed
    convention: str  # of the scores
    engine: str
    sources: Mapping[str, str]  # real, generated
    fingerprints: Mapping[str, str]  # real, generated
    versions: Mapping[str, str]
    call: str  # the command or the Python call to repeat it with
    # real, generated: model, version, SHA-256 of its weights, preprocessing, libraries, if known
    extraction: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make_read_only(self)

    @property
    def model(self) -> str:
        """Which model the features are of, to be put behind their number."""
        models = dict.fromkeys(how.get("model", "") for how in self.extraction.values())
        return f" of {' and '.join(models)}" if models else ""

    def shown_k(self, curve: str) -> str:
        """Write the k of a curve, or those that cross-validation chose."""
        if (k := self.k.get(curve)) is not None:
            return str(k)
        choices = self.choices.get(curve, ())
        ks = [choice.removeprefix("k=") for choice in choices if choice.startswith("k=")]
        return "/".join(dict.fromkeys(ks))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The result of :func:`precall.evaluate`.

    Attributes
    ----------
    curves
        One exact curve an estimator, by name: ``result.curves["coverage"].median()``.
    scores
        Scalar scores by name: ``result.scores["precision"].value``. With several k the names are
        ``precision_k3``, ``precision_k5`` and so on.
    protocol
        How the result came about.
    warnings
        Caveats about the input, one sentence each.
    classes
        With labels: the same result for each class, by label.
    class_shares
        With labels: how much of real and of generated belongs to each class.
    guessed_shares
        With labels of one side only: how much of both sides is guessed to belong to each class, by
        the labels of nearest samples, and whether that differs.
    best_curve
        One curve from all estimators: the best classifiers of half of the evaluated samples,
        measured by the other half. ``None`` without a split, without estimators, or with fewer
        than two evaluated samples of a class.
    tests
        After a single split (not over folds): by curve, whether its classifier tells real from
        generated better than chance.
    confidence
        Of all intervals; ``None`` without them.
    modes
        If asked for: the clusters of the union, and whether each has its due share.
    bands
        With intervals, after repeated splits: how uncertain each curve is; that of ``best_curve``
        goes by ``"best"``, where there are several others.
    extremes
        The least realistic generated and the least covered real samples.
    reasons
        Why samples are outside of the support of the other class, where the headline was asked for.
    influences
        Single rows that decide a score: without them it would be another one.
    replicates
        With intervals: scores of random blocks of the samples, which comparisons are made from; not
        part of the JSON document.
    samples
        Sample by sample; not part of the JSON document, so ``None`` when read back from one.
    inputs
        The pictures, texts or sounds of real and generated, if features were made of them; shown in
        pages, and not part of the JSON document.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, generated = rng.normal(0, 1, (600, 4)), rng.normal(1, 1, (600, 4))
    >>> result = precall.evaluate(real, generated, estimators=["knn"])
    >>> result.scores["recall"].k, list(result.curves), result.protocol.n
    (3, ['knn'], 600)
    >>> print(result.diagnosis()[0])
    Low support precision, low recall at ½: much is unrealistic, and part of the data is ...
    >>> precall.Evaluation.from_json(result.to_json()).scores == result.scores
    True
    """

    curves: Mapping[str, PRCurve]
    scores: Mapping[str, Score]
    protocol: Protocol
    warnings: tuple[str, ...] = ()
    classes: Mapping[str, "Evaluation"] = field(default_factory=dict)
    class_shares: Mapping[str, ClassShare] = field(default_factory=dict)
    guessed_shares: Mapping[str, SharesCompared] = field(default_factory=dict)
    best_curve: PRCurve | None = None
    tests: Mapping[str, TwoSampleTest] = field(default_factory=dict)
    bands: Mapping[str, CurveBand] = field(default_factory=dict)
    confidence: float | None = None
    modes: tuple[Mode, ...] = ()
    extremes: Extremes = field(default_factory=Extremes)
    reasons: Reasons = field(default_factory=Reasons)
    influences: tuple[Influence, ...] = ()
    replicates: Mapping[str, Replicates | Resampled] = field(default_factory=dict)
    samples: Samples | None = None
    inputs: Mapping[str, Inputs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make_read_only(self)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as a JSON document, and write it to ``path`` if one is given."""
        return json_document.write_document(json_document.evaluation_entry(self), path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a result back from a JSON document or from the path of one."""
        with json_document.reading(source, "result") as document:
            return cls.of_entry(document)

    @classmethod
    def of_entry(cls, entry: Any) -> Self:
        """Read a result from the entry of a JSON document."""
        result = cls(
            **json_document.read_fields(cls, entry, without=("replicates", "samples", "inputs"))
        )
        json_document.check_evaluation(result)
        return result

    def to_html(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        images_real: object = None,
        images_generated: object = None,
    ) -> None:
        """Write a page to look at and to send: one file that needs no network.

        Parameters
        ----------
        images_real, images_generated
            Pictures of the samples in the order of the rows, to show the extreme ones: a folder, a
            text file with one path a line, or an array (n, height, width) or (n, height, width, 3).
        """
        page_writer()(
            path,
            {"model": self},
            title=title,
            images_real=images_real,
            images_generated={"model": images_generated},
        )

    def table(self, of: Literal["scores", "curves"] = "scores") -> Table:
        """Return a table to take along: one row a score, or one a curve.

        ``to_csv`` and ``to_pandas`` have numbers in full precision, ``to_markdown`` and
        ``to_latex`` rounded ones to read; ``write`` goes by the ending of a file.

        Examples
        --------
        >>> import numpy as np, precall
        >>> real, generated = np.random.default_rng(0).normal(size=(2, 1000, 4))
        >>> result = precall.evaluate(real, generated, estimators=(), scores=["recall", "coverage"])
        >>> print(result.table().to_markdown())
        | score | k | value | if P = Q |
        | --- | ---: | ---: | ---: |
        | recall | 3 | 0.951 |  |
        | coverage | 5 | 0.957 | 0.969 |
        <BLANKLINE>
        """
        if of not in ("scores", "curves"):
            raise InputError(f"of must be 'scores' or 'curves'; got {of!r}.")
        return table_of_scores(self) if of == "scores" else table_of_curves(self)

    def to_flat_dict(self, prefix: str = "", *, intervals: bool = True) -> dict[str, float]:
        """Return every number under a name without structure, as loggers take them.

        Scores go by their names, summaries of curves by that of the curve and their own:
        ``knn_curve_area``, and ``best_curve_area`` of the best of several. The ends of intervals
        end in ``_low`` and ``_high``.

        Parameters
        ----------
        prefix
            What all names begin with, such as ``"precall/"``.
        intervals
            Whether to include their ends, where there are intervals.

        Examples
        --------
        >>> import numpy as np, precall
        >>> real, generated = np.random.default_rng(0).normal(size=(2, 1000, 4))
        >>> result = precall.evaluate(real, generated, estimators=(), scores=["recall", "coverage"])
        >>> result.to_flat_dict("val/")
        {'val/recall': 0.951, 'val/coverage': 0.957}
        """
        found = {}
        for name, number in flat_numbers(self).items():
            found[f"{prefix}{name}"] = float(number.value)
            if intervals and number.interval is not None:
                for end, value in zip(("low", "high"), number.interval, strict=True):
                    found[f"{prefix}{name}_{end}"] = float(value)
        return found

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """Return a table and how it came about, for a model card; write it if a path is given.

        Examples
        --------
        >>> import numpy as np, precall
        >>> real, generated = np.random.default_rng(0).normal(size=(2, 1000, 4))
        >>> result = precall.evaluate(real, generated, estimators=(), scores=["recall", "coverage"])
        >>> print(result.to_markdown())
        | number | k | value | if P = Q |
        | --- | ---: | ---: | ---: |
        | recall | 3 | 0.951 |  |
        | coverage | 5 | 0.957 | 0.969 |
        <BLANKLINE>
        1000 generated samples were compared with 1000 real ones by 4 features. Scores are as in
        precall, at k = 3 (recall); 5 (coverage). Seed 0, precall ....
        <BLANKLINE>
        """
        return written(f"{table_for_papers(self).to_markdown()}\n{protocol_sentence(self)}\n", path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str:
        """Return a table for a paper, with how it came about as its caption; write it to a path.

        Needs the package booktabs.
        """
        table = table_for_papers(self).to_latex()
        return written(latex_float(table, protocol_sentence(self)), path)

    def diagnosis(self) -> list[str]:
        """Say in words what is dropped, invented and re-weighted: classes, supports, modes."""
        p, confidence = self.protocol, self.confidence or _CONFIDENCE
        name, curve = BEST, self.best_curve
        if curve is not None and len(self.curves) == 1:  # its own curve is the one that is shown
            ((name, curve),) = self.curves.items()
        band = self.bands.get(name)
        has_real = any(share.real is not None for share in self.class_shares.values())
        classes = class_sentences(self.class_shares, p.n, p.m, confidence)
        classes += guessed_sentences(self.guessed_shares, "real" if has_real else "generated")
        return diagnose(
            self.scores,
            self.reasons,
            curve,
            self.modes,
            self.extremes,
            classes,
            name=name,
            variation=None if band is None else band.summaries["total_variation"],
        )

    def _title(self) -> str:
        p = self.protocol
        return (
            f"{p.n} real and {p.m} generated samples, {p.d} features{p.model}, "
            + (f"split: {p.split}, " if self.curves else "")
            + f"seed {p.seed}, engine {p.engine}"
            + (f", scores as {p.convention}" if p.convention != "precall" else "")
        )

    def __repr__(self) -> str:
        tables = [table.to_text() for table in printed_tables(self)]
        warnings = "\n".join(f"warning: {text}" for text in self.warnings)
        parts = [self._title(), *(tables or ["(no curves and no scores)"]), warnings]
        return "\n\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        tables = "".join(table.to_text("html") for table in printed_tables(self))
        caveats = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        warnings = f"<ul>{caveats}</ul>" if caveats else ""
        return f"<p>{html.escape(self._title())}</p>{tables}{warnings}"

    def plot(self, ax: "Axes | None" = None, *, iso_f: bool = False) -> "Axes":
        """Draw all curves in one picture and return its axes."""
        ax = axes_or_new(ax)
        for i, (name, curve) in enumerate(self.curves.items()):
            k = self.protocol.shown_k(name)
            curve.plot(ax, iso_f=iso_f and i == 0, label=f"{name} (k={k})" if k else name)
        for name, curve in best_of_several(self).items():
            curve.plot(ax, label=name, color="black", lw=2)
        return ax


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = (4.8, 4.8)) -> "Axes":
    """Return the axes to draw on: those given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]
