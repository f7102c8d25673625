"""The JSON schema of results: what other programs may rely on.

It follows from the same annotations that documents are read by, so that the two cannot differ.
``schema.json`` beside this file is the published copy; ``python -m precall.results.schema`` writes
it anew.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import CURVE_SUMMARIES, SUMMARIES
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation
from precall.results.json_document import versioned
from precall.uncertainty.bands import CurveBand

PUBLISHED = Path(__file__).with_name("schema.json")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NOT_KEPT = frozenset({"replicates", "samples", "inputs"})
_NUMBER = {"$ref": "#/$defs/Number"}
_PLAIN = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: _NUMBER,
}

Schema = dict[str, Any]


def result_schema() -> Schema:
    """Return the schema of the documents that ``to_json`` of results and comparisons writes.

    Examples
    --------
    >>> schema = result_schema()
    >>> [entry["$ref"] for entry in schema["oneOf"]]
    ['#/$defs/EvaluationDocument', '#/$defs/ComparisonDocument']
    """
    version: Schema = {"format_version": {"const": versioned({})["format_version"]}}
    definitions: Schema = {
        "Number": {
            "description": "A number; JSON has no infinity, for which a string stands.",
            "anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}],
        },
        "EvaluationDocument": _document(version, "Evaluation"),
        "ComparisonDocument": _document(version, "Comparison"),
    }
    for kind in (Evaluation, Comparison):
        _schema_of(kind, definitions)
    results = {"$ref": "#/$defs/EvaluationDocument"}
    definitions["Comparison"]["properties"]["results"]["additionalProperties"] = results
    return {
        "$schema": _DIALECT,
        "$id": f"urn:precall:result:{version['format_version']['const']}",
        "title": "A result of precall",
        "oneOf": [{"$ref": f"#/$defs/{kind}Document"} for kind in ("Evaluation", "Comparison")],
        "$defs": definitions,
    }


def _document(version: Schema, kind: str) -> Schema:
    return {
        "type": "object",
        "properties": version,
        "required": list(version),
        "allOf": [{"$ref": f"#/$defs/{kind}"}],
    }


def _schema_of(kind: Any, definitions: Schema) -> Schema:
    """Return the schema of an annotation; classes that it names become definitions."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if origin in (UnionType, Union):  # with None
        return {"anyOf": [_schema_of(parts[0], definitions), {"type": "null"}]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        items: Schema = {"type": "array", "items": _schema_of(parts[0], definitions)}
        return items if ... in parts else items | {"minItems": len(parts), "maxItems": len(parts)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema_of(parts[1], definitions)}
    if not is_dataclass(kind) and kind not in _SPECIAL:
        raise TypeError(f"{kind!r} has no schema.")
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # classes hold results, which are being defined
        fields = _SPECIAL[kind]() if kind in _SPECIAL else _fields(kind, definitions)
        words = (kind.__doc__ or "").strip().partition("\n")[0].replace(":func:", "")
        definitions[kind.__name__] = _object(fields) | {"description": words}
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _fields(kind: type, definitions: Schema) -> Schema:
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in _NOT_KEPT}
    return {name: _schema_of(hint, definitions) for name, hint in hints.items()}


def _object(fields: Schema, required: list[str] | None = None) -> Schema:
    names = list(fields) if required is None else required
    return {"type": "object", "properties": fields, "required": names}


def _curve() -> Schema:
    """The fields of a curve: its vertices, and what is read off; an estimator's has its k."""
    rates = {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}}
    fields = {"vertices": _object({"fpr": rates, "fnr": rates})}
    return fields | dict.fromkeys(CURVE_SUMMARIES, _NUMBER)


def _band() -> Schema:
    """The fields of a band, as it is written."""
    ends = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    vertices = _curve()["vertices"]
    return {
        "confidence": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "simultaneous_z": {"type": "number"},
        "n_evaluated": {"type": "integer", "minimum": 1},
        "m_evaluated": {"type": "integer", "minimum": 1},
        "summaries": _object(dict.fromkeys(SUMMARIES, ends)),
        "splits": {"type": "array", "items": vertices, "minItems": 1},
    }


_SPECIAL: dict[Any, Callable[[], Schema]] = {PRCurve: _curve, CurveBand: _band}


def schema_text() -> str:
    """Return the schema as the text of the published file."""
    return json.dumps(result_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(schema_text(), encoding="utf-8")
