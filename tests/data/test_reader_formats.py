"""Every format: what is read, what is refused, and that nothing is ever run."""

import errno
import io
import json
import os
import pickle
import re
import sys
import tracemalloc
import zipfile
from types import SimpleNamespace

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import zarr
from safetensors.numpy import save_file

import precall
from precall.data.readers import FORMATS, read

FEATURES = np.arange(24, dtype=np.float32).reshape(6, 4)
OTHER = np.zeros((2, 2), np.float32)


class Explosion:
    """Writes a file when unpickled."""

    def __init__(self, trap):
        self.trap = trap

    def __reduce__(self):
        return os.system, (f"touch {self.trap}",)


def check_refused(path, text):
    with pytest.raises(precall.InputError, match=f"^{re.escape(f'real: {text}')}"):
        read(path, "real")


def save_npz(path, **arrays):
    np.savez(path, **arrays)


def save_npz_compressed(path, **arrays):
    np.savez_compressed(path, **arrays)


def save_safetensors(path, **arrays):
    save_file(arrays, path)


def save_hdf5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def save_zarr(path, **arrays):
    group = zarr.open_group(str(path), mode="w")
    for name, array in arrays.items():
        group.create_array(name, data=array)


def save_parquet(path, **arrays):
    columns = {
        name: pa.array(list(array), pa.list_(pa.float32())) for name, array in arrays.items()
    }
    pa.parquet.write_table(pa.table(columns), path)


def save_arrow(path, **arrays):
    columns = {
        name: pa.FixedSizeListArray.from_arrays(array.ravel(), array.shape[1])
        for name, array in arrays.items()
    }
    pyarrow.feather.write_feather(pa.table(columns), path, compression="uncompressed")


