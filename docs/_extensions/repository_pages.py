"""Pages of the repository that lie outside of docs/, and links that leave it.

A page whose first line is ``% page: ../CHANGELOG.md`` shows that file. Links are written for
readers of the repository; those to files that have no page on the site become their names.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

_MARK = re.compile(r"^% page: (\S+)\s*$", re.MULTILINE)
_LAST_LINE = re.compile(r"\n\n```$", re.MULTILINE)  # doctest asks for it; readers do not
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def _shown_elsewhere(docs: Path) -> dict[Path, Path]:
    """Files outside of docs/, and the pages that show them."""
    found = {}
    for page in docs.rglob("*.md"):
        if mark := _MARK.match(page.read_text(encoding="utf-8")):
            found[(page.parent / mark[1]).resolve()] = page
    return found


def _rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    docs = Path(app.srcdir).resolve()
    page = docs / f"{docname}.md"
    if not page.is_file():
        return
    origin = page
    if mark := _MARK.match(source[0]):
        origin = (page.parent / mark[1]).resolve()
        app.env.note_dependency(str(origin))
        source[0] = origin.read_text(encoding="utf-8")
    elsewhere = _shown_elsewhere(docs)

    def link(found: re.Match[str]) -> str:
        target = (origin.parent / found[2]).resolve()
        if not target.exists():
            return found[0]  # the build complains
        target = elsewhere.get(target, target)
        if not target.is_relative_to(docs) or target.is_dir():
            return found[1]
        to = Path(os.path.relpath(target, page.parent)).as_posix()
        return f"[{found[1]}]({to}{found[3] or ''})"

    source[0] = _LINK.sub(link, _LAST_LINE.sub("\n```", source[0]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Rewrite pages as they are read."""
    app.connect("source-read", _rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
