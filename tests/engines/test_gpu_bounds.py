"""What Q proves about canonical distances, checked in exact or extended arithmetic."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_cases import torch
from precall.data.row_hashes import column_factors, hash_rows
from precall.engines.gpu.inspection import hashed
from precall.engines.gpu.levels import Doubt, Level, rounded_down, rounded_up
from precall.engines.gpu.placing import doubled, halved
from precall.engines.gpu.plain import PlainTiles
from precall.engines.gpu.scale import Scale
from precall.engines.reference import squared_distances
from strategies import nasty_pairs


@settings(max_examples=60, deadline=None)
@given(nasty_pairs(), st.sampled_from([Level.HALF, Level.DOUBLE]))
def test_limits_are_safe(pair, level):
    """Q ≤ inner proves that a pair is within its threshold, Q > outer that it is not."""
    real, generated = (np.asarray(side, np.float64) for side in pair)
    with np.errstate(all="ignore"):
        squared = torch.from_numpy(squared_distances(real, generated))
    sides = [torch.from_numpy(side) for side in (real, generated)]
    scale = Scale.around(sides, torch.device("cpu"))
    place = halved if level is Level.HALF else doubled
    a, b = (place(side, scale) for side in sides)
    q = PlainTiles().dense(a, b).double()
    doubt = Doubt.of(a, b, scale)
    for threshold in (squared.min(dim=1).values, squared.max(dim=1).values, squared[:, 0]):
        inner, outer = doubt.of_threshold(threshold)
        inside = squared <= threshold[:, None]
        assert inside[q <= inner[:, None]].all()
        assert not inside[q > outer[:, None]].any()
    for k in range(1, len(generated) + 1):
        kth = squared.kthvalue(k, dim=1).values[:, None]
        below, above = doubt.of_kth(q.kthvalue(k, dim=1).values)
        assert (squared <= kth)[q < below[:, None]].all()
        assert (squared >= kth)[q > above[:, None]].all()


@pytest.mark.parametrize(
    ("rows", "step"),
    [
        ([[0.0, 3.0], [2.0, 16.0]], 1.0),
        ([[0.25, 0.5], [0.75, 1.0]], 0.25),
        ([[1 + 2.0**-40, 1.0], [1 + 3 * 2.0**-40, 1.0]], 2.0**-40),
        ([[0.1, 0.1], [0.1, 0.1]], 2.0**-55),
    ],
)
def test_grids_are_found(rows, step):
    scale = Scale.around([torch.tensor(rows, dtype=torch.float64)], torch.device("cpu"))
    assert scale.is_exact
    assert scale.step >= step or scale.step == step


def test_one_row_off_the_grid_is_noticed():
    rows = torch.arange(8000, dtype=torch.float64).reshape(4000, 2) % 7
    assert Scale.around([rows], torch.device("cpu")).is_exact
    rows[2001, 1] += 2.0**-30
    assert not Scale.around([rows], torch.device("cpu")).is_exact


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_limits_are_rounded_to_the_safe_side(value):
    limit = torch.tensor([value], dtype=torch.float64)
    assert rounded_down(limit, torch.float32).double() <= limit
    assert rounded_up(limit, torch.float32).double() >= limit


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hashes_are_those_of_the_host(dtype):
    rows = np.random.default_rng(0).normal(size=(50, 7)).astype(dtype)
    rows[3, 2], rows[4, 1] = -0.0, 0.0
    factors = torch.from_numpy(column_factors(7).view(np.int64))
    found = hashed(torch.from_numpy(rows), factors).numpy().view(np.uint64)
    assert np.array_equal(found, hash_rows(rows))


def test_kernels_are_kept_somewhere(tmp_path, monkeypatch):
    pytest.importorskip("triton", reason="triton is not installed (make test-gpu installs it)")
    from precall.engines.gpu import fused

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kernels"))
    fused.keep_kernels()
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path / "kernels")
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(fused, "private_folder", lambda: str(tmp_path))
    fused.keep_kernels()
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path)
