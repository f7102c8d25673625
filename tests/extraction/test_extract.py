"""From pictures to features: once, resumable, whole or not at all."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

import precall
from precall import Features, InputError, PrecallWarning
from precall.extraction.store import Entry

PIXELS = np.random.default_rng(0).integers(0, 256, (30, 8, 8, 3), dtype=np.uint8)
EXPECTED = PIXELS.reshape(30, -1).astype(np.float32) / np.float32(255)


class Counted:
    """A model that counts what it is asked, and may stop."""

    name, version = "counted", "1"

    def __init__(self, stop_after=None):
        self.seen, self.stop_after = 0, stop_after

    def __call__(self, batch):
        if self.stop_after is not None and self.seen >= self.stop_after:
            raise KeyboardInterrupt
        self.seen += len(batch)
        return np.stack([np.asarray(image).reshape(-1) for image in batch]) / np.float32(255)


@pytest.fixture
def folder(tmp_path):
    for number, pixels in enumerate(PIXELS):
        (tmp_path / "pictures" / str(number % 3)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "pictures" / str(number % 3) / f"{number:02d}.png")
    return tmp_path / "pictures"


ORDER = [row for rest in range(3) for row in range(rest, 30, 3)]


def test_features_are_those_of_the_model(folder):
    found = precall.extract(folder, "pixels:8")
    np.testing.assert_array_equal(np.asarray(found), EXPECTED[ORDER])
    assert found.source == str(folder)
    assert found.extraction["model"] == "pixels:8"
    assert found.extraction["preprocessing"] == (
        "whole picture to 8 pixels, antialiased bicubic (Pillow)"
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batches_and_workers_change_nothing(folder, workers, batch_size):
    settings = Features("pixels:8", batch_size=batch_size, workers=workers, cache=False)
    np.testing.assert_array_equal(np.asarray(precall.extract(folder, settings)), EXPECTED[ORDER])


def test_a_second_run_asks_nothing_and_reads_nothing(folder, monkeypatch):
    model = Counted()
    first = precall.extract(folder, model)
    assert model.seen == 30
    monkeypatch.setattr("precall.extraction.extract.digest", lambda _: pytest.fail("read a file"))
    second = precall.extract(folder, model)
    assert model.seen == 30
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second))


def test_the_same_content_elsewhere_is_known(folder, tmp_path):
    model = Counted()
    precall.extract(folder, model)
    folder.rename(tmp_path / "moved")
    precall.extract(tmp_path / "moved", model)
    assert model.seen == 30


def test_changed_content_another_version_or_preprocessing_is_not(folder):
    model = Counted()
    precall.extract(folder, model)
    Image.fromarray(PIXELS[0][::-1].copy()).save(folder / "0" / "00.png")
    precall.extract(folder, model)
    assert model.seen == 60
    model.version = "2"
    precall.extract(folder, model)
    assert model.seen == 90
    plain = precall.extract(folder, "pixels:4")
    legacy = precall.extract(folder, Features("pixels:4", resize="legacy-pytorch"))
    assert not np.array_equal(np.asarray(plain), np.asarray(legacy))


def test_an_interrupted_run_goes_on(folder):
    with pytest.raises(KeyboardInterrupt):
        precall.extract(folder, Features(Counted(stop_after=16), batch_size=4))
    model = Counted()
    found = precall.extract(folder, Features(model, batch_size=4))
    assert model.seen == 14
    np.testing.assert_allclose(np.asarray(found), EXPECTED[ORDER])


KILLED = """
import sys, time, numpy as np, precall
def model(batch):
    print(len(batch), flush=True)
    time.sleep(0.5)
    return np.stack([np.asarray(image).reshape(-1) for image in batch]) / np.float32(255)