ARCHIVES = {
    "a.npz": save_npz,
    "b.npz": save_npz_compressed,
    "a.safetensors": save_safetensors,
    "a.h5": save_hdf5,
    "a.zarr": save_zarr,
    "a.parquet": save_parquet,
    "a.arrow": save_arrow,
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_one_array_whatever_its_name(tmp_path, name):
    ARCHIVES[name](tmp_path / name, anything=FEATURES)
    found = read(tmp_path / name, "real")
    np.testing.assert_array_equal(found, FEATURES)
    assert found.dtype == np.float32
    features = precall.FeatureSet.of(tmp_path / name, "real")
    assert features.fingerprint == precall.FeatureSet.of(FEATURES, "real").fingerprint


@pytest.mark.parametrize("name", ARCHIVES)
def test_of_several_arrays_a_usual_one_or_the_one_named(tmp_path, name):
    path = tmp_path / name
    wide = np.ascontiguousarray(FEATURES[:, :2])
    ARCHIVES[name](path, features=FEATURES, more=wide)
    np.testing.assert_array_equal(read(path, "real"), FEATURES)
    np.testing.assert_array_equal(read(f"{path}:more", "real"), wide)
    what = "column" if name in ("a.parquet", "a.arrow") else "array"
    check_refused(f"{path}:none", f"{path} has no {what} 'none'; it has 'features', 'more'.")
    path = tmp_path / f"other-{name}"
    ARCHIVES[name](path, one=FEATURES, two=wide)
    text = f"{path} holds several arrays, 'one', 'two'; name one: {path}:one"
    check_refused(path, text)


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors", "a.h5", "a.zarr"])
def test_statistics_and_images_are_no_features(tmp_path, name):
    path = tmp_path / name
    ARCHIVES[name](path, mu=np.zeros(3, np.float32), sigma=np.eye(3, dtype=np.float32))
    check_refused(path, f"{path} holds FID statistics (mu and sigma): precision and recall need")
    path = tmp_path / f"other-{name}"
    ARCHIVES[name](path, arr_0=np.zeros((2, 8, 8, 3), np.uint8))
    check_refused(path, f"{path} holds images (shape (2, 8, 8, 3), uint8); extract features first.")


@pytest.mark.parametrize("name", [name for name in ARCHIVES if name != "a.zarr"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "garbled"])
def test_damaged_files(tmp_path, name, damage):
    path = tmp_path / name
    ARCHIVES[name](path, features=np.random.default_rng(0).random((200, 30)).astype(np.float32))
    data = path.read_bytes()
    garbled = np.random.default_rng(0).bytes(len(data))
    damaged = {"empty": b"", "truncated": data[: len(data) // 2], "garbled": garbled}
    path.write_bytes(damaged[damage])
    with pytest.raises(precall.InputError, match=f"^real: {re.escape(str(path))} "):
        read(path, "real")


def test_shards_in_the_order_of_their_numbers(tmp_path):
    for i in (0, 1, 2, 10):
        np.save(tmp_path / f"shard-{i}.npy", np.full((2, 3), i, np.float32))
    assert read(tmp_path, "real")[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 10, 10]
    np.save(tmp_path / "shard-11.npy", np.zeros((2, 4), np.float32))
    check_refused(
        tmp_path,
        f"{tmp_path} has shards that do not fit together: shard-0.npy has shape (2, 3), "
        "shard-11.npy (2, 4).",
    )


def test_columns_of_numbers_are_features(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"x": [1.0, 2.0], "label": ["a", "b"], "y": pa.array([3, 4], pa.int32())})
    pa.parquet.write_table(table, path)
    np.testing.assert_array_equal(read(path, "real"), [[1, 3], [2, 4]])
    pa.parquet.write_table(pa.table({"v": [[1.0, 2.0], [3.0]]}), path)
    check_refused(path, f"{path} has vectors of different lengths.")
    pa.parquet.write_table(pa.table({"v": pa.array([], pa.list_(pa.float64()))}), path)
    check_refused(path, f"{path} has no rows.")
    pa.parquet.write_table(pa.table({"v": [1.0, None]}), path)
    check_refused(path, f"{path} has missing values; drop the rows that hold them.")
    pa.parquet.write_table(pa.table({"v": ["a"]}), path)
    check_refused(path, f"{path} has neither a column of vectors nor columns of numbers.")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_row_numbers_are_no_features(tmp_path, name):
    path, features = tmp_path / name, FEATURES.astype(np.float64)
    columns = {f"f{i}": features[:, i] for i in range(4)}
    write = {"a.parquet": pa.parquet.write_table, "a.arrow": pyarrow.feather.write_feather}[name]
    for number, values in {
        "id": [9, 3, 4, 8, 1, 2],
        "__index_level_0__": [9, 3, 4, 8, 1, 2],
        "n": [1, 2, 3, 4, 5, 6],
    }.items():
        write(pa.table({number: values, **columns}), path)
        message = (
            f"real: {path} has row numbers in column {number!r}, which is left out. To choose "
            f"columns yourself: {path}:NAME,NAME or {path}:FIRST-LAST."
        )
        with pytest.warns(precall.PrecallWarning, match=f"^{re.escape(message)}$"):
            np.testing.assert_array_equal(read(path, "real"), features)
        named = read(f"{path}:{number},f1-f2", "real")
        np.testing.assert_array_equal(named, np.column_stack([values, features[:, 1:3]]))
    write(pa.table({"code": [9, 3, 4, 8, 1, 2], **columns}), path)
    assert read(path, "real").shape == (6, 5)


def test_columns_that_are_no_numbers(tmp_path):
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"x": [1.0], "v": [[1.0, 2.0]], "t": ["a"]}), path)
    advice = "name columns of numbers, or one column of vectors alone."
    check_refused(f"{path}:x,v", f"{path} holds list<element: double> in column 'v'; {advice}")
    check_refused(f"{path}:t", f"{path} holds string in column 't'; {advice}")


def test_bfloat16(tmp_path):
    path = tmp_path / "a.safetensors"
    halves = (FEATURES.view(np.uint32) >> 16).astype("<u2")
    header = {"x": {"dtype": "BF16", "shape": [6, 4], "data_offsets": [0, 48]}}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + halves.tobytes())
    np.testing.assert_array_equal(read(path, "real"), FEATURES)


# Nothing is run, nothing is allocated on a forged word


def npz_with(path, name, data):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, data)


def forged_npy(shape, dtype="<f4"):
    file = io.BytesIO()
    header = {"shape": shape, "fortran_order": False, "descr": dtype}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + b"\0" * 64


