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


@pytest.mark.parametrize("name", ["x.csv", "x.NPZ", "x.txt", "x.pkl", "-"])
def test_no_folder_is_named_like_a_file(tmp_path, source, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    message = (
        f"cannot write to {name}: features are only written as .npy. Name a .npy file, or a new "
        "folder without the ending of a file."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.convert(source, name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_endings_in_capitals(tmp_path, source):
    (file,) = precall.convert(source, tmp_path / "out.NPY")
    np.testing.assert_array_equal(np.load(file), FEATURES)


def test_columns_of_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y\n3,1,2\n5,3,4\n")
    (file,) = precall.convert(tmp_path / "a.csv", tmp_path / "all.npy")
    np.testing.assert_array_equal(np.load(file), [[1, 2], [3, 4]])
    (file,) = precall.convert(f"{tmp_path / 'a.csv'}:id,y", tmp_path / "some.npy")
    np.testing.assert_array_equal(np.load(file), [[3, 2], [5, 4]])


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
    with pytest.raises(precall.InputError, match="it is one of the inputs"):
        precall.convert(f"{tmp_path / 'a.npy'}:x", tmp_path / "a.npy")
    with pytest.raises(precall.InputError, match=r"^shard_rows must be an integer of at least 1"):
        precall.convert(source, tmp_path / "x", shard_rows=0)
