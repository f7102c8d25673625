"""What an evaluation found and how it was done: frozen, readable, JSON both ways."""

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from precall.curves.pr_curve import PRCurve
from precall.data.labels import ClassShare
from precall.errors import InputError
from precall.findings.diagnosis import Findings, diagnose
from precall.findings.modes import Mode
from precall.findings.samples import Extremes, Samples
from precall.results.json_format import (
    as_text,
    describe_curve,
    parse,
    read_band,
    read_curve,
    read_extremes,
    read_mode,
    read_number,
    read_score,
    read_test,
)
from precall.results.tables import CURVE_HEADINGS, band_table, class_table, score_table, test_table
from precall.runtime.output_files import write_text
from precall.scores import Score
from precall.uncertainty.bands import CurveBand
from precall.uncertainty.intervals import Replicates
from precall.uncertainty.two_sample import TwoSampleTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FORMAT_VERSION", "Evaluation", "Protocol"]

FORMAT_VERSION = 4
_ROWS_SHOWN = 5


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
        With intervals, after repeated splits: how uncertain each curve is.
    extremes
        The least realistic generated and the least covered real samples.
    replicates
        With intervals: scores of random blocks of the samples, which comparisons are made from; not
        part of the JSON document.
    samples
        Sample by sample; not part of the JSON document, so ``None`` when read back from one.
    """

    curves: Mapping[str, PRCurve]
    scores: Mapping[str, Score]
    protocol: Protocol
    warnings: tuple[str, ...] = ()
    classes: Mapping[str, "Evaluation"] = field(default_factory=dict)
    class_shares: Mapping[str, ClassShare] = field(default_factory=dict)
    best_curve: PRCurve | None = None
    tests: Mapping[str, TwoSampleTest] = field(default_factory=dict)
    bands: Mapping[str, CurveBand] = field(default_factory=dict)
    confidence: float | None = None
    modes: tuple[Mode, ...] = ()
    extremes: Extremes = field(default_factory=Extremes)
    replicates: Mapping[str, Replicates] = field(default_factory=dict)
    samples: Samples | None = None

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as a JSON document, and write it to ``path`` if one is given."""
        document = {"format_version": FORMAT_VERSION, **self._document()}
        text = as_text(document)
        if path is not None:
            write_text(Path(path), text)
        return text

    def _document(self) -> dict[str, Any]:
        return {
            "protocol": asdict(self.protocol),
            "confidence": self.confidence,
            "modes": [asdict(mode) for mode in self.modes],
            "extremes": asdict(self.extremes),
            "warnings": list(self.warnings),
            "scores": {name: asdict(score) for name, score in self.scores.items()},
            "curves": {
                name: {
                    "k": self.protocol.k[name],
                    "split": self.protocol.split,
                    **describe_curve(curve),
                }
                for name, curve in self.curves.items()
            },
            "bands": {name: band.document() for name, band in self.bands.items()},
            "best_curve": None if self.best_curve is None else describe_curve(self.best_curve),
            "tests": {name: asdict(test) for name, test in self.tests.items()},
            "class_shares": {label: asdict(share) for label, share in self.class_shares.items()},
            "classes": {label: result._document() for label, result in self.classes.items()},
        }

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a result back from a JSON document or from the path of one."""
        document = parse(source)
        version = document.get("format_version")
        if version != FORMAT_VERSION or isinstance(version, bool):
            raise InputError(
                f"this result has format_version {version!r}; this version of precall reads "
                f"{FORMAT_VERSION}."
            )
        try:
            return cls._from_document(document)
        except InputError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise InputError(f"this is not a result of precall: {error!r}.") from error

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        best = document["best_curve"]
        result = cls(
            {name: read_curve(entry) for name, entry in document["curves"].items()},
            {name: read_score(entry) for name, entry in document["scores"].items()},
            _protocol(document["protocol"]),
            tuple(document["warnings"]),
            {label: cls._from_document(part) for label, part in document["classes"].items()},
            {
                label: ClassShare(read_number(share["real"]), read_number(share["generated"]))
                for label, share in document["class_shares"].items()
            },
            None if best is None else read_curve(best),
            {name: read_test(entry) for name, entry in document["tests"].items()},
            {name: read_band(entry) for name, entry in document["bands"].items()},
            read_number(document["confidence"]),
            tuple(read_mode(entry) for entry in document["modes"]),
            read_extremes(document["extremes"]),
        )
        _check_types(result)
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
        from precall.report.page import Pictures, write_page

        pictures = Pictures(images_real, {"model": images_generated})
        write_page(path, {"model": self}, title=title, pictures=pictures)

    def diagnosis(self) -> list[str]:
        """Say in words what is invented, dropped and re-weighted, and which modes are."""
        p = self.protocol
        worst = [sample.row for sample in self.extremes.worst_generated[:_ROWS_SHOWN]]
        missed = [sample.row for sample in self.extremes.least_covered_real[:_ROWS_SHOWN]]
        curves = self.best_curve, self.curves, self.bands
        return diagnose(Findings(*curves, self.modes, p.n, p.m, worst, missed))

    def _title(self) -> str:
        p = self.protocol
        return (
            f"{p.n} real and {p.m} generated samples, {p.d} features, "
            + (f"split: {p.split}, " if self.curves else "")
            + f"seed {p.seed}, engine {p.engine}"
            + (f", scores as {p.convention}" if p.convention != "precall" else "")
        )

    def _curve_table(self, tablefmt: str) -> str:
        from tabulate import tabulate

        named = dict(self.curves)
        if self.best_curve is not None and len(named) > 1:
            named["best"] = self.best_curve
        rows = []
        for name, curve in named.items():
            described = describe_curve(curve)
            values = [f"{described[column]:.4f}" for column in CURVE_HEADINGS]
            rows.append([name, self._k(name), *values])
        headings = ["curve", "k", *CURVE_HEADINGS.values()]
        if tablefmt == "html":
            headings = [heading.replace("\n", " ") for heading in headings]
        align = ["left", *["right"] * (len(headings) - 1)]
        return tabulate(rows, headings, tablefmt, colalign=align, disable_numparse=True)

    def _k(self, name: str) -> str:
        """The k of a curve, or those that cross-validation chose."""
        if (k := self.protocol.k.get(name)) is not None:
            return str(k)
        choices = self.protocol.choices.get(name, ())
        ks = [choice.removeprefix("k=") for choice in choices if choice.startswith("k=")]
        return "/".join(dict.fromkeys(ks))

    def _tables(self, tablefmt: str) -> list[str]:
        tables = [self._curve_table(tablefmt)] if self.curves else []
        if self.bands:
            tables.append(band_table(self.bands, tablefmt))
        if self.tests:
            tables.append(test_table(self.tests, tablefmt))
        if self.scores:
            tables.append(score_table(self.scores, tablefmt))
        if self.class_shares:
            scores = {label: result.scores for label, result in self.classes.items()}
            curves = {label: result.curves for label, result in self.classes.items()}
            tables.append(class_table(self.class_shares, scores, curves, tablefmt))
        return tables

    def __repr__(self) -> str:
        tables = self._tables("simple") or ["(no curves and no scores)"]
        warnings = [f"warning: {text}" for text in self.warnings]
        return "\n\n".join([self._title(), *tables, *(["\n".join(warnings)] if warnings else [])])

    def _repr_html_(self) -> str:
        caveats = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        return f"<p>{html.escape(self._title())}</p>{''.join(self._tables('html'))}" + (
            f"<ul>{caveats}</ul>" * bool(caveats)
        )

    def plot(self, ax: "Axes | None" = None, *, iso_f: bool = False) -> "Axes":
        """Draw all curves in one picture and return its axes."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
        for i, (name, curve) in enumerate(self.curves.items()):
            k = self._k(name)
            curve.plot(ax, iso_f=iso_f and i == 0, label=f"{name} (k={k})" if k else name)
        if self.best_curve is not None and len(self.curves) > 1:
            self.best_curve.plot(ax, label="best", color="black", lw=2)
        return ax


