"""One self-contained page about one result or several: no network, nothing to install."""

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from precall.errors import PrecallWarning
from precall.monitoring.checkpoints import are_checkpoints
from precall.monitoring.timeline import TimeLine
from precall.report.charts import chart_data
from precall.report.sections import SECTIONS, Subject, shown_by
from precall.report.timelines import timeline_data
from precall.results.comparison import Comparison
from precall.results.differences import CurveDifference, Difference
from precall.results.evaluation import Evaluation
from precall.results.page_writer import register_page_writer
from precall.runtime.output_files import write_text
from precall.version import __version__

_ASSETS = Path(__file__).parent / "assets"


def write_page(
    path: str | PathLike[str], results: Mapping[str, Evaluation], **options: Any
) -> None:
    """Write the page to a file; see :func:`render_page`."""
    write_text(Path(path), render_page(results, **options))


def render_page(
    results: Mapping[str, Evaluation],
    *,
    title: str | None = None,
    differences: Sequence[Difference] = (),
    curve_differences: Sequence[CurveDifference] = (),
    images_real: object = None,
    images_generated: Mapping[str, object] | None = None,
) -> str:
    """Return the page about one model or several as HTML; see :meth:`precall.Comparison.to_html`.

    Names, labels and paths are text, whatever they contain.
    """
    found = tuple(differences), tuple(curve_differences)
    subject = Subject.of(Comparison(results, *found), images_real, images_generated or {})
    page = rendered(
        "page.html",
        title=title or ("How the models fail" if subject.several else "How the model fails"),
        subject=subject,
        sections=shown_by(SECTIONS, subject),
        data=chart_data(results) | _over_time(subject),
    )
    if text := subject.unreadable_pictures():
        warnings.warn(text, PrecallWarning, stacklevel=2)
    return page


def rendered(template: str, **shown: Any) -> str:
    """Fill in a template of a page that needs nothing beside itself."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(template).render(
        version=__version__,
        style=Markup(_asset("page.css")),  # noqa: S704 our own file
        script=Markup(_asset("timeline.js") + _asset("page.js")),  # noqa: S704 our own files
        plotly=Markup(get_plotlyjs()),  # noqa: S704 the library's own file
        **shown,
    )


def _over_time(subject: Subject) -> dict[str, Any]:
    """Return what is drawn of results over time, if the models are checkpoints of one."""
    if not are_checkpoints(subject.results):
        return {}
    results = subject.over_time()
    return {"timeLine": timeline_data(TimeLine.of(results), results, with_curves=False)}


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


register_page_writer(write_page)
