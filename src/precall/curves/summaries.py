"""The numbers that sum up a curve, listed once: for JSON, tables, intervals and comparisons."""

from collections.abc import Callable
from dataclasses import dataclass

from precall.curves.pr_curve import PRCurve


@dataclass(frozen=True, slots=True)
class CurveSummary:
    """A number that is read off a curve."""

    key: str  # in JSON
    heading: str  # of a column, in the lines it may take; what it weighs in parentheses
    of: Callable[[PRCurve], float]
    has_interval: bool = True  # where the splits were repeated

    @property
    def name(self) -> str:
        """The heading in one line, without what is in parentheses."""
        return self.heading.split("\n(")[0].replace("\n", " ")


CURVE_SUMMARIES = {  # in the order of JSON
    summary.key: summary
    for summary in (
        CurveSummary("max_precision", "max\nprecision", lambda c: c.max_precision, False),
        CurveSummary("max_recall", "max\nrecall", lambda c: c.max_recall, False),
        CurveSummary("f_8", "F 8\n(recall)", lambda c: c.f_score(8)),
        CurveSummary("f_1_8", "F 1/8\n(precision)", lambda c: c.f_score(1 / 8)),
        CurveSummary("f_1", "F 1", lambda c: c.f_score(1)),
        CurveSummary("median_precision", "median\nprecision", lambda c: c.median().precision),
        CurveSummary("median_recall", "median\nrecall", lambda c: c.median().recall),
        CurveSummary("area", "area", lambda c: c.area),
        CurveSummary("total_variation", "total\nvariation", lambda c: c.total_variation),
        CurveSummary("jensen_shannon", "Jensen–\nShannon", lambda c: c.jensen_shannon, False),
        CurveSummary("hellinger", "Hellinger", lambda c: c.hellinger, False),
    )
}

IN_TABLES = tuple(  # precision before recall
    CURVE_SUMMARIES[key]
    for key in (
        "max_precision", "max_recall", "f_1_8", "f_8", "f_1",
        "median_precision", "median_recall", "area", "total_variation",
    )
)  # fmt: skip

SUMMARIES: dict[str, Callable[[PRCurve], float]] = {  # those that have intervals
    key: summary.of for key, summary in CURVE_SUMMARIES.items() if summary.has_interval
}
