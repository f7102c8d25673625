"""What calls itself frozen is: no mapping of a result can be changed, and copies are whole."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace

import numpy as np
import pytest

import precall

RNG = np.random.default_rng(0)
REAL, GENERATED, OTHER = RNG.normal(size=(3, 120, 3))
LABELS = np.arange(120) % 2


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(
        REAL, GENERATED, estimators=["knn"], intervals=True, modes=2, labels_real=LABELS
    )


@pytest.fixture(scope="module")
def comparison():
    return precall.compare(REAL, {"a": GENERATED, "b": OTHER}, estimators=["knn"])


def mappings_of(thing, name=""):
    """Every mapping inside of a result."""
    if isinstance(thing, Mapping):
        yield name, thing
        for key, part in thing.items():
            yield from mappings_of(part, f"{name}[{key!r}]")
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from mappings_of(getattr(thing, field.name), f"{name}.{field.name}")


@pytest.mark.parametrize("fixture", ["result", "comparison"])
def test_no_mapping_can_be_changed(request, fixture):
    found = dict(mappings_of(request.getfixturevalue(fixture)))
    assert len(found) > 20
    for name, mapping in found.items():
        for change in (
            lambda m: m.__setitem__("x", 1),
            lambda m: m.__delitem__(next(iter(m), "x")),
            lambda m: m.update(x=1),
            lambda m: m.pop("x", None),
            lambda m: m.popitem(),
            lambda m: m.setdefault("x", 1),
            lambda m: m.__ior__({"x": 1}),
            lambda m: m.clear(),
        ):
            before = list(mapping)
            with pytest.raises(TypeError, match="read-only; change a copy"):
                change(mapping)
            assert list(mapping) == before, name


def test_copies_are_whole(result, comparison):
    for thing in (result, comparison, replace(result, warnings=())):
        for again in (copy.deepcopy(thing), copy.copy(thing), pickle.loads(pickle.dumps(thing))):  # noqa: S301
            assert again.to_json() == thing.to_json()
            assert dict(mappings_of(again)).keys() == dict(mappings_of(thing)).keys()
    changed = dict(result.scores) | {"mine": precall.Score(0.5)}
    assert "mine" in replace(result, scores=changed).scores
    assert "mine" not in result.scores
    assert asdict(result.protocol)["k"] == dict(result.protocol.k)
    with pytest.raises(TypeError):
        replace(result, scores=changed).scores["mine"] = None