model.name, model.version = "slow", "1"
precall.extract(sys.argv[1], precall.Features(model, batch_size=2))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_goes_on(folder, tmp_path, cache):
    (tmp_path / "run.py").write_text(KILLED)
    command = [sys.executable, str(tmp_path / "run.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not list(cache.rglob("*.partial.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
    state = next(cache.rglob("*.partial.json")).read_text()
    assert '"done": 0' not in state
    model = Counted()
    model.name = "slow"
    found = precall.extract(folder, Features(model, batch_size=2))
    assert 0 < model.seen < 30
    np.testing.assert_allclose(np.asarray(found), EXPECTED[ORDER])
    assert not list(cache.rglob("*.partial*"))


def test_broken_files_are_named_or_left_out(folder):
    (folder / "1" / "04.png").write_bytes(b"no picture")
    with pytest.raises(InputError) as error:
        precall.extract(folder, "pixels:8")
    assert str(error.value) == (
        f"inputs: {folder / '1' / '04.png'} is not a picture of a known format. Mend or remove it, "
        "or leave out what cannot be read (--skip-broken, skip_broken=True)."
    )
    with pytest.warns(PrecallWarning, match="1 inputs cannot be read and are left out: .*04.png"):
        found = precall.extract(folder, Features("pixels:8", skip_broken=True))
    kept = [row for row in ORDER if row != 4]
    np.testing.assert_array_equal(np.asarray(found), EXPECTED[kept])
    assert found.extraction["skipped"] == "1"
    assert [found.inputs.name(row)[-6:-4] for row in range(29)] == [f"{row:02d}" for row in kept]
    with pytest.raises(InputError, match=r"04.png is not a picture"):  # though it is kept
        precall.extract(folder, "pixels:8")


def test_several_broken_files_are_counted(folder):
    for name in ("01.png", "04.png", "07.png"):
        (folder / "1" / name).write_bytes(b"no picture")
    with pytest.raises(InputError) as error:
        precall.extract(folder, "pixels:8")
    assert "not a picture of a known format. 2 more cannot be read. Mend or" in str(error.value)


def test_functions_without_a_version_are_not_kept(folder, cache):
    calls = []

    def model(batch):
        calls.append(len(batch))
        return np.stack([np.asarray(image).reshape(-1) for image in batch])

    for _ in range(2):
        found = precall.extract(folder, model)
    assert sum(calls) == 60
    assert not list(cache.rglob("*.npy"))
    assert found.extraction["model"].endswith("model")


@pytest.mark.parametrize(
    ("returned", "seen"), [(np.zeros(3), "(3,), float64"), (np.zeros((2, 3)), "(2, 3), float64")]
)
def test_functions_that_return_something_else_are_refused(folder, returned, seen):
    with pytest.raises(InputError, match=r"was given 30 inputs and returned an array of shape"):
        precall.extract(folder, lambda batch: returned)


def test_a_file_remembers_how_it_was_made(folder, tmp_path):
    precall.extract(folder, "pixels:8", out=tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), EXPECTED[ORDER])
    kept = precall.FeatureSet.of(tmp_path / "a.npy", "real")
    assert kept.extraction["model"] == "pixels:8"
    np.save(tmp_path / "a.npy", EXPECTED)  # other features: what stands beside is not of these
    assert not precall.FeatureSet.of(tmp_path / "a.npy", "real").extraction


def test_sets_extracted_differently_are_warned_of(folder, tmp_path):
    one = precall.extract(folder, "pixels:8")
    other = precall.extract(folder, Features("pixels:8", resize="legacy-tensorflow"))
    quick = {"estimators": (), "scores": ["precision"]}
    result = precall.evaluate(one, other, **quick)
    assert any(
        text.startswith("real and generated were extracted differently, so their distances mean")
        and "legacy" not in text
        and "TensorFlow 1" in text
        for text in result.warnings
    )
    result = precall.evaluate(one, np.asarray(other), **quick)
    assert any("how those of generated were is not known" in text for text in result.warnings)
    result = precall.evaluate(one, one, **quick)
    assert not any("extracted" in text for text in result.warnings)


def test_evaluate_extracts_both_sides_and_shows_them(folder, tmp_path):
    generated = PIXELS[::-1].copy()
    result = precall.evaluate(
        folder, generated, features="pixels:8", estimators=(), scores=["precision"]
    )
    assert result.scores["precision"].value == 1
    assert result.protocol.extraction["real"]["model"] == "pixels:8"
    assert "192 features of pixels:8" in repr(result)
    assert "features='pixels:8'" in result.protocol.call
    back = precall.Evaluation.from_json(result.to_json())
    assert back.protocol.extraction == result.protocol.extraction
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('<img src="data:image/png') >= 12
    assert "pixels:8, version 1; whole picture to 8 pixels" in page


def test_compare_extracts_all(folder):
    models = {"a": PIXELS[::-1].copy(), "b": 255 - PIXELS}
    found = precall.compare(
        folder, models, features="pixels:8", estimators=(), scores=["precision"], intervals=False
    )
    assert found.ranking("precision")[0] == "a"
    assert found.results["b"].protocol.extraction["generated"]["model"] == "pixels:8"


def test_texts_and_sounds_on_the_page(tmp_path):
    texts = [f"sample <{number}>" for number in range(12)]

    def length(batch):
        return np.array([[len(text), ord(text[-2])] for text in batch], float)

    result = precall.evaluate(
        texts, texts[::-1], features=length, estimators=(), scores=["precision"]
    )
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<q class=" in page
    assert "sample &lt;3&gt;" in page
    tones = [(np.sin(np.arange(800) * pitch / 50), 8000) for pitch in range(1, 13)]
    result = precall.evaluate(
        tones,
        tones[::-1],
        features=lambda batch: np.array([[np.abs(s.samples).mean(), s.samples[9]] for s in batch]),
        estimators=(),
        scores=["precision"],
    )
    result.to_html(tmp_path / "page.html")
    assert "<audio controls" in (tmp_path / "page.html").read_text()


def test_two_at_once_do_not_disturb_each_other(tmp_path):
    entry = Entry(tmp_path, "key")
    with entry.writing(2) as one, entry.writing(2) as other:
        assert one.rows_path != other.rows_path
        for writer in (one, other):
            writer.write(0, np.zeros((2, 3), np.float32), {})
        entry.finish(one, {"broken": {}})
    assert entry.finished().notes == {"broken": {}}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key.json", "key.npy"]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("nothing", "there is no extractor 'nothing'; choose from efficientnet-lite0,"),
        ("pixels:0", "'pixels:0' needs a number from 1 to 1024 after the colon."),
        (3, "features must be the name of an extractor, a function or precall.Features(...); got"),
    ],
)
def test_other_extractors_are_refused(folder, features, message):
    with pytest.raises(InputError) as error:
        precall.extract(folder, features)
    assert str(error.value).startswith(message)


def test_settings_are_checked():
    with pytest.raises(InputError, match="batch_size must be an integer of at least 1"):
        Features("pixels", batch_size=0)
    with pytest.raises(InputError, match="resize must be one of bicubic, legacy-tensorflow"):
        precall.extract(PIXELS, Features("pixels", resize="nearest"))
    with pytest.raises(InputError, match="pixels has no weights; leave weights= away"):
        precall.extract(PIXELS, Features("pixels", weights="a.pth"))
