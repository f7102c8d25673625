"""What loggers of training runs take beside numbers, each in its own way: pictures and pages.

Loggers are known by what they offer, so that none of their libraries is needed here: TensorBoard by
``experiment.add_figure``, Weights & Biases by ``log_image``, MLflow by ``experiment.log_artifact``
and a ``run_id``. Others, such as CSV files, take numbers only.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precall.report.plots import plot_curves
from precall.results.evaluation import Evaluation
from precall.runtime.refusals import needed


@dataclass(frozen=True, slots=True)
class Exhibits:
    """A result to look at: a picture of its curves, its page, its table."""

    figure: Any  # of matplotlib
    picture: Path  # the same, as a file
    report: Path | None
    table: str  # Markdown

    @classmethod
    def of(cls, result: Evaluation, folder: Path, name: str, *, report: bool) -> "Exhibits":
        """Draw the curves of a result and, if asked for, write its page into a folder."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 5), layout="constrained")
        axes = figure.subplots()
        if result.curves:
            plot_curves(result, axes)
        picture = folder / f"{name}.png"
        figure.savefig(picture, dpi=120)
        page = folder / f"{name}.html" if report else None
        if page is not None:
            result.to_html(page, title=name)
        return cls(figure, picture, page, result.to_markdown())


def show(logger: Any, exhibits: Exhibits, prefix: str, step: int) -> None:
    """Hand a result to a logger, as far as it takes more than numbers."""
    experiment: Any = getattr(logger, "experiment", None)
    if hasattr(experiment, "add_figure"):
        experiment.add_figure(f"{prefix}curves", exhibits.figure, step, close=False)
        experiment.add_text(f"{prefix}table", exhibits.table, step)
    elif hasattr(logger, "log_image"):
        logger.log_image(f"{prefix}curves", [str(exhibits.picture)], step)
        if exhibits.report is not None:
            wandb = needed("wandb", "logging pages needs", "wandb")
            logger.log_metrics({f"{prefix}report": wandb.Html(str(exhibits.report))}, step)
    elif hasattr(experiment, "log_artifact") and hasattr(logger, "run_id"):
        for path in (exhibits.picture, exhibits.report):
            if path is not None:
                experiment.log_artifact(logger.run_id, str(path), prefix.strip("/") or None)
