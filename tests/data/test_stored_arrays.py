"""Features that stay in their files: any rows of any format, here or elsewhere."""

import os
import re

import numpy as np
import pytest

from precall import InputError
from precall.data.feature_sets import FeatureSet, ReadFeatures
from precall.data.stored.arrays import StoredArray

ROWS = np.random.default_rng(0).normal(size=(1000, 7)).astype(np.float32)
CHOSEN = np.random.default_rng(1).permutation(1000)[:300]


def save_npy(folder):
    np.save(folder / "a.npy", ROWS)
    return folder / "a.npy"


def save_folder(folder):
    (folder / "shards").mkdir()
    for i, part in enumerate(np.array_split(ROWS, 12)):
        np.save(folder / "shards" / f"part{i}.npy", part)
    return folder / "shards"


def save_safetensors(folder):
    from safetensors.numpy import save_file

    save_file({"other": ROWS[:3], "features": ROWS}, folder / "a.safetensors")
    return folder / "a.safetensors"


def save_vectors(folder):
    import pyarrow as arrow
    from pyarrow import parquet

    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(ROWS.ravel()), 7)
    parquet.write_table(arrow.table({"v": vectors}), folder / "a.parquet", row_group_size=123)
    return folder / "a.parquet"


def save_columns(folder):
    import pyarrow as arrow
    from pyarrow import parquet

    table = {"id": np.arange(1000), **{f"f{i}": ROWS[:, i] for i in range(7)}}
    parquet.write_table(arrow.table(table), folder / "b.parquet", row_group_size=123)
    return f"{folder / 'b.parquet'}:f0-f6"


def save_zarr(folder):
    import zarr

    array = zarr.create_array(folder / "a.zarr", shape=ROWS.shape, chunks=(64, 7), dtype="f4")
    array[:] = ROWS
    return folder / "a.zarr"


SAVED = [save_npy, save_folder, save_safetensors, save_vectors, save_columns, save_zarr]


@pytest.mark.parametrize("save", SAVED)
@pytest.mark.parametrize("is_url", [False, True])
def test_any_rows_of_any_format(tmp_path, save, is_url):
    path = save(tmp_path)
    array = StoredArray.at(f"file://{path}" if is_url else path, "real")
    assert array.shape == (1000, 7)
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array[CHOSEN], ROWS[CHOSEN])
    np.testing.assert_array_equal(array[100:250], ROWS[100:250])
    np.testing.assert_array_equal(np.asarray(array), ROWS)


def test_storage_that_fsspec_opens(tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(save_folder(tmp_path)), "/bucket/shards", recursive=True)
    array = StoredArray.at("memory://bucket/shards", "real")
    np.testing.assert_array_equal(array[CHOSEN], ROWS[CHOSEN])
    with pytest.raises(InputError, match=r"^real: cannot read memory://bucket/none.npy: "):
        StoredArray.at("memory://bucket/none.npy", "real")


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8, np.float64])
def test_values_are_widened_when_they_are_read(tmp_path, dtype):
    rows = (ROWS * 50).astype(dtype)
    np.save(tmp_path / "a.npy", rows)
    read = ReadFeatures.of(tmp_path / "a.npy", "real", stays_in_files=True)
    expected = FeatureSet.of(rows, "real")
    assert str(read.rows.array.dtype) == expected.dtype
    assert read.input_dtype == expected.input_dtype
    np.testing.assert_array_equal(read.rows.tile(3, 90), expected.rows.tile(3, 90))


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda f: np.save(f / "a.npy", ROWS.T.copy().T), "is stored column by column; save it "),
        (lambda f: np.save(f / "a.npy", ROWS[0]), "has shape (7,); expected samples and features."),
        (lambda f: (f / "a.npy").write_bytes(b"\x80\x04"), "holds pickled Python objects, "),
        (
            lambda f: (np.save(f / "a.npy", ROWS), os.truncate(f / "a.npy", 999)),
            "is truncated: its header promises 28000 bytes of data, 871 are there.",
        ),
    ],
)
def test_files_that_cannot_be_read_by_rows(tmp_path, save, message):
    save(tmp_path)
    text = f"^{re.escape(f'real: {tmp_path}/a.npy {message}')}"
    with pytest.raises(InputError, match=text):
        StoredArray.at(tmp_path / "a.npy", "real")


def test_other_formats_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    message = (
        f"real: {tmp_path}/a.csv cannot be read by rows, as a cluster does; it reads .npy, "
        ".safetensors, .parquet, .zarr and folders of these. Convert it: precall convert."
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        StoredArray.at(tmp_path / "a.csv", "real")


def test_shards_that_do_not_fit_together(tmp_path):
    np.save(tmp_path / "0.npy", ROWS)
    np.save(tmp_path / "1.npy", ROWS[:, :3])
    message = "has files that do not fit together: 0.npy has 7 features, 1.npy 3."
    with pytest.raises(InputError, match=re.escape(message)):
        StoredArray.at(tmp_path, "real")


def test_a_file_that_grew_shorter_is_named(tmp_path):
    path = save_npy(tmp_path)
    array = StoredArray.at(path, "real")
    np.save(path, ROWS[:10])
    with pytest.raises(InputError, match=f"^{re.escape(str(path))} changed while it was read"):
        array[:]
