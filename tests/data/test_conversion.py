import re

import numpy as np
import pytest

import precall

FEATURES = np.random.default_rng(0).normal(size=(25, 3)).astype(np.float32)


@pytest.fixture
def source(tmp_path):
    np.savez(tmp_path / "a.npz", reps=FEATURES, more=np.zeros(3))
    return tmp_path / "a.npz"


def test_shards_hold_the_same_features(tmp_path, source):
    files = precall.convert(source, tmp_path / "shards", shard_rows=10)
    assert [len(np.load(file)) for file in files] == [10, 10, 5]
    again = precall.FeatureSet.of(tmp_path / "shards", "real")
    assert again.fingerprint == precall.FeatureSet.of(FEATURES, "real").fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "shards"]


def test_one_file(tmp_path, source):
    (file,) = precall.convert(f"{source}:reps", tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(file), FEATURES)


def test_nothing_is_left_half_written(tmp_path, source, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("precall.data.conversion._write", fail)
    for target in ("shards", "out.npy"):
        with pytest.raises(KeyboardInterrupt):
            precall.convert(source, tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_refusals(tmp_path, source):
    (tmp_path / "there").mkdir()
    message = f"cannot write to {tmp_path / 'there'}: it exists. Name a new folder or a .npy file."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.convert(source, tmp_path / "there")
    with pytest.raises(precall.InputError, match="there is no folder"):
        precall.convert(source, tmp_path / "no" / "folder")
    np.save(tmp_path / "a.npy", FEATURES)
    with pytest.raises(precall.InputError, match="it is one of the inputs"):
        precall.convert(tmp_path / "a.npy", tmp_path / "a.npy")
    with pytest.raises(precall.InputError, match=r"^shard_rows must be an integer of at least 1"):
        precall.convert(source, tmp_path / "x", shard_rows=0)
