"""Where pictures, texts and sounds are found, and in which order."""

import io
import json
import tarfile
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from precall import InputError
from precall.inputs.items import digest
from precall.inputs.pictures import read_picture
from precall.inputs.sources import kind_of, open_inputs

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 6, 5, 3), dtype=np.uint8)


def png(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


FILES = {"b/1.png": PIXELS[2], "a/2.png": PIXELS[1], "a/1.PNG": PIXELS[0], "c.png": PIXELS[3]}


def folder(root):
    for name, pixels in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(pixels))
    return root


def zipped(root):
    with zipfile.ZipFile(root / "a.zip", "w") as archive:
        for name, pixels in FILES.items():
            archive.writestr(name, png(pixels))
    return root / "a.zip"


def tarred(root):
    with tarfile.open(root / "a.tar", "w") as archive:
        for name, pixels in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(png(pixels))
            archive.addfile(entry, io.BytesIO(png(pixels)))
        label = tarfile.TarInfo("a/1.cls")
        label.size = 1
        archive.addfile(label, io.BytesIO(b"3"))
    return root / "a.tar"


def parquet(root):
    images = [{"bytes": png(pixels), "path": None} for pixels in PIXELS]
    pq.write_table(pa.table({"label": [0, 1, 2, 3], "image": images}), root / "a.parquet")
    return root / "a.parquet"


