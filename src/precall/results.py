"""What an evaluation found and how it was done: frozen, readable, JSON both ways."""

import html
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.bands import CurveBand
from precall.curve import PRCurve
from precall.diagnosis import Findings, diagnose
from precall.errors import InputError
from precall.labels import ClassShare
from precall.modes import Mode
from precall.outputs import write_text
from precall.samples import Samples
from precall.score_tables import CURVE_HEADINGS, band_table, class_table, score_table, test_table
from precall.scores import Ceiling, Score
from precall.two_sample import TwoSampleTest
from precall.uncertainty import Replicates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FORMAT_VERSION", "Evaluation", "Protocol"]

FORMAT_VERSION = 3
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
    replicates: Mapping[str, Replicates] = field(default_factory=dict)
    samples: Samples | None = None

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as a JSON document, and write it to ``path`` if one is given."""
        document = {"format_version": FORMAT_VERSION, **self._document()}
        text = json.dumps(_without_infinities(document), indent=2, allow_nan=False) + "\n"
        if path is not None:
            write_text(Path(path), text)
        return text

    def _document(self) -> dict[str, Any]:
        return {
            "protocol": asdict(self.protocol),
            "confidence": self.confidence,
            "modes": [asdict(mode) for mode in self.modes],
            "warnings": list(self.warnings),
            "scores": {name: asdict(score) for name, score in self.scores.items()},
            "curves": {
                name: {"k": self.protocol.k[name], "split": self.protocol.split, **_describe(curve)}
                for name, curve in self.curves.items()
            },
            "bands": {name: band.document() for name, band in self.bands.items()},
            "best_curve": None if self.best_curve is None else _describe(self.best_curve),
            "tests": {name: asdict(test) for name, test in self.tests.items()},
            "class_shares": {label: asdict(share) for label, share in self.class_shares.items()},
            "classes": {label: result._document() for label, result in self.classes.items()},
        }

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a result back from a JSON document or from the path of one."""
        document = _parse(source)
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
            {name: _curve(entry) for name, entry in document["curves"].items()},
            {name: _score(entry) for name, entry in document["scores"].items()},
            _protocol(document["protocol"]),
            tuple(document["warnings"]),
            {label: cls._from_document(part) for label, part in document["classes"].items()},
            {
                label: ClassShare(_number(share["real"]), _number(share["generated"]))
                for label, share in document["class_shares"].items()
            },
            None if best is None else _curve(best),
            {name: _test(entry) for name, entry in document["tests"].items()},
            {name: _band(entry) for name, entry in document["bands"].items()},
            _number(document["confidence"]),
            tuple(_mode(entry) for entry in document["modes"]),
        )
        _check_types(result)
        return result

    def diagnosis(self) -> list[str]:
        """Say in words what is invented, dropped and re-weighted, and which modes are."""
        p = self.protocol
        worst: list[int] = []
        missed: list[int] = []
        if self.samples is not None and "realism" in self.samples.generated.columns:
            worst = self.samples.worst_generated(_ROWS_SHOWN)["index"].tolist()
            missed = self.samples.least_covered_real(_ROWS_SHOWN)["index"].tolist()
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
            described = _describe(curve)
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


def _parse(source: str | PathLike[str]) -> dict[str, Any]:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    else:
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise InputError(f"cannot read a result from {source!r:.200}: {error}.") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not a JSON document: {error}.") from error
    if not isinstance(document, dict):
        raise InputError("this is not a result of precall: expected a JSON object.")
    return document


def _describe(curve: PRCurve) -> dict[str, Any]:
    """Everything about one curve, in the order and under the names of the JSON format."""
    median = curve.median()
    return {
        "vertices": {"fpr": curve.fpr.tolist(), "fnr": curve.fnr.tolist()},
        "max_precision": curve.max_precision,
        "max_recall": curve.max_recall,
        "f_8": curve.f_score(8),
        "f_1_8": curve.f_score(1 / 8),
        "f_1": curve.f_score(1),
        "median_precision": median.precision,
        "median_recall": median.recall,
        "area": curve.area,
        "total_variation": curve.total_variation,
        "jensen_shannon": curve.jensen_shannon,
        "hellinger": curve.hellinger,
    }


