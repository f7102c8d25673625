"""A page that follows results over time; written anew whenever there are others."""

from collections.abc import Mapping
from pathlib import Path

from precall.monitoring.timeline import TimeLine
from precall.report.charts import shown_trade_offs
from precall.report.page import rendered
from precall.report.protocol_tables import protocol_tables
from precall.report.protocols import protocol_differences
from precall.report.sections import shown_timeline
from precall.report.timelines import timeline_data
from precall.results.evaluation import Evaluation
from precall.runtime.output_files import write_text

_MOST_REFUSED = 5
_TITLE = "How the model gets on"


def write_watch_page(
    path: Path,
    results: Mapping[str, Evaluation],
    *,
    refused: Mapping[str, str] | None = None,
    title: str | None = None,
    refresh_seconds: float | None = None,
) -> TimeLine:
    """Write the page whole or not at all; return what it says.

    Parameters
    ----------
    results
        In their order.
    refused
        Files that hold no result, and why.
    refresh_seconds
        How often the page is to look whether it was written anew; ``None`` for never.
    """
    line = TimeLine.of(results)
    last, latest = [*results.items()][-1]
    data = timeline_data(line, results, with_curves=True, refresh_seconds=refresh_seconds)
    p, n = latest.protocol, len(results)
    shown = shown_timeline(line, results) | {
        "is_summary": True,
        "differing": protocol_differences(results),
        "refused": _refused(refused or {}),
    }
    sections: dict[str, object] = {"timeline": shown}
    if data["curves"]:
        has_bands = any("band" in curve for curve in data["curves"])
        sections["checkpoint_curves"] = {"last": n - 1, "has_bands": has_bands}
    sections["protocol"] = {"calls": [p.call], "tables": protocol_tables({last: latest})}
    about = (
        f"{n} result{'s' * (n > 1)}, the last is {last}: {p.n} real and {p.m} generated samples, "
        f"{p.d} features{p.model}"
    )
    drawn = {"tradeOffs": shown_trade_offs(), "models": [], "scales": [], "timeLine": data}
    page = rendered(
        "timeline.html", title=title or _TITLE, about=about, sections=sections, data=drawn
    )
    write_text(path, page)
    return line


def _refused(files: Mapping[str, str]) -> list[str]:
    told = [f"{name}.json: {reason}." for name, reason in files.items()]
    more = len(told) - _MOST_REFUSED
    return told[:_MOST_REFUSED] + ([f"{more} more."] if more > 0 else [])
