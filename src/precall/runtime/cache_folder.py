"""Where precall keeps what would take long to make again."""

import os
from pathlib import Path

_VARIABLE = "PRECALL_CACHE"


def cache_folder() -> Path:
    """The folder that PRECALL_CACHE names, or precall's own among the user's caches."""
    if named := os.environ.get(_VARIABLE):
        return Path(named)
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "precall"
