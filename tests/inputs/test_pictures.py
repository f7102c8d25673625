"""What a picture is read as, decided once."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from precall.inputs.items import BrokenInputError
from precall.inputs.pictures import read_picture

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def read(raw):
    picture = read_picture(raw)
    assert picture.mode == "RGB"
    return np.asarray(picture)


def test_files_bytes_arrays_and_images_are_the_same(tmp_path):
    data = encoded(Image.fromarray(PIXELS))
    (tmp_path / "a.png").write_bytes(data)
    for raw in (tmp_path / "a.png", data, PIXELS, Image.fromarray(PIXELS)):
        np.testing.assert_array_equal(read(raw), PIXELS)


def test_grey_palette_and_black_and_white():
    grey = Image.fromarray(PIXELS[..., 0])
    np.testing.assert_array_equal(read(encoded(grey))[..., 1], PIXELS[..., 0])
    palette = Image.fromarray(PIXELS).quantize(8)
    np.testing.assert_array_equal(read(encoded(palette)), np.asarray(palette.convert("RGB")))
    assert set(np.unique(read(encoded(grey.convert("1"))))) <= {0, 255}


def test_sixteen_bits_are_scaled_and_not_clipped():
    deep = np.linspace(0, 65535, 12).reshape(3, 4).astype(np.uint16)
    expected = np.round(deep / 65535 * 255)
    np.testing.assert_array_equal(read(encoded(Image.fromarray(deep)))[..., 0], expected)


def test_transparent_parts_lie_on_white():
    clear = Image.new("RGBA", (3, 3), (255, 0, 0, 0))
    assert (read(encoded(clear)) == 255).all()
    half = read(encoded(Image.new("RGBA", (3, 3), (0, 0, 0, 128))))
    assert abs(int(half[0, 0, 0]) - 127) <= 1
    named = Image.new("P", (3, 3), 0)
    assert (read(encoded(named, transparency=0)) == 255).all()


def test_cmyk_is_converted():
    ink = Image.new("CMYK", (8, 8), (0, 255, 255, 0))  # red, printed
    red, green, blue = read(encoded(ink, "JPEG"))[4, 4]
    assert red > 200
    assert max(green, blue) < 60


def test_turned_as_the_camera_was_held():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert read(encoded(Image.new("RGB", (40, 20)), exif=exif)).shape == (40, 20, 3)


def test_of_animations_the_first_frame():
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert read(moving)[0, 0].tolist() == [255, 0, 0]


def test_tensors_with_colours_first_and_floats():
    np.testing.assert_array_equal(read(np.moveaxis(PIXELS, 2, 0)), PIXELS)
    np.testing.assert_array_equal(read(PIXELS.astype(np.float32) / 255), PIXELS)


def bomb():
    def chunk(kind, body):
        whole = kind + body
        return struct.pack(">I", len(body)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b""))]
    ) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"not a picture", "is not a picture of a known format"),
        (b"", "is not a picture of a known format"),
        (
            encoded(Image.fromarray(RNG.integers(0, 256, (64, 64, 3), np.uint8)))[:2000],
            "is damaged",
        ),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not a picture of a known"),
        (bomb(), "has too many pixels to be unpacked safely"),
        (np.zeros((2, 3, 5)), "has shape (2, 3, 5), which is no picture"),
        (np.full((4, 4), 3.5), "has values outside of 0 to 1; rescale them, or pass uint8"),
        (np.zeros((4, 4), np.int64), "has pixels of type int64; pass uint8, or floats to 1"),
        (
            encoded(Image.fromarray(np.zeros((4, 4), np.float32)), "TIFF"),
            "has 32 bits a pixel, whose range is not known; save it in 8 or 16",
        ),
    ],
)
def test_broken_ones_say_why(raw, reason):
    with pytest.raises(BrokenInputError) as error:
        read_picture(raw)
    assert str(error.value).startswith(reason)
