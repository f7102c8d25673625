"""From results to their JSON documents, and back.

Entries are read by the annotations of what they stand for, and checked: a forged or damaged
document is refused, not half understood.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, partial
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from precall.curves.best import BEST
from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import CURVE_SUMMARIES, SUMMARIES
from precall.errors import InputError
from precall.runtime.output_files import write_text
from precall.runtime.refusals import refusing
from precall.uncertainty.bands import CurveBand

if TYPE_CHECKING:
    from precall.results.evaluation import Evaluation

_FORMAT_VERSION = 7
_MOST_SAMPLES = 10**12
_DAMAGED = ArithmeticError, RecursionError, TypeError, ValueError
_annotations = cache(get_type_hints)


class EntryError(ValueError):
    """An entry of a document is not what it should be."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(f"{'.'.join(path)}: {reason}" if path else reason)
        self.reason, self.path = reason, path


def versioned(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of this version of the format."""
    return {"format_version": _FORMAT_VERSION, **entry}


def write_document(entry: Mapping[str, Any], path: str | PathLike[str] | None) -> str:
    """Return a document as JSON, infinities as the string "inf"; write it if a path is given."""
    text = json.dumps(_without_infinities(versioned(entry)), indent=2, allow_nan=False) + "\n"
    if path is not None:
        write_text(Path(path), text)
    return text


def read_document(source: str | PathLike[str]) -> dict[str, Any]:
    """Read a JSON object from a text or from the path of a file."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    else:
        message = f"cannot read a result from {str(source)!r:.200}: "
        with refusing(lambda error: f"{message}{error}.", OSError, TypeError, ValueError):
            text = Path(source).read_text(encoding="utf-8")
    with refusing(lambda e: f"this is not a JSON document: {e}.", ValueError, RecursionError):
        document = json.loads(text)
    if not isinstance(document, dict):
        raise InputError("this is not a result of precall: expected a JSON object.")
    return document


@contextmanager
def reading(source: str | PathLike[str], kind: str) -> Iterator[dict[str, Any]]:
    """Read a document; refuse another version, and what turns out not to be of this kind."""
    document = read_document(source)
    version = document.get("format_version")
    if version not in (None, _FORMAT_VERSION):
        raise InputError(
            f"this {kind} has format_version {version!r:.40}; this version of precall reads "
            f"{_FORMAT_VERSION}."
        )
    with refusing(lambda error: f"this is not a {kind} of precall: {error!s:.200}.", *_DAMAGED):
        if version is None:
            raise EntryError("format_version is missing")
        yield document


def evaluation_entry(result: "Evaluation") -> dict[str, Any]:
    """Everything about a result that is kept."""
    how = {name: {"k": k, "split": result.protocol.split} for name, k in result.protocol.k.items()}
    return {
        "protocol": asdict(result.protocol),
        "confidence": result.confidence,
        "modes": [asdict(mode) for mode in result.modes],
        "extremes": asdict(result.extremes),
        "reasons": asdict(result.reasons),
        "influences": [asdict(influence) for influence in result.influences],
        "warnings": list(result.warnings),
        "scores": {name: asdict(score) for name, score in result.scores.items()},
        "curves": {name: how[name] | _curve_entry(c) for name, c in result.curves.items()},
        "bands": {name: band.document() for name, band in result.bands.items()},
        "best_curve": None if result.best_curve is None else _curve_entry(result.best_curve),
        "tests": {name: asdict(test) for name, test in result.tests.items()},
        "class_shares": {label: asdict(share) for label, share in result.class_shares.items()},
        "guessed_shares": {label: asdict(one) for label, one in result.guessed_shares.items()},
        "classes": {label: evaluation_entry(part) for label, part in result.classes.items()},
    }


def check_evaluation(result: "Evaluation") -> None:
    """Check what annotations cannot say: that parts fit together."""
    if result.protocol.k.keys() != result.curves.keys():
        raise EntryError("protocol.k must name every curve")
    drawn = {*result.curves, *(() if result.best_curve is None else (BEST,))}
    if not result.bands.keys() <= drawn:
        raise EntryError("bands must be of curves that are there")
    worst, missed = result.extremes.worst_generated, result.extremes.least_covered_real
    real = [sample.row for sample in missed] + [sample.nearest for sample in worst]
    generated = [sample.row for sample in worst] + [sample.nearest for sample in missed]
    for mode in result.modes:
        real += mode.nearest_real
        generated += mode.nearest_generated
        shares = mode.real_mass, mode.generated_mass, *mode.real_interval, *mode.generated_interval
        if not all(0 <= share <= 1 for share in (*shares, mode.p_value)):
            raise EntryError("shares of a mode must lie between 0 and 1")
    real += [row for reason in result.reasons.real for row in reason.rows]
    generated += [row for reason in result.reasons.generated for row in reason.rows]
    for influence in result.influences:
        (real if influence.role == "real" else generated).extend(influence.rows)
    for rows, n in ((real, result.protocol.n), (generated, result.protocol.m)):
        if not all(0 <= row < n for row in rows):
            raise EntryError("a row of a sample is out of range")


def read_fields(kind: type, entry: Any, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read all fields of a dataclass but some; entries beside them are passed over."""
    hints = {name: hint for name, hint in _annotations(kind).items() if name not in without}
    if missing := [name for name in hints if name not in _expect(dict, entry)]:
        raise EntryError(f"{missing[0]} is missing")
    return {name: _read_at(name, hint, entry[name]) for name, hint in hints.items()}


def _read(kind: Any, entry: Any) -> Any:
    """Read an entry of a kind that an annotation names."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _READERS:
        return _READERS[kind](entry)
    if origin in (UnionType, Union):  # with None
        return None if entry is None else _read(parts[0], entry)
    if origin is Literal:
        if entry not in parts:
            raise EntryError(f"expected one of {', '.join(parts)}, not {entry!r:.40}")
        return entry
    if origin is tuple:
        if ... not in parts and len(_expect(list, entry)) != len(parts):
            raise EntryError(f"expected {len(parts)} entries, not {len(entry)}")
        items = enumerate(_expect(list, entry))
        return tuple(_read_at(str(i), parts[0], item) for i, item in items)
    if origin is Mapping:
        items = _expect(dict, entry).items()
        return {name: _read_at(name, parts[1], item) for name, item in items}
    return kind.of_entry(entry) if hasattr(kind, "of_entry") else kind(**read_fields(kind, entry))


def _read_at(name: str, kind: Any, entry: Any) -> Any:
    try:
        return _read(kind, entry)
    except EntryError as error:
        raise EntryError(error.reason, name, *error.path) from None


def _expect(kind: type, entry: Any) -> Any:
    if type(entry) is not kind:
        names = {dict: "an object", list: "a list", str: "text", int: "an integer"}
        raise EntryError(f"expected {names[kind]}, not {entry!r:.40}")
    return entry


def _read_number(entry: Any) -> float:
    is_number = type(entry) in (int, float) and not math.isnan(entry)
    if not is_number and entry not in ("inf", "-inf"):
        raise EntryError(f"expected a number, not {entry!r:.40}")
    return float(entry)


def _curve_entry(curve: PRCurve) -> dict[str, Any]:
    summaries = {key: summary.of(curve) for key, summary in CURVE_SUMMARIES.items()}
    return {"vertices": {"fpr": curve.fpr.tolist(), "fnr": curve.fnr.tolist()}, **summaries}


def _read_curve(entry: Any) -> PRCurve:
    """Read a curve from its vertices, which its summaries follow from."""
    vertices = _expect(dict, entry).get("vertices")
    return PRCurve(**_read_at("vertices", Mapping[str, tuple[float, ...]], vertices))


def _read_band(entry: Any) -> CurveBand:
    splits = _expect(list, _expect(dict, entry).get("splits"))
    known = {**entry, "curves": [{"vertices": vertices} for vertices in splits]}
    band = CurveBand(**read_fields(CurveBand, known, without=("draws",)))
    if not band.curves or band.summaries.keys() != SUMMARIES.keys():
        raise EntryError("expected one or more splits, and an interval of every summary")
    if not all(1 <= size <= _MOST_SAMPLES for size in (band.n_evaluated, band.m_evaluated)):
        raise EntryError("expected evaluated samples of both classes")
    ends = [end for interval in band.summaries.values() for end in interval]
    if not all(map(math.isfinite, [band.simultaneous_z, *ends])) or not 0 < band.confidence < 1:
        raise EntryError("expected finite intervals, and a confidence between 0 and 1")
    return band


_READERS: dict[Any, Callable[[Any], Any]] = {
    str: partial(_expect, str),
    int: partial(_expect, int),
    float: _read_number,
    PRCurve: _read_curve,
    CurveBand: _read_band,
}


def _without_infinities(value: Any) -> Any:
    """JSON has no infinity: the string "inf" stands for it."""
    if isinstance(value, Mapping):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    if isinstance(value, float | np.floating) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value
