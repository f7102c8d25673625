"""Files by name, on this machine or wherever fsspec reaches: opened, listed, known again."""

import os
from pathlib import Path
from typing import Any

from precall.data.readers.array_location import unfolded
from precall.errors import InputError
from precall.runtime.refusals import needed

_NEEDS = "files on other machines need"


def as_name(path: str | os.PathLike[str]) -> str:
    """Return a URL as it is, and of a path the absolute one."""
    url = unfolded(os.fspath(path))
    return url if is_url(url) and not Path(path).exists() else str(Path(path).absolute())


def is_url(name: str) -> bool:
    """Whether a name is that of a file which fsspec has to open."""
    return "://" in name


def filesystem_of(name: str) -> tuple[Any, str]:
    """Return what fsspec reaches a file by, and the file's name there."""
    fsspec = needed("fsspec", _NEEDS, "'precall[cluster]'")
    try:
        filesystem, inside = fsspec.core.url_to_fs(name)
    except ValueError as error:
        raise InputError(f"{name} cannot be opened: {error}.") from error
    return filesystem, inside


def open_file(name: str) -> Any:
    """Open a file for reading bytes at any place."""
    if not is_url(name):
        return Path(name).open("rb")
    filesystem, inside = filesystem_of(name)
    return filesystem.open(inside, "rb")


def is_folder(name: str) -> bool:
    """Whether files may be in it."""
    if not is_url(name):
        return Path(name).is_dir()
    filesystem, inside = filesystem_of(name)
    return bool(filesystem.isdir(inside))


def files_in(name: str, ending: str) -> list[str]:
    """Return the files of a folder, in no order."""
    if not is_url(name):
        return [str(file) for file in Path(name).glob(f"*{ending}")]
    filesystem, inside = filesystem_of(name)
    found = filesystem.ls(inside, detail=False)
    return [str(filesystem.unstrip_protocol(file)) for file in found if file.endswith(ending)]


def stamp_of(name: str) -> str:
    """Return what changes when a file does: size and time, or what its storage knows it by."""
    if is_url(name):
        filesystem, inside = filesystem_of(name)
        return str(filesystem.ukey(inside))
    status = Path(name).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def size_of(name: str) -> int:
    """Return the number of bytes in a file."""
    if is_url(name):
        filesystem, inside = filesystem_of(name)
        return int(filesystem.size(inside))
    return Path(name).stat().st_size
