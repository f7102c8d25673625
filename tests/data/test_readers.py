import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import precall
from precall.data.feature_sets import FeatureSet

FEATURES = np.arange(12, dtype=np.float32).reshape(4, 3)


def check_refused(path: Path, text: str) -> None:
    with pytest.raises(precall.InputError, match=f"^{re.escape(text)}$"):
        FeatureSet.of(path, "real")


def test_npy_is_memory_mapped(tmp_path):
    np.save(tmp_path / "a.npy", FEATURES)
    features = FeatureSet.of(str(tmp_path / "a.npy"), "real")
    assert isinstance(features.rows.array, np.memmap)
    assert features.source == str(tmp_path / "a.npy")
    np.testing.assert_array_equal(features.rows.array, FEATURES)


@pytest.mark.parametrize(
    "stored",
    [np.asfortranarray(FEATURES), FEATURES.astype(">f4"), FEATURES.astype(np.int16)],
    ids=["fortran order", "big endian", "integers"],
)
def test_every_layout_is_the_same_features(tmp_path, stored):
    np.save(tmp_path / "a.npy", stored)
    features = FeatureSet.of(tmp_path / "a.npy", "real")
    np.testing.assert_array_equal(features.rows.array, FEATURES)
    assert features.fingerprint == FeatureSet.of(FEATURES, "real").fingerprint


class Explosion:
    """Writes a file when unpickled."""

    def __init__(self, trap: Path):
        self.trap = trap

    def __reduce__(self):
        return os.system, (f"touch {self.trap}",)


def pickled_message(path: Path) -> str:
    return (
        f"real: {path} holds pickled Python objects, which can run any code when loaded; "
        "precall never unpickles. Save the features as a plain numeric array: "
        "numpy.save(path, numpy.asarray(features, dtype='float32'))."
    )


def test_malicious_files_are_refused_and_never_run(tmp_path):
    trap = tmp_path / "trap"
    plain, wrapped = tmp_path / "plain.npy", tmp_path / "wrapped.npy"
    plain.write_bytes(pickle.dumps(Explosion(trap)))
    np.save(wrapped, np.array([[Explosion(trap)]], dtype=object), allow_pickle=True)
    for path in (plain, wrapped):
        check_refused(path, pickled_message(path))
    assert not trap.exists()


def test_unreadable_files(tmp_path):
    missing, empty = tmp_path / "missing.npy", tmp_path / "empty.npy"
    check_refused(missing, f"real: cannot read {missing}: No such file or directory.")
    empty.write_bytes(b"")
    check_refused(empty, f"real: {empty} is empty (0 bytes).")
    (tmp_path / "folder").mkdir()
    check_refused(
        tmp_path / "folder",
        f"real: {tmp_path / 'folder'} is a folder without .npy files. If it holds pictures, texts "
        "or sounds, add --features auto, or features='auto'.",
    )
    text = tmp_path / "features.dat"
    text.write_text("1,2,3\n")
    check_refused(
        text,
        f"real: {text} is not a .npy file. Save the features with numpy.save(path, features).",
    )


def test_damaged_files(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, FEATURES)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    check_refused(
        path,
        f"real: {path} is truncated: its header promises 48 bytes of data, 40 are there. "
        "Copy or save it again.",
    )
    damaged = f"real: {path} has a damaged .npy header. Save it again."
    for forged in (
        whole[:20],
        whole.replace(b"'descr'", b"'xxxxx'"),
        whole.replace(b"(4, 3)", b"(-4,3)"),
        whole[:6] + b"\x09\x09" + whole[8:],
    ):
        path.write_bytes(forged)
        check_refused(path, damaged)


@pytest.mark.parametrize(
    ("descr", "shape"),
    [
        ("<f4", "(10**30, 0)".replace("10**30", "1" + "0" * 30)),
        ("|S0", "(1000000000000, 10)"),
        ("<f4", "(" + "1, " * 100 + ")"),
        ("<f4", "(True, False)"),
        ("<f4", "-" * 9000 + "1"),
        ("<f4", "1" + "+1" * 4000),
    ],
)
def test_forged_headers(tmp_path, descr, shape):
    path = tmp_path / "a.npy"
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    check_refused(path, f"real: {path} has a damaged .npy header. Save it again.")


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(precall.InputError, match=r"^real: cannot read a"):
        FeatureSet.of("a\0b", "real")
    with pytest.raises(
        precall.InputError, match=r"^real: cannot read aaa.*: File name too long\.$"
    ):
        FeatureSet.of("a" * 5000, "real")


def test_a_forged_header_allocates_nothing(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, FEATURES)
    path.write_bytes(path.read_bytes().replace(b"(4, 3), }      ", b"(4, 3000000000)"))
    path.write_bytes(path.read_bytes().replace(b"(4, 3000000000)", b"(4, 900000000)}"))
    check_refused(
        path,
        f"real: {path} is truncated: its header promises 14400000000 bytes of data, 48 are there. "
        "Copy or save it again.",
    )
