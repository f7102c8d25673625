"""The sections of a page, in their order.

A section is a function from what the page is about to what the fragment of its name in
``assets/sections`` shows, there called ``shown``; or to ``None`` to be left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from precall.report import tables
from precall.report.charts import is_drawable
from precall.report.protocols import protocol_differences
from precall.report.subject import Model, Subject
from precall.results.comparison import Comparison
from precall.results.tables import class_table

About = TypeVar("About")
Shown = Mapping[str, Any] | None
Section = Callable[[About], Shown]

_SAMPLES_SHOWN = 12
_PICTURES_OF_A_MODE = 5


def shown_by(sections: Iterable[Section[About]], about: About) -> dict[str, Mapping[str, Any]]:
    """Return what the sections that are not left out show, by their names."""
    found = {section.__name__: section(about) for section in sections}
    return {name: shown for name, shown in found.items() if shown is not None}


def summary(subject: Subject) -> Shown:
    """In words, and the numbers to look at first."""
    comparison = Comparison(subject.results, tuple(subject.differences))
    return {
        "differing": protocol_differences(subject.results),
        "sentences": comparison.verdicts(brief=True) if subject.several else [],
        "differences": tables.difference_table(subject.differences),
    }


def curves(subject: Subject) -> Shown:
    """All curves, and what is read off them."""
    if not any(result.curves for result in subject.results.values()):
        return None
    return {
        "trade_offs": tables.trade_off_table(subject.results),
        "summaries": tables.summary_table(subject.results),
    }


def scores(subject: Subject) -> Shown:
    """All scores."""
    found = [score for result in subject.results.values() for score in result.scores.items()]
    if not found:
        return None
    has_chart = any(is_drawable(name, score) for name, score in found)
    return {"has_chart": has_chart, "table": tables.score_table(subject.results)}


def models(subject: Subject) -> Shown:
    """What is told of each model alone, in parts."""
    found = [(model, shown_by(PARTS, model)) for model in subject.models]
    shown = [(model, parts) for model, parts in found if parts or subject.several]
    return {"models": shown} if shown else None


def protocol(subject: Subject) -> Shown:
    """How every result came about."""
    calls = dict.fromkeys(result.protocol.call for result in subject.results.values())
    return {"calls": list(calls), "table": tables.protocol_table(subject.results)}


def modes(model: Model) -> Shown:
    """Modes of the data, and samples in the middle of each."""
    found = model.result.modes
    if not found:
        return None
    return {"modes": found, "most_pictures": _PICTURES_OF_A_MODE, "table": tables.mode_table(found)}


def extremes(model: Model) -> Shown:
    """The samples to look at first, beside the nearest of the other side."""
    found = asdict(model.result.extremes)
    shown = {side: samples[:_SAMPLES_SHOWN] for side, samples in found.items()}
    return shown if any(shown.values()) else None


def classes(model: Model) -> Shown:
    """Shares and scores, class by class."""
    return {"table": class_table(model.result, on_page=True)} if model.result.class_shares else None


SECTIONS: tuple[Section[Subject], ...] = (summary, curves, scores, models, protocol)
PARTS: tuple[Section[Model], ...] = (modes, extremes, classes)  # of what is told of each model