def _curve(entry: Any) -> PRCurve:
    vertices = entry["vertices"]
    return PRCurve(_numbers(vertices["fpr"]), _numbers(vertices["fnr"]))


def _band(entry: Any) -> CurveBand:
    n, m = entry["n_evaluated"], entry["m_evaluated"]
    if type(n) is not int or type(m) is not int or min(n, m) < 1 or not entry["splits"]:
        raise TypeError("a band is of one or more splits with evaluated samples")
    return CurveBand(
        tuple(PRCurve(_numbers(v["fpr"]), _numbers(v["fnr"])) for v in entry["splits"]),
        n,
        m,
        _required(entry["confidence"]),
        _required(entry["simultaneous_z"]),
        {
            name: (_required(low), _required(high))
            for name, (low, high) in entry["summaries"].items()
        },
    )


def _protocol(entry: Any) -> Protocol:
    values = {field.name: entry[field.name] for field in fields(Protocol)}
    values["choices"] = {name: tuple(made) for name, made in values["choices"].items()}
    return Protocol(**values)


def _test(entry: Any) -> TwoSampleTest:
    method, n = entry["method"], entry["n_permutations"]
    if method not in ("binomial", "permutation") or not (n is None or type(n) is int):
        raise TypeError("a test is binomial, or of a number of permutations")
    return TwoSampleTest(_required(entry["accuracy"]), _required(entry["p_value"]), method, n)


def _score(entry: Any) -> Score:
    interval = entry["interval"]
    k = entry["k"]
    if not (k is None or type(k) is int):
        raise TypeError("the k of a score must be an integer")
    return Score(
        _required(entry["value"]),
        k,
        _number(entry["expected_if_equal"]),
        None if interval is None else (_required(interval[0]), _required(interval[1])),
        _number(entry["standard_deviation"]),
        _ceiling(entry["ceiling"]),
    )


def _ceiling(entry: Any) -> Ceiling | None:
    if entry is None:
        return None
    if type(entry["n"]) is not int or type(entry["m"]) is not int:
        raise TypeError("sizes of a ceiling must be integers")
    return Ceiling(
        _required(entry["perfect"]), _required(entry["generated"]), entry["n"], entry["m"]
    )


def _mode(entry: Any) -> Mode:
    pairs = {
        name: (_required(entry[name][0]), _required(entry[name][1]))
        for name in ("real_interval", "generated_interval")
    }
    nearest = {name: tuple(map(int, entry[name])) for name in ("nearest_real", "nearest_generated")}
    masses = {name: _required(entry[name]) for name in ("real_mass", "generated_mass", "p_value")}
    return Mode(finding=str(entry["finding"]), **pairs, **nearest, **masses)  # type: ignore[arg-type]


def _number(value: Any) -> float | None:
    return None if value is None else _required(value)


def _required(value: Any) -> float:
    if value in ("inf", "-inf"):
        return float(value)
    if type(value) not in (int, float) or math.isnan(value):
        raise TypeError(f"expected a number, not {value!r:.40}")
    return float(value)


def _numbers(values: Any) -> NDArray[np.float64]:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise TypeError("vertices must be lists of numbers")
    return np.array(values, dtype=np.float64)


def _check_types(result: Evaluation) -> None:
    """Check what JSON cannot promise about the parts that are used later."""
    protocol = result.protocol
    if not all(isinstance(text, str) and len(text) > 1 for text in result.warnings):
        raise TypeError("warnings must be a list of sentences")
    if protocol.k.keys() != result.curves.keys():
        raise ValueError("protocol.k must name every curve")
    if not all(k is None or type(k) is int for k in protocol.k.values()):
        raise TypeError("protocol.k must hold integers")
    if not all(type(n) is int for n in (protocol.n, protocol.m, protocol.d, protocol.seed)):
        raise TypeError("n, m, d and seed must be integers")


def _without_infinities(value: Any) -> Any:
    """JSON has no infinity: the string "inf" stands for it."""
    if isinstance(value, Mapping):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    if isinstance(value, float | np.floating) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value
