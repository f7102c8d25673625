"""Files are written whole or not at all: to a temporary neighbour, then renamed."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from precall.errors import InputError


def check_target(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Raise, before any work is done, if ``path`` cannot be written or is one of ``inputs``."""
    if path.is_dir():
        raise InputError(f"cannot write to {path}: it is a folder.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write to {path}: there is no folder {path.parent}.")
    if path.exists() and any(_is_part_of(path, other) for other in inputs):
        raise InputError(f"cannot write to {path}: it is one of the inputs.")
    if path.exists() and not path.is_file():
        return  # a pipe or a device
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror or error}.") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; what is written there becomes ``path`` if no error is raised.

    A link keeps pointing where it did. Pipes and devices cannot be replaced: these are written to.
    """
    check_target(path)
    path = path.resolve()
    if path.exists() and not path.is_file():
        yield path
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)  # it can only be read by setting it
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # odd file names


def _is_part_of(path: Path, other: Path) -> bool:
    """Whether a file is the other, or in it if that is a folder."""
    if not other.exists():
        return False
    return path.samefile(other) or (other.is_dir() and path.resolve().parent == other.resolve())
