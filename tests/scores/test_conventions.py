"""Presets against the programs themselves, to the last sample; else against values by hand."""

import contextlib
import importlib
import importlib.util
import io
import sys
from unittest.mock import MagicMock

import numpy as np
import pytest

import precall

FOUR = ("precision", "recall", "density", "coverage")


def prdc(real, generated, k):
    from prdc import compute_prdc

    with contextlib.redirect_stdout(io.StringIO()):
        return compute_prdc(real, generated, k)


def data_set(seed):
    """One of continuous, integer-tied and duplicated data, n ≠ m, float32 or float64, and a k."""
    rng = np.random.default_rng(seed)
    n, m, d = [*rng.integers(25, 120, 2).tolist(), int(rng.integers(1, 12))]
    kind = seed % 3
    if kind == 0:
        sets = [rng.normal(rng.uniform(0, 2), 1, size=(size, d)) for size in (n, m)]
    elif kind == 1:
        sets = [rng.integers(0, 4, size=(size, d)).astype(float) for size in (n, m)]
    else:
        pool = rng.integers(-8, 9, size=(20, d)) / 8
        sets = [pool[rng.integers(0, 20, size)] for size in (n, m)]
    dtype = np.float32 if seed % 2 else np.float64
    return [rows.astype(dtype) for rows in sets], int(rng.integers(1, 21))


@pytest.mark.parametrize("seed", range(50))
def test_prdc_to_the_last_sample(seed):
    (real, generated), k = data_set(seed)
    expected = prdc(real, generated, k)
    result = precall.evaluate(
        real, generated, estimators=(), scores=FOUR, score_k=k, convention="prdc"
    )
    sizes = {"precision": len(generated), "density": len(generated) * k}
    for name in FOUR:
        size = sizes.get(name, len(real))
        assert round(result.scores[name].value * size) == round(expected[name] * size), name
        assert result.scores[name].value == pytest.approx(expected[name], rel=1e-14), name
    assert result.protocol.convention == "prdc"


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16"])
def test_prdc_of_narrow_types(dtype):
    """prdc widens these to float64, precall stores them as float32: still the same number."""
    rng = np.random.default_rng(0)
    blocks = [rng.integers(0, 2, (60, 8)).repeat(98, axis=1) * 200 for _ in range(2)]
    real, generated = ((block + (rng.random(block.shape) < 0.02)).astype(dtype) for block in blocks)
    expected = prdc(real, generated, 3)
    found = precall.evaluate(
        real, generated, estimators=(), scores=FOUR, score_k=3, convention="prdc"
    )
    for name in FOUR:
        assert found.scores[name].value == pytest.approx(expected[name], rel=1e-14), name


def test_prdc_rounds_float32():
    """Distances that differ only beyond float32 tie, and a tie is outside."""
    real = np.array([[0.0], [1.0], [5.0]], dtype=np.float32)
    generated = np.array([[1.0 - 2.0**-24], [9.0], [10.0]], dtype=np.float32)
    expected = prdc(real, generated, 1)
    found = precall.evaluate(
        real, generated, estimators=(), scores=FOUR, score_k=1, convention="prdc"
    )
    assert {name: found.scores[name].value for name in FOUR} == pytest.approx(expected)


@pytest.fixture(scope="module")
def metric_prc():
    """torch-fidelity's own module; torchvision, which only reads images for it, may be missing."""
    pytest.importorskip("torch")
    if importlib.util.find_spec("torch_fidelity") is None:
        pytest.skip("torch-fidelity is not installed")
    images = ("torchvision", "torchvision.transforms", "torchvision.datasets")
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("torchvision") is None:
            for name in (*images, "torchvision.transforms.functional"):
                patch.setitem(sys.modules, name, MagicMock())
        yield importlib.import_module("torch_fidelity.metric_prc")


