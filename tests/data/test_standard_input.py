import io
import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest

import precall
from precall.data.feature_sets import FeatureSet

FEATURES = np.random.default_rng(0).normal(size=(6, 3))


@pytest.fixture
def pipe(monkeypatch):
    def pipe(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return pipe


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        saved(FEATURES),
        saved(np.asfortranarray(FEATURES)),
        saved(FEATURES.astype(">f8")),
        pd.DataFrame(FEATURES).to_csv().encode(),
        pd.DataFrame(FEATURES).to_csv(sep="\t", index=False).encode("utf-8-sig"),
        pd.DataFrame(FEATURES).to_csv(sep=" ", index=False, header=False).encode(),
    ],
    ids=["npy", "fortran order", "big endian", "csv", "tsv", "white space"],
)
def test_first_bytes_tell_the_format(pipe, data):
    pipe(data)
    features = FeatureSet.of("-", "real")
    np.testing.assert_array_equal(features.rows.array, FEATURES)
    assert features.source == "standard input"


def test_columns(pipe):
    pipe(pd.DataFrame(FEATURES).to_csv().encode())
    np.testing.assert_array_equal(FeatureSet.of("-:1-2", "real").rows.array, FEATURES[:, 1:])


def test_no_samples(pipe):
    pipe(saved(FEATURES[:0]))
    with pytest.raises(precall.InputError, match=r"^real is empty: its shape is \(0, 3\)"):
        FeatureSet.of("-", "real")


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("-", b"", "is empty; it can be read only once, by one of the inputs."),
        (
            "-",
            b"PK\x03\x04\x14\0\0\0",
            "is neither a .npy file nor a table of text. Name the file instead.",
        ),
        (
            "-",
            saved(FEATURES)[:-8],
            "is truncated: its header promises 144 bytes of data, 136 are there. Copy or save it "
            "again.",
        ),
        ("-:x", saved(FEATURES), "holds one array, which has no name; leave :x away."),
        (
            "-",
            b"1,2\n3,x\n",
            "is not a table of numbers: line 2, column '1' holds 'x'. To choose columns yourself: "
            "-:NAME,NAME or -:FIRST-LAST.",
        ),
    ],
)
def test_refusals(pipe, path, data, reason):
    pipe(data)
    with pytest.raises(
        precall.InputError, match=f"^{re.escape(f'real: standard input {reason}')}$"
    ):
        FeatureSet.of(path, "real")


def test_pickles_are_never_loaded(pipe):
    pipe(pickle.dumps([1, 2]))
    with pytest.raises(precall.InputError, match=r"^real: standard input holds pickled Python obj"):
        FeatureSet.of("-", "real")


def test_it_is_read_once(pipe):
    pipe(saved(FEATURES))
    with pytest.raises(precall.InputError, match=r"^generated: standard input is empty; it can be"):
        precall.evaluate("-", "-")
