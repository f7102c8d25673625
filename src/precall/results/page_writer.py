"""Who writes pages about results: the report builds on results, so that it says so itself."""

from collections.abc import Callable

PageWriter = Callable[..., None]  # called like precall.report.page.write_page

_registered: list[PageWriter] = []


def register_page_writer(function: PageWriter) -> None:
    """Let ``to_html`` of results and comparisons call this function from now on."""
    _registered[:] = [function]


def page_writer() -> PageWriter:
    """Return the function that was registered last."""
    if not _registered:
        raise RuntimeError("nothing can write pages yet; import precall.report.page first.")
    return _registered[0]