def stream(root):
    table = pa.table({"img": [png(pixels) for pixels in PIXELS]})
    with (
        pa.OSFile(str(root / "a.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as to,
    ):
        to.write_table(table)
    return root / "a.arrow"


def archive_of_arrays(root):
    np.savez(root / "a.npz", arr_0=PIXELS, arr_1=np.arange(4))
    return root / "a.npz"


def array(root):
    return PIXELS


def images(root):
    return [Image.fromarray(pixels) for pixels in PIXELS]


@pytest.mark.parametrize(
    "make", [folder, zipped, tarred, parquet, stream, archive_of_arrays, array, images]
)
def test_the_same_pictures_in_the_same_order(make, tmp_path):
    found = open_inputs(make(tmp_path), "pictures", "real")
    assert len(found) == 4
    for row in range(4):
        np.testing.assert_array_equal(np.asarray(read_picture(found.raw(row))), PIXELS[row])
    assert found.name(0)
    some = found.select(np.array([2, 0]))
    np.testing.assert_array_equal(np.asarray(read_picture(some.raw(0))), PIXELS[2])


def test_content_is_known_wherever_it_is(tmp_path):
    sources = [make(tmp_path) for make in (folder, zipped, tarred, parquet)]
    found = [open_inputs(source, "pictures", "real") for source in sources]
    assert len({tuple(digest(of.raw(row)) for row in range(4)) for of in found}) == 1
    assert all(of.listing() is not None for of in found)


def test_a_listing_changes_with_the_files(tmp_path):
    folder(tmp_path)
    before = open_inputs(tmp_path, "pictures", "real").listing()
    assert open_inputs(tmp_path, "pictures", "real").listing() == before
    (tmp_path / "c.png").write_bytes(png(PIXELS[0]))
    assert open_inputs(tmp_path, "pictures", "real").listing() != before


def test_what_is_passed_over_is_told(tmp_path):
    folder(tmp_path)
    (tmp_path / "notes.doc").write_text("x")
    (tmp_path / ".hidden.png").write_text("x")
    found = open_inputs(tmp_path, "pictures", "real")
    assert found.notes == (
        f"1 files in {tmp_path} are no pictures and were passed over, the first notes.doc.",
    )


def test_texts(tmp_path):
    expected = ["one", "two words", "three"]
    lines = tmp_path / "a.txt"
    lines.write_text("one\n\ntwo words\nthree\n", encoding="utf-8-sig")
    objects = tmp_path / "a.jsonl"
    objects.write_text("\n".join(json.dumps({"text": t, "story": t}) for t in expected))
    pq.write_table(pa.table({"id": [1, 2, 3], "text": expected}), tmp_path / "a.parquet")
    (tmp_path / "folder").mkdir()
    for number, text in enumerate(expected):
        (tmp_path / "folder" / f"{number}.txt").write_text(text)
    sources = [lines, objects, f"{objects}:story", tmp_path / "a.parquet", expected]
    for source in (*sources, pa.array(expected), np.array(expected)):
        found = open_inputs(source, "texts", "real")
        assert [found.raw(row) for row in range(len(found))] == expected
    assert open_inputs(lines, "texts", "real").notes == (f"1 empty lines of {lines} are left out.",)
    from precall.inputs.texts import read_text

    found = open_inputs(tmp_path / "folder", "texts", "real")
    assert [read_text(found.raw(row)) for row in range(3)] == expected


def test_kinds_are_told_apart(tmp_path):
    assert kind_of(folder(tmp_path / "p"), "real") == "pictures"
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.wav").write_bytes(b"")
    assert kind_of(tmp_path / "s", "real") == "sounds"
    assert kind_of(["a", "b"], "real") == "texts"
    assert kind_of("a.jsonl", "real") == "texts"
    assert kind_of([(np.zeros(3), 16000)], "real") == "sounds"
    assert kind_of(PIXELS, "real") == "pictures"
    assert kind_of("table.csv", "real") == "rows"


def test_kinds_of_archives_and_of_folders_with_notes(tmp_path):
    for name, kind in (("a.png", "pictures"), ("a.flac", "sounds"), ("a.txt", "texts")):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr(f"folder/{name}", b"")
        assert kind_of(tmp_path / "a.zip", "real") == kind
        (tmp_path / name).write_bytes(b"")
        with tarfile.open(tmp_path / "a.tar", "w") as tape:
            tape.add(tmp_path / name)
        assert kind_of(tmp_path / "a.tar", "real") == kind
    pictures = folder(tmp_path / "p")
    (pictures / "README.txt").write_text("where they are from")
    assert kind_of(pictures, "real") == "pictures"
    (pictures / "a.wav").write_bytes(b"")
    with pytest.raises(InputError, match="holds pictures and sounds; name a model for one kind"):
        kind_of(pictures, "real")


def test_kinds_of_tables(tmp_path):
    encoded, path = [{"bytes": b"", "path": ""}], tmp_path / "a.parquet"
    columns = {"image": encoded, "audio": encoded, "caption": ["a"], "n": [1.0]}
    for kept, kind in (
        (["image", "caption"], "pictures"),
        (["audio", "caption"], "sounds"),
        (["caption", "n"], "texts"),
        (["n"], "rows"),
    ):
        pq.write_table(pa.table({name: columns[name] for name in kept}), path)
        assert kind_of(path, "real") == kind
    pq.write_table(pa.table(columns), path)
    assert kind_of(f"{path}:caption", "real") == "texts"
    assert kind_of(f"{path}:audio", "real") == "sounds"


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (np.zeros((4, 7)), "pictures", "real holds no pictures: its shape is (4, 7)."),
        (np.zeros((4, 6, 5, 3), np.int32), "pictures", "real holds pixels of type int32;"),
        ([1, 2], "texts", "real: entry 0 is a int, none of texts;"),
        (3, "pictures", "real is a builtins.int; expected a folder,"),
        (["only one"], "texts", "real holds 1 of texts; pass at least two."),
    ],
)
def test_what_holds_none_is_refused(data, kind, message):
    with pytest.raises(InputError) as error:
        open_inputs(data, kind, "real")
    assert str(error.value).startswith(message)


def test_files_that_hold_none_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.zip").write_bytes(b"no archive")
    (tmp_path / "b.jsonl").write_text('{"other": 1}\n')
    np.save(tmp_path / "c.npy", np.zeros((3, 4)))
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "d.parquet")
    for name, kind, message in [
        ("", "pictures", f"real: {tmp_path} holds no pictures ("),
        ("a.zip", "pictures", f"real: {tmp_path / 'a.zip'} is not a valid archive: "),
        ("b.jsonl", "texts", f"real: {tmp_path / 'b.jsonl'} has no text under 'text' or"),
        ("c.npy", "pictures", "real holds no pictures: its shape is (3, 4)."),
        ("d.parquet", "pictures", f"real: {tmp_path / 'd.parquet'} has no column of pictures;"),
        ("none", "pictures", f"real: cannot read {tmp_path / 'none'}: No such file"),
    ]:
        with pytest.raises(InputError) as error:
            open_inputs(tmp_path / name, kind, "real")
        assert str(error.value).startswith(message)
