"""From the objects of a result to the entries of its JSON document, and back.

What is read is checked: a forged or damaged document is refused, not half understood.
"""

import json
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.curves.pr_curve import PRCurve
from precall.errors import InputError
from precall.findings.modes import FINDINGS, Mode
from precall.findings.samples import Extreme, Extremes
from precall.scores import Ceiling, Score
from precall.uncertainty.bands import SUMMARIES, CurveBand
from precall.uncertainty.two_sample import TwoSampleTest

__all__ = [
    "as_text",
    "describe_curve",
    "parse",
    "read_band",
    "read_curve",
    "read_extremes",
    "read_finite",
    "read_mode",
    "read_number",
    "read_score",
    "read_test",
]


_MOST_SAMPLES = 10**12


def as_text(document: Mapping[str, Any]) -> str:
    """Write a document as JSON; infinities become the string "inf"."""
    return json.dumps(_without_infinities(document), indent=2, allow_nan=False) + "\n"


def parse(source: str | PathLike[str]) -> dict[str, Any]:
    """Read a JSON object from a text or from the path of a file."""
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


def describe_curve(curve: PRCurve) -> dict[str, Any]:
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


def read_curve(entry: Any) -> PRCurve:
    """Read a curve."""
    vertices = entry["vertices"]
    return PRCurve(_numbers(vertices["fpr"]), _numbers(vertices["fnr"]))


def read_band(entry: Any) -> CurveBand:
    """Read a band."""
    n, m = entry["n_evaluated"], entry["m_evaluated"]
    if not all(type(size) is int and 1 <= size <= _MOST_SAMPLES for size in (n, m)):
        raise TypeError("a band has evaluated samples of both classes")
    if not entry["splits"] or entry["summaries"].keys() != SUMMARIES.keys():
        raise TypeError("a band is of one or more splits, and has an interval of every summary")
    confidence = _share(entry["confidence"])
    if not 0 < confidence < 1:
        raise TypeError("confidence lies between 0 and 1")
    return CurveBand(
        tuple(PRCurve(_numbers(v["fpr"]), _numbers(v["fnr"])) for v in entry["splits"]),
        n,
        m,
        confidence,
        read_finite(entry["simultaneous_z"]),
        {
            name: (read_finite(low), read_finite(high))
            for name, (low, high) in entry["summaries"].items()
        },
    )


def read_test(entry: Any) -> TwoSampleTest:
    """Read a two-sample test."""
    method, n = entry["method"], entry["n_permutations"]
    if method not in ("binomial", "permutation") or not (n is None or type(n) is int):
        raise TypeError("a test is binomial, or of a number of permutations")
    return TwoSampleTest(_required(entry["accuracy"]), _required(entry["p_value"]), method, n)


def read_score(entry: Any) -> Score:
    """Read a score."""
    interval = entry["interval"]
    k = entry["k"]
    if not (k is None or type(k) is int):
        raise TypeError("the k of a score must be an integer")
    return Score(
        _required(entry["value"]),
        k,
        read_number(entry["expected_if_equal"]),
        None if interval is None else (_required(interval[0]), _required(interval[1])),
        read_number(entry["standard_deviation"]),
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


def read_mode(entry: Any) -> Mode:
    """Read a mode."""
    if entry["finding"] not in FINDINGS:
        raise TypeError(f"a mode is one of {', '.join(FINDINGS)}")
    pairs = {
        name: (_share(entry[name][0]), _share(entry[name][1]))
        for name in ("real_interval", "generated_interval")
    }
    nearest = {name: _rows(entry[name]) for name in ("nearest_real", "nearest_generated")}
    masses = {name: _share(entry[name]) for name in ("real_mass", "generated_mass", "p_value")}
    return Mode(finding=entry["finding"], **pairs, **nearest, **masses)  # type: ignore[arg-type]


def _rows(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(row) is int for row in values):
        raise TypeError("rows of samples must be a list of integers")
    return tuple(values)


def read_extremes(entry: Any) -> Extremes:
    """Read the most extreme samples of both sides."""
    sides = (
        tuple(_extreme(sample) for sample in entry[side])
        for side in ("worst_generated", "least_covered_real")
    )
    return Extremes(*sides)


def _extreme(entry: Any) -> Extreme:
    if type(entry["row"]) is not int or type(entry["nearest"]) is not int:
        raise TypeError("rows of samples must be integers")
    return Extreme(entry["row"], _required(entry["value"]), entry["nearest"])


def read_number(value: Any) -> float | None:
    """Read a number, or ``None``."""
    return None if value is None else _required(value)


def _required(value: Any) -> float:
    if value in ("inf", "-inf"):
        return float(value)
    if type(value) not in (int, float) or math.isnan(value):
        raise TypeError(f"expected a number, not {value!r:.40}")
    return float(value)


def read_finite(value: Any) -> float:
    """Read a number that is not infinite."""
    if math.isinf(number := _required(value)):
        raise TypeError("expected a finite number")
    return number


def _share(value: Any) -> float:
    if not 0 <= (number := _required(value)) <= 1:
        raise TypeError(f"expected a share between 0 and 1, not {number:g}")
    return number


def _numbers(values: Any) -> NDArray[np.float64]:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise TypeError("vertices must be lists of numbers")
    return np.array(values, dtype=np.float64)


def _without_infinities(value: Any) -> Any:
    """JSON has no infinity: the string "inf" stands for it."""
    if isinstance(value, Mapping):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    if isinstance(value, float | np.floating) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value
