"""Experiments on real pictures: data read as it is, a model that learns, claims tested."""

import gzip
import json

import numpy as np
import pytest
from PIL import Image

from precall import InputError
from precall.experiments import EXPERIMENTS, Size
from precall.experiments.base import Measured, Measurements
from precall.experiments.cheema_urner import degraded, dropped_digits
from precall.experiments.real_data.datasets import (
    CIFAR,
    DIGITS,
    FASHION,
    MNIST,
    available,
    data_from,
    load,
    rows_of,
)
from precall.experiments.real_data.vae import Autoencoder

RNG = np.random.default_rng(0)


def write_idx(path, array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    data = bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def folder(tmp_path):
    made = {}
    for name, ending in ((MNIST, ""), (FASHION, ".gz")):
        (tmp_path / name).mkdir()
        pixels = RNG.integers(0, 256, (30, 28, 28), dtype=np.uint8)
        labels = RNG.integers(0, 10, 30, dtype=np.uint8)
        write_idx(tmp_path / name / f"train-images-idx3-ubyte{ending}", pixels)
        write_idx(tmp_path / name / f"train-labels-idx1-ubyte{ending}", labels)
        made[name] = pixels, labels
    (tmp_path / "cifar").mkdir()
    for part, name in (("train", "data_batch_1"), ("test", "test_batch")):
        pixels = RNG.integers(0, 256, (12, 1024, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "cifar" / f"{name}.png")
        (tmp_path / "cifar" / f"{part}_lables.json").write_text(json.dumps([*range(10), 0, 1]))
        made[CIFAR, part] = pixels.reshape(12, 32, 32, 3), np.array([*range(10), 0, 1])
    return tmp_path, made


def test_sets_of_a_folder(folder):
    path, made = folder
    with data_from(str(path)):
        assert available() == [DIGITS, MNIST, FASHION, CIFAR]
        for name in (MNIST, FASHION):
            pixels, labels = made[name]
            known = {
                picture.tobytes(): label for picture, label in zip(pixels, labels, strict=True)
            }
            first, second = load(name)
            assert (len(first.labels), len(second.labels)) == (15, 15)
            for part in (first, second):
                for picture, label in zip(part.pixels, part.labels, strict=True):
                    assert known.pop(picture.tobytes()) == label
        for found, part in zip(load(CIFAR), ("train", "test"), strict=True):
            np.testing.assert_array_equal(found.pixels, made[CIFAR, part][0])
    assert available() == [DIGITS]


def test_what_is_not_there(tmp_path):
    with data_from(str(tmp_path)):
        assert available() == [DIGITS]
        with pytest.raises(InputError, match=r"there is no mnist in .*; name the folder"):
            load(MNIST)
    with pytest.raises(InputError, match="there is no folder nowhere"), data_from("nowhere"):
        pass


def test_digits_are_in_two_parts():
    first, second = load(DIGITS)
    assert (len(first.labels), len(second.labels)) == (899, 898)
    rows = rows_of(DIGITS, (first, second))
    assert rows[0].shape == (899, 64)
    assert not {row.tobytes() for row in rows[0]} & {row.tobytes() for row in rows[1]}


def test_the_gradient_of_the_autoencoder_is_that_of_its_loss(monkeypatch):
    pixels = RNG.random((6, 9))
    model = Autoencoder.fresh(9, np.random.default_rng(1))
    seen = {}
    monkeypatch.setattr(Autoencoder, "_adam", lambda _self, gradients: seen.update(gradients))

    def loss():
        return model._step(pixels, np.random.default_rng(2))

    loss()
    gradients = dict(seen)
    for name, gradient in gradients.items():
        place = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        kept = model.weights[name][place]
        ends = []
        for sign in (-1, 1):
            model.weights[name][place] = kept + sign * 1e-5
            ends.append(loss())
        model.weights[name][place] = kept
        assert gradient[place] == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-4), name


def test_the_autoencoder_learns():
    pixels = load(DIGITS)[0].flat().astype(np.float64)
    model = Autoencoder.fresh(64, np.random.default_rng(0))
    first = model.train(pixels, 1, np.random.default_rng(0))
    last = model.train(pixels, 300, np.random.default_rng(0))
    assert last < 0.75 * first
    drawn = model.draw(50, np.random.default_rng(1))
    assert drawn.shape == (50, 64)
    assert 0 <= drawn.min() <= drawn.max() <= 1
    near = model.draw(50, np.random.default_rng(1), truncation=0.1)
    assert near.var(axis=0).sum() < drawn.var(axis=0).sum()


def test_degradations():
    pictures = RNG.random((3, 8, 8))
    np.testing.assert_array_equal(degraded.down_sampled(pictures, 1, RNG), pictures)
    squares = degraded.down_sampled(pictures, 4, RNG)
    assert len(np.unique(squares[0])) == 4
    np.testing.assert_allclose(squares.mean(), pictures.mean())
    assert degraded.blurred(pictures, 1.0, RNG).std() < pictures.std()
    assert degraded.noisy(pictures, 0.0, RNG).tolist() == pictures.tolist()


def measured(name, cells):
    steps = EXPERIMENTS[name].steps
    known = {json.dumps(cell, sort_keys=True) for cell in steps.cells(Size(quick=True))}
    assert {json.dumps(cell, sort_keys=True) for cell in cells} <= known
    return Measurements(
        [Measured(cell, steps.measure(cell, np.random.default_rng(0))) for cell in cells]
    )


def drawn(name, found):
    from matplotlib.figure import Figure

    figure = Figure()
    EXPERIMENTS[name].steps.draw(found, figure)
    return figure


def test_modes_of_digits():
    cells = [{"data": DIGITS, "q": q, "repeat": 0} for q in (5, 8)]
    found = measured("real-modes", cells)
    rows = {row.what: row for row in EXPERIMENTS["real-modes"].steps.compare(found)}
    assert rows["digits, q = 8: precision of the classifier"].verdict == "agrees"
    bound = "digits: the classifier never underestimates beyond chance (Theorem 5)"
    assert rows[bound].verdict == "holds"
    assert found.mean("knn iou") > 0.85
    assert len(drawn("real-modes", found).axes) == 3


def test_dropped_digits():
    cells = [{"data": DIGITS, "dropped": n, "repeat": 0} for n in (0, 6)]
    found = measured("dropped-digits", cells)
    none, many = found.where(dropped=0), found.where(dropped=6)
    assert none.mean("recall_at_half") > 0.95
    truth, error = chances(many)
    # Digits look alike: recall at ½ is what a classifier's errors leave, and may only be too high.
    assert many.mean("recall_at_half") > truth - 3 * error
    assert many.mean("recall_at_half") < many.mean("precision_cover") < none.mean("precision_cover")
    assert abs(many.mean("recall") - truth) < 3 * error
    assert len(drawn("dropped-digits", found).axes) == 1


def test_dropped_digits_that_cannot_be_mistaken_are_counted(monkeypatch):
    def rows_apart(name, parts):
        rows = rows_of(name, parts)
        return tuple(
            np.hstack([own, 20 * np.eye(10, dtype=np.float32)[part.labels]])
            for own, part in zip(rows, parts, strict=True)
        )

    monkeypatch.setattr(dropped_digits, "rows_of", rows_apart)
    found = measured("dropped-digits", [{"data": DIGITS, "dropped": 6, "repeat": 0}])
    truth, error = chances(found)
    for name in ("recall_at_half", "recall", "coverage"):
        assert abs(found.mean(name) - truth) < 3 * error, name


def chances(found):
    """The share of the drawn real digits that generated has, and its standard error."""
    truth, n = found.mean("truth"), found.mean("n")
    return truth, (truth * (1 - truth) / n) ** 0.5


def test_an_autoencoder_in_training():
    cells = [{"part": "training", "data": DIGITS, "value": n, "repeat": 0} for n in (0, 100)]
    cells += [
        {"part": "truncation", "data": DIGITS, "value": f, "steps": 1000, "repeat": 0}
        for f in (0.3, 1.0)
    ]
    found = measured("vae", cells)
    rows = {row.what: row for row in EXPERIMENTS["vae"].steps.compare(found)}
    assert rows["digits: density is not bounded by 1"].verdict == "holds"
    assert len(drawn("vae", found).axes) == 3


def test_degraded_digits():
    cells = [{"data": DIGITS, "way": "noise", "level": level, "repeat": 0} for level in (0.0, 0.3)]
    found = measured("degraded", cells)
    rows = {row.what: row for row in EXPERIMENTS["degraded"].steps.compare(found)}
    falls = rows["digits: PC, improved precision and density fall with noise"]
    assert falls.verdict == "holds"
    assert len(drawn("degraded", found).axes) == 1