def test_pickles_are_refused_and_never_run(tmp_path):
    trap = tmp_path / "trap"
    bomb = pickle.dumps(Explosion(trap))
    objects = io.BytesIO()
    np.save(objects, np.array([Explosion(trap)], dtype=object))
    for name in ("a.pkl", "a.pickle", "a.joblib", "a.npy"):
        (tmp_path / name).write_bytes(bomb)
        check_refused(tmp_path / name, f"{tmp_path / name} holds pickled Python objects")
    npz_with(tmp_path / "a.npz", "features.npy", objects.getvalue())
    check_refused(tmp_path / "a.npz", f"{tmp_path / 'a.npz'} holds pickled Python objects")
    npz_with(tmp_path / "b.npz", "features.npy", bomb)
    check_refused(tmp_path / "b.npz", f"{tmp_path / 'b.npz'} holds pickled Python objects")
    assert not trap.exists()


@pytest.mark.parametrize("key", ["filters", "compressor"])
def test_zarr_with_a_pickle_codec_is_refused(tmp_path, key):
    trap, path = tmp_path / "trap", tmp_path / "a.zarr"
    path.mkdir()
    codec = {"id": "pickle", "protocol": 5}
    metadata = {
        "zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "<f4", "order": "C",
        "fill_value": 0, "compressor": None, "filters": None,
    }  # fmt: skip
    metadata[key] = [codec] if key == "filters" else codec
    (path / ".zarray").write_text(json.dumps(metadata))
    (path / "0.0").write_bytes(pickle.dumps(Explosion(trap)))
    check_refused(
        path,
        f"{path} uses the codec 'pickle', which precall does not trust; save it with another one, "
        "such as blosc.",
    )
    assert not trap.exists()


UNSAFE_TORCH = (
    "is damaged, or cannot be read without running code in it, which precall never does. Save the "
    "features as .npy or .safetensors."
)


def test_the_advice_to_switch_safety_off_is_not_passed_on(tmp_path, monkeypatch):
    def load(path, *, map_location, weights_only):
        assert weights_only
        raise pickle.UnpicklingError("Weights only load failed. Set `weights_only` to `False`.")

    torch = SimpleNamespace(__version__="2.10.0+cpu", load=load)
    monkeypatch.setitem(sys.modules, "torch", torch)
    path = tmp_path / "a.pt"
    path.write_bytes(b"anything")
    with pytest.raises(precall.InputError, match=f"^real: {re.escape(f'{path} {UNSAFE_TORCH}')}$"):
        read(path, "real")


def test_torch_files_run_no_code(tmp_path):
    torch = pytest.importorskip("torch")
    trap, path = tmp_path / "trap", tmp_path / "a.pt"
    torch.save({"features": torch.from_numpy(FEATURES), "step": 3}, path)
    np.testing.assert_array_equal(read(path, "real"), FEATURES)
    torch.save(torch.from_numpy(FEATURES).bfloat16(), path)
    np.testing.assert_array_equal(read(path, "real"), FEATURES)
    torch.save(Explosion(trap), path)
    check_refused(path, f"{path} {UNSAFE_TORCH}")
    path.write_bytes(pickle.dumps(Explosion(trap)))
    check_refused(path, f"{path} {UNSAFE_TORCH}")
    torch.save([1, 2], path)
    check_refused(path, f"{path} holds a list; expected a tensor or a dict of tensors.")
    assert not trap.exists()


@pytest.mark.parametrize("shape", [(2**40, 2**5), (10**9, 4), (-3, 4)])
def test_forged_sizes_allocate_nothing(tmp_path, shape):
    path = tmp_path / "a.npz"
    npz_with(path, "features.npy", forged_npy(shape))
    with pytest.raises(precall.InputError, match=f"^real: {re.escape(str(path))} (is|has) "):
        read(path, "real")
    path = tmp_path / "a.safetensors"
    header = {"x": {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 16]}}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * 16)
    with pytest.raises(precall.InputError, match=f"^real: {re.escape(str(path))} (is|has) "):
        read(path, "real")
    path.write_bytes((2**60).to_bytes(8, "little") + b"{}")
    check_refused(path, f"{path} is not a valid .safetensors file: its header is longer")


