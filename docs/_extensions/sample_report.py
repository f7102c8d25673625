"""A report to look at: the page that ``precall demo`` writes, beside the others."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.application import Sphinx

from precall.experiments.digits_demo import run_demo


def _write(app: Sphinx, error: Exception | None) -> None:
    page = Path(app.outdir) / "report.html"
    if error is None and app.builder.format == "html" and not page.exists():
        with TemporaryDirectory() as folder:
            shutil.copy(run_demo(Path(folder)).report, page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page when all others are."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
