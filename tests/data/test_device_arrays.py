"""Tensors on a device, with one that pretends to be."""

import numpy as np
import pytest

from precall.data.device_arrays import DeviceArray
from precall.data.feature_sets import FeatureSet, ReadFeatures

torch = pytest.importorskip("torch", reason="torch is not installed (make test-gpu installs it)")


def on_device(values, dtype=torch.float32):
    """As if it were elsewhere: what is read of it comes to the host all the same."""
    return DeviceArray(torch.tensor(values).to(dtype))


@pytest.mark.parametrize(
    ("dtype", "widened"),
    [
        (torch.float32, "float32"),
        (torch.float64, "float64"),
        (torch.float16, "float32"),
        (torch.bfloat16, "float32"),
        (torch.uint8, "float32"),
        (torch.int64, "float64"),
    ],
)
def test_types_are_widened_without_loss(dtype, widened, monkeypatch):
    array = on_device([[1.0, 2.0], [3.0, 4.0]], dtype)
    monkeypatch.setattr("precall.data.feature_sets.to_array", lambda data, role: (data, "torch"))
    read = ReadFeatures.of(array, "real")
    assert isinstance(read.rows.array, DeviceArray)
    assert str(read.rows.array.dtype) == widened
    assert read.input_dtype == str(dtype).removeprefix("torch.")


def test_what_is_read_comes_to_the_host():
    array = on_device(np.arange(12.0).reshape(4, 3))
    assert (array.shape, array.ndim, len(array)) == ((4, 3), 2, 4)
    assert np.array_equal(array[1:3], [[3, 4, 5], [6, 7, 8]])
    assert np.array_equal(array[np.array([3, 0])], [[9, 10, 11], [0, 1, 2]])
    assert np.array_equal(array[:, 1:], np.arange(12.0).reshape(4, 3)[:, 1:])
    assert np.asarray(array).dtype == np.float32


def test_an_engine_of_the_host_gets_an_array(monkeypatch):
    array = on_device(np.random.default_rng(0).normal(size=(20, 3)))
    monkeypatch.setattr("precall.data.feature_sets.to_array", lambda data, role: (data, "torch"))
    features = FeatureSet.of(array, "real")
    assert isinstance(features.rows.array, np.ndarray)
    assert features.fingerprint == FeatureSet.of(np.asarray(array), "real").fingerprint