@pytest.mark.parametrize("seed", range(50))
def test_torch_fidelity(metric_prc, seed):
    import torch

    (real, generated), k = data_set(seed)
    expected = metric_prc.prc_features_to_metric(
        torch.from_numpy(generated),
        torch.from_numpy(real),
        prc_neighborhood=k,
        prc_batch_size=10_000,
        save_cpu_ram=False,
        verbose=False,
    )
    found = precall.evaluate(
        real, generated, estimators=(), score_k=k, convention="torch-fidelity"
    ).scores
    assert list(found) == ["precision", "recall", "f_score"]
    for name, size in (("precision", len(generated)), ("recall", len(real))):
        assert round(found[name].value * size) == round(expected[name] * size), name
    assert found["f_score"].value == pytest.approx(expected["f_score"], rel=1e-6)


# Three real and three generated points on a line, with ties: worked out by hand.
LINE = np.array([[0.0], [1.0], [3.0]]), np.array([[2.0], [4.0], [6.0]])


def test_ties_by_hand():
    """k = 1: real radii 1, 1, 2; generated radii 2, 2, 2."""
    closed = precall.evaluate(*LINE, estimators=(), scores=FOUR, score_k=1).scores
    # y = 2: |2−1| ≤ 1 and |2−3| ≤ 2; y = 4: |4−3| ≤ 2; y = 6: |6−3| > 2.
    assert closed["precision"].value == pytest.approx(2 / 3)
    assert closed["density"].value == pytest.approx(3 / 3)
    # x = 0: |0−2| ≤ 2; x = 1: |1−2| ≤ 2; x = 3 too.
    assert closed["recall"].value == 1
    # balls of x: [−1, 1] is empty, [0, 2] holds 2, [1, 5] holds 2 and 4.
    assert closed["coverage"].value == pytest.approx(2 / 3)
    opened = precall.evaluate(
        *LINE, estimators=(), scores=FOUR[:2], score_k=1, convention="eas"
    ).scores
    # y = 2: |2−1| < 1 fails, |2−3| < 2 holds; x = 0: |0−2| < 2 fails.
    assert opened["precision"].value == pytest.approx(2 / 3)
    assert opened["recall"].value == pytest.approx(2 / 3)


def test_prc_authors_swap_the_labels():
    rng = np.random.default_rng(0)
    pair = rng.normal(size=(80, 2)), rng.normal(1, 1, size=(70, 2))
    ours = precall.evaluate(*pair, estimators=()).scores
    theirs = precall.evaluate(*pair, estimators=(), convention="prc-authors").scores
    assert theirs["precision_cover"] == ours["recall_cover"]
    assert theirs["recall_cover"] == ours["precision_cover"]


def test_kynkaanniemi_realism_is_a_ratio_of_squares():
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(60, 3)), rng.normal(1, 1, size=(50, 3))
    squared = ((real[:, None] - real) ** 2).sum(axis=2)
    radii = np.sort(squared, axis=1)[:, 3]
    radii[radii > np.median(radii)] = 0
    cross = ((generated[:, None] - real) ** 2).sum(axis=2)
    result = precall.evaluate(real, generated, estimators=(), convention="kynkaanniemi")
    expected = (radii / (cross + 1e-5)).max(axis=1)
    np.testing.assert_allclose(result.samples.generated["realism"], expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["kynkaanniemi", "guided-diffusion"])
def test_closed_balls_at_k_3(name):
    rng = np.random.default_rng(0)
    pair = rng.integers(0, 3, size=(80, 2)), rng.integers(1, 4, size=(70, 2))
    ours = precall.evaluate(*pair, estimators=(), scores=["precision", "recall"]).scores
    assert precall.evaluate(*pair, estimators=(), convention=name).scores == ours


def test_the_protocol_names_the_rule():
    rng = np.random.default_rng(0)
    pair = [rng.normal(size=(30, 2)).astype(np.float32) for _ in range(2)]
    result = precall.evaluate(*pair, estimators=(), convention="prdc")
    assert result.protocol.tie_rule == "float32(distance) < float32(radius)"
    assert "scores as prdc" in repr(result)