def _protocol(entry: Any) -> Protocol:
    values = {field.name: entry[field.name] for field in fields(Protocol)}
    values["choices"] = {name: tuple(made) for name, made in values["choices"].items()}
    return Protocol(**values)


def _check_types(result: Evaluation) -> None:
    """Check what JSON cannot promise about the parts that are used later."""
    protocol = result.protocol
    if not all(isinstance(text, str) and len(text) > 1 for text in result.warnings):
        raise TypeError("warnings must be a list of sentences")
    if protocol.k.keys() != result.curves.keys():
        raise ValueError("protocol.k must name every curve")
    if not all(k is None or type(k) is int for k in protocol.k.values()):
        raise TypeError("protocol.k must hold integers")
    texts = ("dtype", "split", "tie_rule", "convention", "engine", "call")
    if not all(isinstance(getattr(protocol, name), str) for name in texts):
        raise TypeError(f"{', '.join(texts)} of the protocol must be text")
    for name in ("estimators", "sources", "fingerprints", "versions"):
        mapping = getattr(protocol, name)
        if not isinstance(mapping, Mapping) or not all(
            isinstance(text, str) for text in mapping.values()
        ):
            raise TypeError(f"protocol.{name} must hold text")
    if not all(isinstance(c, str) for choices in protocol.choices.values() for c in choices):
        raise TypeError("protocol.choices must hold text")
    if not result.bands.keys() <= result.curves.keys():
        raise ValueError("bands must be of curves that are there")
    if not all(type(n) is int for n in (protocol.n, protocol.m, protocol.d, protocol.seed)):
        raise TypeError("n, m, d and seed must be integers")
    _check_rows(result)


def _check_rows(result: Evaluation) -> None:
    """Check that the samples that are named exist."""
    extremes, modes = result.extremes, result.modes
    real = [sample.row for sample in extremes.least_covered_real]
    real += [sample.nearest for sample in extremes.worst_generated]
    real += [row for mode in modes for row in mode.nearest_real]
    generated = [sample.row for sample in extremes.worst_generated]
    generated += [sample.nearest for sample in extremes.least_covered_real]
    generated += [row for mode in modes for row in mode.nearest_generated]
    for rows, n in ((real, result.protocol.n), (generated, result.protocol.m)):
        if not all(0 <= row < n for row in rows):
            raise ValueError("a row of a sample is out of range")
