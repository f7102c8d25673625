import os
from pathlib import Path

import pytest

from precall import InputError
from precall.runtime.output_files import check_target, replacing, write_text


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
    (tmp_path / "a.json").write_text("old")

    def write_half():
        with replacing(tmp_path / "a.json") as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_half()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_names_that_are_no_text_are_written_as_escapes(tmp_path):
    write_text(tmp_path / "a.html", "g\udcff.npy")
    assert (tmp_path / "a.html").read_text() == "g\\udcff.npy"


def test_files_in_an_input_folder_are_not_overwritten(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "0.png").touch()
    with pytest.raises(InputError, match="it is one of the inputs"):
        check_target(tmp_path / "pictures" / "0.png", [tmp_path / "pictures"])
    check_target(tmp_path / "pictures" / "new.html", [tmp_path / "pictures"])
