"""What a page is about, and its sections in their order.

A section is a function from what the page is about to what the fragment of its name in
``assets/sections`` shows, there called ``shown``; or to ``None`` to be left out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self, TypeVar

from precall.monitoring.checkpoints import are_checkpoints, natural_order
from precall.monitoring.timeline import TimeLine
from precall.report import tables, timelines
from precall.report.previews import InputPreviews
from precall.report.protocol_tables import protocol_tables
from precall.report.protocols import protocol_differences
from precall.report.thumbnails import Preview, Previews, as_thumbnails, unreadable
from precall.report.words import difference_in_words, in_words, names_in_words, sentence_in_words
from precall.results.comparison import Comparison
from precall.results.evaluation import Evaluation
from precall.results.tables import decimals, half_width, percent
from precall.scores import HEADLINE, METRICS, Score

About = TypeVar("About")
Shown = Mapping[str, Any] | None
Section = Callable[[About], Shown]

_FAMILIAR = ("precision", "recall", "density", "coverage")
_SAMPLES_SHOWN = 12
_PICTURES_OF_A_MODE = 5
_ROWS_SHOWN = 12  # of a table below a chart, before it is folded


class Tile(NamedTuple):
    """A number to look at."""

    name: str
    value: str
    spread: str  # half of its interval
    meaning: str  # what it is, and how it is found


def _spread(score: Score, factor: float) -> str:
    half = half_width(score)
    return "" if half is None else f"± {factor * half:.{1 if factor > 1 else 3}f}"


def _at_its_k(name: str, score: Score) -> str:
    return in_words(name if score.k is None else f"{name.removesuffix(f'_k{score.k}')}_k{score.k}")


def _meaning(name: str, score: Score) -> str:
    """Say what a number of the headline is, and how it is found."""
    if not score.tests:
        return f"{HEADLINE[name]}, by the best of several classifiers over five folds"
    failed = min(score.tests, key=lambda test: score.tests[test])
    return (
        f"{HEADLINE[name]}, by the test that most fail: {failed}, one of {len(score.tests)} that "
        f"each leave out {percent(score.epsilon)} of the other side"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One model, and pictures of its samples."""

    number: int
    name: str
    result: Evaluation
    diagnosis: Sequence[str]
    pictures: Mapping[str, Previews]  # of real, of generated; those that there are

    def picture(self, role: str, row: int) -> Preview | None:
        """Return a sample as the page shows it: a picture, a text or a sound, if there is one."""
        return self.pictures[role].show(row) if role in self.pictures else None

    def unreadable_pictures(self) -> str:
        """Say how many of the pictures shown so far cannot be read, if there are such."""
        return unreadable(self.pictures.values())

    def warnings(self) -> list[str]:
        """Return the caveats of the result."""
        return [names_in_words(text) for text in self.result.warnings]

    def headline(self) -> list[Tile]:
        """Return the numbers to look at first."""
        scores = self.result.scores
        known = {name: scores[name] for name in HEADLINE if name in scores}
        return [
            Tile(in_words(name), percent(score.value), _spread(score, 100), _meaning(name, score))
            for name, score in known.items()
        ]

    def familiar(self) -> list[Tile]:
        """Return the scores that papers compare, each at its k."""
        return [
            Tile(
                _at_its_k(name, score),
                decimals(score.value),
                _spread(score, 1),
                sentence_in_words(METRICS[known].sentence),
            )
            for name, score in self.result.scores.items()
            if (known := name.removesuffix(f"_k{score.k}")) in _FAMILIAR
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One model or several, how they differ, and where pictures of their samples are."""

    comparison: Comparison
    models: Sequence[Model]

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        images_real: object,
        images_generated: Mapping[str, object],
    ) -> Self:
        """Find the pictures of every model, and say what is wrong with it."""
        models = []
        for number, (name, result) in enumerate(comparison.results.items()):
            p, drawn = result.protocol, images_generated.get(name)
            found: dict[str, Previews | None] = {
                "real": as_thumbnails(images_real, p.n, "images_real"),
                "generated": as_thumbnails(drawn, p.m, "images_generated"),
            }
            for role, inputs in result.inputs.items():  # unless others are given
                found[role] = found[role] or InputPreviews(inputs)
            pictures = {role: of_role for role, of_role in found.items() if of_role is not None}
            models.append(Model(number, name, result, result.diagnosis(), pictures))
        return cls(comparison, models)

    @property
    def results(self) -> Mapping[str, Evaluation]:
        """By model."""
        return self.comparison.results

    @property
    def several(self) -> bool:
        """Whether there is more than one model."""
        return len(self.models) > 1

    def over_time(self) -> dict[str, Evaluation]:
        """Return the results of checkpoints in their order, however they were given."""
        return {name: self.results[name] for name in natural_order(self.results)}

    def unreadable_pictures(self) -> str:
        """Say how many pictures of all models cannot be read; each file counts once."""
        return unreadable(side for model in self.models for side in model.pictures.values())


def shown_by(sections: Iterable[Section[About]], about: About) -> dict[str, Mapping[str, Any]]:
    """Return what the sections that are not left out show, by their names."""
    found = {section.__name__: section(about) for section in sections}
    return {name: shown for name, shown in found.items() if shown is not None}


def summary(subject: Subject) -> Shown:
    """In words, and the numbers to look at first."""
    return {
        "differing": protocol_differences(subject.results),
        "sentences": subject.comparison.verdicts(difference_in_words) if subject.several else [],
        "differences": tables.difference_table(subject.comparison.differences),
    }


def timeline(subject: Subject) -> Shown:
    """What checkpoints of one model have in common: numbers over time."""
    if not are_checkpoints(subject.results):
        return None
    results = subject.over_time()
    return shown_timeline(TimeLine.of(results), results)


def shown_timeline(line: TimeLine, results: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return what the section about results over time shows."""
    return {
        "is_summary": False,
        "title": timelines.title_of(line),
        "differing": [],
        "refused": [],
        "sentences": timelines.sentences_of(line),
        "charts": [timelines.track_in_words(track) for track in line.tracks.values()],
        "has_intervals": any(result.confidence for result in results.values()),
        "intervals": timelines.interval_in_words(results),
        "table": timelines.timeline_table(line),
    }


def curves(subject: Subject) -> Shown:
    """All curves, and what is read off them."""
    if not any(result.curves for result in subject.results.values()):
        return None
    summaries, others = tables.summary_tables(subject.results)
    return {
        "trade_offs": tables.trade_off_table(subject.results),
        "summaries": summaries,
        "others": others,
        "has_bands": any(result.bands for result in subject.results.values()),
    }


def scores(subject: Subject) -> Shown:
    """All scores."""
    found = [score for result in subject.results.values() for score in result.scores.items()]
    if not found:
        return None
    names = dict.fromkeys(name.removesuffix(f"_k{score.k}") for name, score in found)
    sentences = HEADLINE | {name: metric.sentence for name, metric in METRICS.items()}
    return {
        "has_chart": not all(math.isnan(score.value) for _, score in found),
        "has_intervals": any(score.interval for _, score in found),
        "table": tables.score_table_in_words(subject.results),
        "most_rows": _ROWS_SHOWN,
        "meanings": {
            in_words(name): sentence_in_words(sentences[name])
            for name in names
            if name in sentences
        },
    }


def models(subject: Subject) -> Shown:
    """What is told of each model alone, in parts."""
    found = [(model, shown_by(PARTS, model)) for model in subject.models]
    shown = [(model, parts) for model, parts in found if parts or subject.several]
    return {"models": shown} if shown else None


def protocol(subject: Subject) -> Shown:
    """How every result came about."""
    calls = dict.fromkeys(result.protocol.call for result in subject.results.values())
    return {"calls": list(calls), "tables": protocol_tables(subject.results)}


def modes(model: Model) -> Shown:
    """Modes or regions of the data, and samples in the middle of each."""
    found = model.result.modes
    if not found:
        return None
    return {
        "modes": found,
        "kind": found[0].kind,
        "most_pictures": _PICTURES_OF_A_MODE,
        "table": tables.mode_table(found),
    }


def extremes(model: Model) -> Shown:
    """The samples to look at first, beside the nearest of the other side."""
    found = asdict(model.result.extremes)
    shown = {side: samples[:_SAMPLES_SHOWN] for side, samples in found.items()}
    return shown if any(shown.values()) else None


def classes(model: Model) -> Shown:
    """Shares and scores, class by class."""
    return {"table": tables.class_table(model.result)} if model.result.class_shares else None


SECTIONS: tuple[Section[Subject], ...] = (summary, timeline, curves, scores, models, protocol)
PARTS: tuple[Section[Model], ...] = (modes, extremes, classes)  # of what is told of each model
