"""Pictures of samples: found by row, shrunk, and never a reason to fail late."""

import base64
import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from precall import InputError
from precall.report.thumbnails import as_thumbnails

RNG = np.random.default_rng(0)


def opened(uri):
    head, _, body = uri.partition(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    return Image.open(io.BytesIO(base64.b64decode(body)))


@pytest.fixture
def folder(tmp_path):
    for i in range(3):
        Image.new("RGB", (300, 200), (100 * i, 0, 0)).save(tmp_path / f"{i}.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    return tmp_path


def test_a_folder_in_the_order_of_names(folder):
    thumbnails = as_thumbnails(folder, 3, "images_real")
    for i in range(3):
        image = opened(thumbnails.data_uri(i))
        assert image.size == (96, 64)
        assert image.getpixel((50, 30))[0] == pytest.approx(100 * i, abs=4)


def test_a_manifest_in_its_own_order(folder):
    manifest = folder / "order.csv"
    manifest.write_text("2.png\n\n0.png\n")
    thumbnails = as_thumbnails(str(manifest), 2, "images_real")
    reds = [opened(thumbnails.data_uri(i)).getpixel((0, 0))[0] for i in range(2)]
    assert reds == pytest.approx([200, 0], abs=4)


def test_arrays(tmp_path):
    pixels = RNG.integers(0, 256, (2, 5, 7, 3), dtype=np.uint8)
    image = opened(as_thumbnails(pixels, 2, "images").data_uri(1))
    np.testing.assert_array_equal(np.asarray(image), pixels[1])
    grey = np.array([[[0.0, 1.0], [np.nan, 7.0]]])
    image = opened(as_thumbnails(grey, 1, "images").data_uri(0))
    assert np.asarray(image)[..., 0].tolist() == [[0, 255], [0, 255]]


def test_what_cannot_be_read_is_left_out(folder):
    (folder / "0.png").write_bytes(b"not a picture")
    (folder / "list.txt").write_text("0.png\n1.png\n2.png\n", encoding="utf-8-sig")
    thumbnails = as_thumbnails(folder / "list.txt", 3, "images")
    (folder / "1.png").unlink()
    assert [thumbnails.data_uri(i) is None for i in range(3)] == [True, True, False]


def test_a_list_of_what_is_not_there_is_refused(folder):
    (folder / "list.txt").write_text("0.png\n7.png\n")
    with pytest.raises(InputError) as error:
        as_thumbnails(folder / "list.txt", 2, "images_real")
    assert str(error.value) == (
        f"images_real: {folder / 'list.txt'} lists {folder / '7.png'}, which is no file; paths are "
        "relative to the list."
    )


def test_formats_that_call_other_programs_are_not_opened(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n")
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("ran a program"))
    assert as_thumbnails(tmp_path, 1, "images").data_uri(0) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    assert as_thumbnails(tmp_path, 1, "images").data_uri(0) is None


def test_deep_transparent_and_turned_pictures(tmp_path):
    gradient = np.linspace(0, 65535, 40 * 40).reshape(40, 40).astype(np.uint16)
    Image.fromarray(gradient).save(tmp_path / "a.png")
    Image.new("RGBA", (20, 20), (255, 0, 0, 0)).save(tmp_path / "b.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # held sideways
    Image.new("RGB", (40, 20)).save(tmp_path / "c.png", exif=exif)
    thumbnails = as_thumbnails(tmp_path, 3, "images")
    deep, clear, turned = (opened(thumbnails.data_uri(i)) for i in range(3))
    assert 120 < np.asarray(deep).mean() < 135
    assert np.asarray(clear).min() == 255
    assert turned.size == (20, 40)


def test_a_picture_that_would_fill_the_memory_is_left_out(tmp_path):
    def chunk(kind, body):
        whole = kind + body
        return struct.pack(">I", len(body)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b""))
    (tmp_path / "bomb.png").write_bytes(bomb + chunk(b"IEND", b""))
    assert as_thumbnails(tmp_path, 1, "images").data_uri(0) is None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            np.zeros((3, 4)),
            "images_real must be a folder, a manifest or an array (2, height, width) or (2, "
            "height, width, 3); got shape (3, 4).",
        ),
        (
            np.zeros((2, 4, 4), np.int64),
            "images_real must be uint8, or floats from 0 to 1; got int64.",
        ),
    ],
)
def test_wrong_arrays_are_refused(source, message):
    with pytest.raises(InputError) as error:
        as_thumbnails(source, 2, "images_real")
    assert str(error.value) == message


def test_wrong_numbers_are_refused(folder):
    with pytest.raises(InputError) as error:
        as_thumbnails(folder, 4, "images_real")
    assert str(error.value) == (
        f"images_real: {folder} has 3 pictures, but there are 4 samples; give one for each row, in "
        "the order of the rows."
    )
    with pytest.raises(InputError, match="cannot read"):
        as_thumbnails(folder / "none", 4, "images_real")
