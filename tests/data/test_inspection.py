import numpy as np
import pytest

from precall.data.inspection import FeatureInfo


def test_numbers(tmp_path):
    rows = np.random.default_rng(0).normal(1e6, 2, (5000, 3)).astype(np.float64)
    rows[:, 1] = 0
    np.save(tmp_path / "a.npy", rows)
    info = FeatureInfo.of(tmp_path / "a.npy")
    features = info.features
    assert (len(features), features.n_features, features.n_constant) == (5000, 3, 1)
    assert features.input_dtype == "float64"
    assert (info.smallest, info.largest) == (rows.min(), rows.max())
    assert info.mean == pytest.approx(rows.mean())
    assert info.deviation == pytest.approx(rows.std())
    assert info.share_of_zeros == pytest.approx(1 / 3)


def test_text(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4]], np.int16))
    lines = str(FeatureInfo.of(tmp_path / "a.npy")).splitlines()
    assert lines[1:5] == [
        "samples            2",
        "features           2",
        "type               int16",
        "values             1 to 4",
    ]


def test_nothing_is_less_than_nothing(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[-0.0], [-0.0]]))
    lines = str(FeatureInfo.of(tmp_path / "a.npy")).splitlines()
    assert lines[4:6] == ["values             0 to 0", "mean               0 ± 0"]
