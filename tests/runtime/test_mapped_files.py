import mmap
from pathlib import Path

import numpy as np
import pytest

from precall.runtime.mapped_files import release_pages

STATUS = Path("/proc/self/status")
needs_linux = pytest.mark.skipif(
    not STATUS.exists() or not hasattr(mmap, "MADV_DONTNEED"), reason="says how much is mapped"
)


def mapped_bytes():
    """Bytes of files that are in the memory of this process."""
    line = next(of for of in STATUS.read_text().splitlines() if of.startswith("RssFile"))
    return 1024 * int(line.split()[1])


@needs_linux
def test_what_was_read_is_let_go_and_read_again(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(2**22, dtype=np.float32))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    before, total = mapped_bytes(), float(rows.sum(dtype=np.float64))
    read = mapped_bytes()
    assert read - before > 0.9 * rows.nbytes
    release_pages(rows)
    assert mapped_bytes() - before < 0.1 * rows.nbytes
    assert float(rows.sum(dtype=np.float64)) == total


def test_what_was_written_is_kept(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros(4096))
    for mode in ("c", "r+"):
        rows = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        rows[:] = 1.0
        release_pages(rows)
        assert (rows == 1.0).all()
    plain = np.ones(10)
    release_pages(plain)
    assert (plain == 1.0).all()
