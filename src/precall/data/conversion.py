"""Feature files as plain .npy: one file, or a folder of shards."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from precall.data.feature_sets import FeatureSet, Rows
from precall.data.readers import FORMATS, PICKLES
from precall.data.readers.array_location import ArrayLocation
from precall.errors import InputError, check_integer
from precall.runtime.output_files import check_target, replacing

_ROWS_AT_A_TIME = 4096


def convert(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, shard_rows: int = 100_000
) -> list[Path]:
    """Write the features of any file that can be read as .npy; return the files written.

    Parameters
    ----------
    source
        As in :func:`precall.evaluate`: ``features.npz:key`` names one of several arrays,
        ``features.csv:x,y`` columns of a table.
    target
        A ``.npy`` file, or a folder to be made, which will hold one or more shards.
    shard_rows
        Rows in each shard of a folder.

    Examples
    --------
    >>> import numpy as np, precall, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "a.npz", features=np.zeros((5, 3)))
    >>> [path.name for path in precall.convert(folder / "a.npz", folder / "shards", shard_rows=2)]
    ['shard-00000.npy', 'shard-00001.npy', 'shard-00002.npy']
    """
    check_integer("shard_rows", shard_rows, 1)
    path = Path(target)
    if path.suffix.lower() == ".npy":
        check_target(path, [ArrayLocation.of(source, "source").path])
        rows = FeatureSet.of(source, "source").rows
        with replacing(path) as temporary:
            _write(temporary, rows, 0, len(rows))
        return [path]
    if path.suffix.lower() in {*FORMATS, *PICKLES} or str(path) == "-":
        raise InputError(
            f"cannot write to {path}: features are only written as .npy. Name a .npy file, or a "
            "new folder without the ending of a file."
        )
    if path.exists():
        raise InputError(f"cannot write to {path}: it exists. Name a new folder or a .npy file.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write to {path}: there is no folder {path.parent}.")
    rows = FeatureSet.of(source, "source").rows
    unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        names = []
        for number, start in enumerate(range(0, len(rows), shard_rows)):
            names.append(f"shard-{number:05d}.npy")
            _write(unfinished / names[-1], rows, start, min(start + shard_rows, len(rows)))
        unfinished.chmod(0o755)
        unfinished.rename(path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return [path / name for name in names]


def _write(path: Path, rows: Rows, start: int, stop: int) -> None:
    dtype = np.dtype(rows.array.dtype).newbyteorder("=")
    out = open_memmap(path, mode="w+", dtype=dtype, shape=(stop - start, rows.n_features))
    for at in range(start, stop, _ROWS_AT_A_TIME):
        until = min(at + _ROWS_AT_A_TIME, stop)
        out[at - start : until - start] = rows.tile(at, until)
    out.flush()
