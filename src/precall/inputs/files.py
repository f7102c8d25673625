"""Samples that are files of their own: in a folder, however deep, or in a zip or tar archive."""

import tarfile
import zipfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from precall.errors import InputError
from precall.inputs.items import Inputs, Kind, Raw, hashed_listing, stamp
from precall.runtime.refusals import refusing

_DAMAGED = zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, ValueError


@dataclass(frozen=True, slots=True, eq=False)
class Folder(Inputs):
    """Files in a folder and the folders in it, in the order of their paths."""

    path: Path
    files: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.files)

    def name(self, row: int) -> str:
        """The file."""
        return str(self.files[row])

    def raw(self, row: int) -> Raw:
        """The file, to be read where it is decoded."""
        return self.files[row]

    def listing(self) -> str | None:
        """All names, sizes and times of change."""
        stamps = ((file, *stamp(file)) for file in self.files)
        return hashed_listing([self.path.resolve(), *stamps])


@dataclass(frozen=True, slots=True, eq=False)
class Archive(Inputs):
    """Files in a zip archive, or in a tar archive that is not compressed."""

    path: Path
    members: tuple[str, ...]
    places: tuple[tuple[int, int], ...] = ()  # of a tar archive: where each is, how long
    opened: list[zipfile.ZipFile] = field(default_factory=list)  # kept open while it is read

    def __len__(self) -> int:
        return len(self.members)

    def name(self, row: int) -> str:
        """The archive and the member."""
        return f"{self.path}: {self.members[row]}"

    def raw(self, row: int) -> Raw:
        """The bytes of a member."""
        if self.places:
            start, length = self.places[row]
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read(length)
        if not self.opened:
            self.opened.append(zipfile.ZipFile(self.path))
        return self.opened[0].read(self.members[row])

    def listing(self) -> str | None:
        """The archive's size and time of change."""
        return hashed_listing([self.path.resolve(), *stamp(self.path), *self.members])


def list_folder(path: Path, kind: Kind, endings: Collection[str], role: str) -> Folder:
    """Find all samples of a kind in a folder."""
    every = [file for file in path.rglob("*") if not _is_hidden(file.relative_to(path))]
    files = sorted(file for file in every if file.suffix.lower() in endings)
    others = [file for file in every if file.suffix.lower() not in endings and file.is_file()]
    if not files:
        raise InputError(
            f"{role}: {path} holds no {kind} ({', '.join(sorted(endings))}); "
            f"it holds {len(others)} other files."
        )
    notes = (_passed_over(others, str(path), kind),) if others else ()
    return Folder(kind, str(path), notes, path, tuple(files))


def endings_in(path: Path, role: str) -> set[str]:
    """Return how the names of files in a folder or an archive end."""
    if path.is_dir():
        files = [file.relative_to(path) for file in path.rglob("*")]
    else:
        files = [Path(name) for name in _members(path, role)]
    return {file.suffix.lower() for file in files if not _is_hidden(file)}


def list_archive(path: Path, kind: Kind, endings: Collection[str], role: str) -> Archive:
    """Find all samples of a kind in a .zip or .tar."""
    found = _members(path, role)
    names = sorted(name for name in found if _is_one(Path(name), endings))
    if not names:
        raise InputError(f"{role}: {path} holds no {kind} ({', '.join(sorted(endings))}).")
    is_zip = path.suffix.lower() == ".zip"
    places = () if is_zip else tuple(found[name] for name in names)
    return Archive(kind, str(path), (), path, tuple(names), places)


def _members(path: Path, role: str) -> dict[str, tuple[int, int]]:
    """Return all files of an archive: of a tar, where each is and how long."""

    def cannot(error: Exception) -> str:
        return f"{role}: {path} is not a valid archive: {error!s:.200}."

    with refusing(cannot, *_DAMAGED):
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                return {entry.filename: (0, 0) for entry in archive.infolist()}
        with tarfile.open(path, "r:") as tape:  # read in place, so not compressed
            return {m.name: (m.offset_data, m.size) for m in tape if m.isreg()}


def _is_one(path: Path, endings: Collection[str]) -> bool:
    return path.suffix.lower() in endings and not _is_hidden(path) and path.parts[0] != "__MACOSX"


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _passed_over(others: Iterable[Path], where: str, kind: Kind) -> str:
    listed = sorted(others)
    return (
        f"{len(listed)} files in {where} are no {kind} and were passed over, the first "
        f"{listed[0].name}."
    )
