import os
from pathlib import Path

import pytest

from precall.outputs import write_text


def test_links_keep_pointing(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="needs a device file")
def test_devices_are_written_to_not_replaced():
    device = Path(os.devnull)
    write_text(device, "x")
    assert not device.is_file()


def test_nothing_is_left_of_a_failed_write(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a.json", "\ud800")
    assert list(tmp_path.iterdir()) == []
