"""One self-contained page about one result or several: no network, nothing to install."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precall.evaluation.comparison import Comparison, Difference
from precall.findings.modes import Mode
from precall.findings.samples import Extreme
from precall.report.protocols import protocol_differences
from precall.report.thumbnails import Thumbnails, as_thumbnails
from precall.report.view import (
    chart_data,
    class_table,
    curve_table,
    difference_table,
    headline,
    mode_table,
    protocol_table,
    score_table,
    summary_table,
)
from precall.results.evaluation import Evaluation
from precall.runtime.output_files import write_text
from precall.version import __version__

__all__ = ["Pictures", "render_page", "write_page"]

_ASSETS = Path(__file__).parent / "assets"
_SAMPLES_SHOWN = 12
_PICTURES_OF_A_MODE = 5
_SIDES = ("real", "generated")


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """Where pictures of samples are: a folder, a manifest, an array, or nowhere."""

    real: object = None
    generated: Mapping[str, object] | None = None  # by model

    def of(self, model: str, result: Evaluation) -> dict[str, Thumbnails | None]:
        """Find the pictures of both sides of one result."""
        generated = (self.generated or {}).get(model)
        return {
            "real": as_thumbnails(self.real, result.protocol.n, "images_real"),
            "generated": as_thumbnails(generated, result.protocol.m, "images_generated"),
        }


def write_page(
    path: str | os.PathLike[str],
    results: Mapping[str, Evaluation],
    *,
    title: str | None = None,
    differences: Sequence[Difference] = (),
    pictures: Pictures | None = None,
) -> None:
    """Write the page to a file; see :func:`render_page`."""
    page = render_page(results, title=title, differences=differences, pictures=pictures)
    write_text(Path(path), page)


def render_page(
    results: Mapping[str, Evaluation],
    *,
    title: str | None = None,
    differences: Sequence[Difference] = (),
    pictures: Pictures | None = None,
) -> str:
    """Return the page as HTML.

    Names, labels and paths are text, whatever they contain.

    Parameters
    ----------
    results
        By the names of models; one or more.
    differences
        Between the models, if they were compared.
    pictures
        Of the samples, to show the extreme ones.
    """
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
    pictures = pictures or Pictures()
    several, data = len(results) > 1, chart_data(results)
    return environment.get_template("page.html").render(
        title=title or ("How the models fail" if several else "How the model fails"),
        version=__version__,
        style=Markup(_asset("page.css")),  # noqa: S704 our own file
        script=Markup(_asset("page.js")),  # noqa: S704 our own file
        plotly=Markup(get_plotlyjs()),  # noqa: S704 the library's own file
        several=several,
        differing=protocol_differences(results) if several else [],
        sentences=Comparison(results, tuple(differences)).verdicts(brief=True) if several else [],
        difference_table=difference_table(differences),
        models=[_model(name, r, pictures.of(name, r)) for name, r in results.items()],
        has_curves=any(result.curves for result in results.values()),
        summary_table=summary_table(results),
        curve_table=curve_table(results),
        score_table=score_table(results),
        protocol_table=protocol_table(results),
        calls=list(dict.fromkeys(result.protocol.call for result in results.values())),
        has_score_chart=any(s["isShare"] for model in data["models"] for s in model["scores"]),
        data=data,
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _model(name: str, result: Evaluation, pictures: dict[str, Thumbnails | None]) -> dict[str, Any]:
    """What is told of one model alone."""
    p = result.protocol
    verdict, *details = result.diagnosis()
    return {
        "name": name,
        "about": f"{p.n} real and {p.m} generated samples, {p.d} features",
        "verdict": verdict,
        "details": details,
        "tiles": headline(result),
        "warnings": list(result.warnings),
        "mode_table": mode_table(result.modes) if result.modes else None,
        "mode_pictures": [_mode_pictures(mode, pictures) for mode in result.modes],
        "class_table": class_table(result) if result.class_shares else None,
        "extremes": _extremes(result, pictures),
    }


def _extremes(result: Evaluation, pictures: dict[str, Thumbnails | None]) -> list[dict[str, Any]]:
    sides = (
        (
            "Least realistic generated samples",
            "realism below 1: outside of every ball around a real sample",
            "realism",
            ("generated", "real"),
            result.extremes.worst_generated,
        ),
        (
            "Least covered real samples",
            "distance to the nearest generated sample, in radii of its own ball",
            "distance",
            ("real", "generated"),
            result.extremes.least_covered_real,
        ),
    )
    return [
        {
            "title": title,
            "meaning": meaning,
            "unit": unit,
            "own": roles[0],
            "other": roles[1],
            "has_pictures": any(pictures[role] is not None for role in roles),
            "samples": [_sample(sample, roles, pictures) for sample in found[:_SAMPLES_SHOWN]],
        }
        for title, meaning, unit, roles, found in sides
        if found
    ]


def _sample(
    sample: Extreme, roles: tuple[str, str], pictures: dict[str, Thumbnails | None]
) -> dict[str, Any]:
    return {
        "row": sample.row,
        "nearest": sample.nearest,
        "value": f"{sample.value:.3g}",
        "picture": _picture(pictures[roles[0]], sample.row),
        "nearest_picture": _picture(pictures[roles[1]], sample.nearest),
    }


def _mode_pictures(
    mode: Mode, pictures: dict[str, Thumbnails | None]
) -> dict[str, list[str | None]]:
    rows = {"real": mode.nearest_real, "generated": mode.nearest_generated}
    return {
        role: [_picture(pictures[role], row) for row in rows[role][:_PICTURES_OF_A_MODE]]
        for role in _SIDES
        if pictures[role] is not None
    }


def _picture(pictures: Thumbnails | None, row: int) -> str | None:
    return None if pictures is None else pictures.data_uri(row)
