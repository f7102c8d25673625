"""Every public name has an example that runs: ``--doctest-modules`` runs those of docstrings."""

import doctest
import inspect

import pytest

import precall
from precall import distributions, report, theory


def public_names():
    named = {f"precall.{name}": getattr(precall, name) for name in precall.__all__}
    for module in (distributions, report, theory):
        for name, value in vars(module).items():
            if not name.startswith("_") and not inspect.ismodule(value):
                named.setdefault(f"{module.__name__}.{name}", value)
    return {name: value for name, value in named.items() if not isinstance(value, str)}


NAMES = public_names()


def examples_of(value):
    text = inspect.getdoc(value) or ""
    assert "Examples\n--------" in text
    return doctest.DocTestParser().get_examples(text.partition("Examples\n--------")[2])


@pytest.mark.parametrize("name", NAMES)
def test_example(name):
    """It has expected output, and not everything in it is skipped."""
    value = NAMES[name]
    run = [e for e in examples_of(value) if doctest.SKIP not in e.options]
    assert any(example.want for example in run), name
    assert value.__module__.startswith("precall."), f"{name}: its docstring would not be collected"


def test_every_public_name_is_on_the_site():
    """The page of the API lists it, once."""
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
    listed = [line.strip() for line in page.read_text(encoding="utf-8").splitlines()]
    missing = {name for name in NAMES if listed.count(name.removeprefix("precall.")) != 1} - {
        "precall.distributions.true_curve"
    }  # precall.true_curve
    assert missing == set()
