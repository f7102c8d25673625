"""What the published schema promises, real documents of many kinds keep."""

import copy
import json
from collections.abc import Iterator

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import precall
from precall.cli import _cli
from precall.results.schema import PUBLISHED, result_schema, schema_text

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (160, 4)), RNG.normal(0.4, 1, (150, 4))
OF_A_CURVE = {"k", "split"}  # said of the curves of estimators, beside what every curve has


def strict(schema):
    """The same schema, which also refuses what it does not name."""
    schema = copy.deepcopy(schema)
    schema["$defs"]["PRCurve"]["properties"] |= {key: {} for key in OF_A_CURVE}
    for name in ("Evaluation", "Comparison"):
        schema["$defs"][name]["properties"]["format_version"] = {}
    for entry in objects(schema):
        if "properties" in entry and "allOf" not in entry:
            entry["additionalProperties"] = False
    return Draft202012Validator(schema)


def objects(schema) -> Iterator[dict]:
    if isinstance(schema, dict):
        yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for item in schema:
            yield from objects(item)


def evaluations():
    labels = np.where(REAL[:, 0] > 0, "a", "b")
    yield "default", precall.evaluate(REAL, GENERATED)
    yield "all scores", precall.evaluate(REAL, GENERATED, estimators=(), scores="all")
    yield "several k", precall.evaluate(REAL, GENERATED, score_k=[1, 3], headline=False)
    yield "preset", precall.evaluate(REAL, GENERATED, convention="prdc", split=True)
    yield "no split", precall.evaluate(REAL, GENERATED, split=False, scores=())
    yield "nothing", precall.evaluate(REAL, GENERATED, estimators=(), scores=())
    yield (
        "intervals, modes, ceiling",
        precall.evaluate(REAL, GENERATED, intervals=True, modes=3, ceiling=True),
    )
    yield (
        "classes",
        precall.evaluate(
            REAL, GENERATED, estimators=["knn"], headline=False, labels_real=labels, intervals=True
        ),
    )
    yield (
        "cross-validated",
        precall.evaluate(REAL, GENERATED, estimators=[precall.KNN("cv"), "classifier"], scores=()),
    )
    far = GENERATED.copy()
    far[0] = 1e6
    yield "outlier", precall.evaluate(REAL, far, estimators=(), scores=["recall"])
    yield "copies", precall.evaluate(REAL, REAL, estimators=())  # realism is infinite
    pixels = RNG.integers(0, 256, (2, 60, 8, 8, 3), dtype=np.uint8)
    yield "pictures", precall.evaluate(*pixels, features="pixels:4", estimators=(), scores=())


@pytest.fixture(scope="module")
def results():
    return dict(evaluations())


def test_evaluations_validate(results):
    validator = strict(result_schema())
    for kind, result in results.items():
        errors = [e.json_path + ": " + e.message for e in _errors(validator, result.to_json())]
        assert errors == [], kind


def test_comparisons_validate():
    found = precall.compare(
        REAL, {"a": GENERATED, "b": GENERATED + 1}, estimators=["knn", "coverage"], headline=False
    )
    assert not _errors(strict(result_schema()), found.to_json())


def _errors(validator, text):
    document = json.loads(text)
    kind = "Comparison" if "results" in document else "Evaluation"
    of_kind = validator.evolve(schema=validator.schema | {"oneOf": [_reference(kind)]})
    return list(of_kind.iter_errors(document))


def _reference(kind):
    return {"$ref": f"#/$defs/{kind}Document"}


def test_whatever_a_reader_refuses_the_schema_refuses(results):
    validator = Draft202012Validator(result_schema())
    document = json.loads(results["default"].to_json())
    assert validator.is_valid(document)
    for damage in (
        lambda d: d.pop("protocol"),
        lambda d: d.update(format_version=1),
        lambda d: d["scores"]["recall"].update(value="high"),
        lambda d: d["scores"]["recall"].pop("k"),
        lambda d: d["protocol"].update(n="many"),
        lambda d: d["curves"]["knn"].pop("vertices"),
        lambda d: d["curves"]["knn"]["vertices"].update(fpr=[2.0]),
        lambda d: d.update(modes={}),
    ):
        damaged = copy.deepcopy(document)
        damage(damaged)
        assert not validator.is_valid(damaged)
        with pytest.raises(precall.InputError):
            precall.Evaluation.from_json(json.dumps(damaged))


def test_published_file_is_the_schema_of_this_version():
    """``python -m precall.results.schema`` writes it anew."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()
    Draft202012Validator.check_schema(result_schema())


def test_command_prints_the_published_file():
    printed = CliRunner().invoke(_cli, ["schema"])
    assert printed.output == schema_text()