def test_an_archive_that_holds_more_than_it_promises(tmp_path):
    """No more is unpacked than the header asks for, however much there is."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", forged_npy((2, 2)) + b"\0" * (100 * 2**20))
    check_refused(
        path,
        f"{path} is damaged: its header promises 16 bytes of data, the archive's directory "
        "104857664. Copy or save it again.",
    )


def check_allocates_little(path, text):
    tracemalloc.start()
    check_refused(path, text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * 2**20


def test_an_archive_that_holds_less_than_it_promises_is_not_unpacked(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", forged_npy((5 * 10**6, 1000))[:-64] + bytes(10**8))
    check_allocates_little(
        path,
        f"{path} is damaged: its header promises 20000000000 bytes of data, the archive's "
        "directory 100000000. Copy or save it again.",
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_forged_directory_is_not_believed(tmp_path, method):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("features.npy", forged_npy((5 * 10**6, 1000)))
        entry = archive.infolist()[0]
        entry.file_size = 20 * 10**9 + 128
    check_allocates_little(
        path,
        f"{path} is damaged: it promises 20000000000 bytes of data, more than "
        f"{entry.compress_size} packed bytes can hold. Copy or save it again.",
    )


def test_an_archive_that_ends_early(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", forged_npy((100, 4)))
        archive.infolist()[0].file_size = 100 * 4 * 4 + 128
    check_refused(
        path,
        f"{path} is damaged: its header promises 1600 bytes of data, 64 were read. Copy or save it "
        "again.",
    )


def test_a_header_that_is_too_long_is_not_unpacked(tmp_path):
    path = tmp_path / "a.npz"
    header = b"\x93NUMPY\x02\x00" + (10**8).to_bytes(4, "little") + b" " * 10**8
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", header)
    check_allocates_little(path, f"{path} has a damaged .npy header. Save it again.")


TOO_LARGE = (
    "real: there is not enough memory to read {}. Free some, or save the features as .npy, of "
    "which only the part at work is read."
)


@pytest.mark.parametrize(
    ("name", "culprit", "error"),
    [
        ("a.npz", "numpy.empty", MemoryError()),
        ("a.safetensors", "numpy.memmap", OSError(errno.ENOMEM, "Cannot allocate memory")),
        ("a.parquet", "pyarrow.parquet.read_table", pa.ArrowMemoryError("malloc failed")),
        ("a.arrow", "pyarrow.memory_map", pa.ArrowMemoryError("malloc failed")),
        ("a.h5", "h5py.File", MemoryError()),
        ("a.zarr", "zarr.open", MemoryError()),
        ("a.csv", "numpy.loadtxt", MemoryError()),
        ("a.npy", "numpy.memmap", OSError(errno.ENOMEM, "Cannot allocate memory")),
    ],
)
def test_too_little_memory(tmp_path, monkeypatch, name, culprit, error):
    def fail(*_, **__):
        raise error

    path = tmp_path / name
    if name in ARCHIVES:
        ARCHIVES[name](path, features=FEATURES)
    elif name == "a.npy":
        np.save(path, FEATURES)
    else:
        path.write_text("1,2\n3,4\n")
    monkeypatch.setattr(culprit, fail)
    with pytest.raises(precall.InputError, match=f"^{re.escape(TOO_LARGE.format(path))}$"):
        read(path, "real")


@pytest.mark.parametrize("ending", [*FORMATS, ".pkl", "", ".csv:x", ".npz:features"])
def test_a_missing_file_is_missed_in_the_same_words(tmp_path, ending):
    path = tmp_path / f"missing{ending}"
    file = str(path).partition(":")[0]
    message = f"real: cannot read {file}: No such file or directory."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        read(path, "real")


def test_names_where_there_are_none(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, FEATURES)
    check_refused(f"{path}:x", f"{path} holds one array, which has no name; leave :x away.")
    check_refused(f"{tmp_path}:x", f"{tmp_path} holds one array, which has no name; leave :x away.")


def test_hdf5_that_promises_more_than_it_holds(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10**9, 100), "f4", chunks=(1000, 100))
    check_refused(path, f"{path} is damaged: it promises numbers but holds none.")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (4, 4), "f4", external=str(tmp_path / "elsewhere.bin"))
    check_refused(path, f"{path} keeps its numbers in other files; copy them into this one.")


def test_a_zip_by_another_name(tmp_path):
    path = tmp_path / "a.npy"
    with path.open("wb") as file:
        np.savez(file, features=FEATURES)
    check_refused(path, f"{path} is a zip archive: give it the ending .npz, or .pt if torch")


def test_what_a_format_needs(tmp_path, monkeypatch):
    save_hdf5(tmp_path / "a.h5", features=FEATURES)
    monkeypatch.setitem(sys.modules, "h5py", None)
    message = "real: .h5 files need h5py. Install it with: pip install 'precall[formats]'"
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        read(tmp_path / "a.h5", "real")
