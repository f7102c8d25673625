import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import precall
from precall.data.feature_sets import FeatureSet

ROWS = np.arange(12, dtype=np.float64).reshape(4, 3) / 8
LISTS = ROWS.tolist()


class Tensor:
    """Behaves like a torch tensor that needs a gradient and sits on a device."""

    def __init__(self, values, dtype="torch.float32", attached=True):
        self.values, self.dtype, self.attached = values, dtype, attached

    def detach(self):
        return Tensor(self.values, self.dtype, attached=False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values, "torch.float32", self.attached)

    def numpy(self):
        if self.attached or self.dtype == "torch.bfloat16":
            raise TypeError("cannot convert")
        return np.asarray(self.values, dtype=np.float32)


class OnlyDLPack:
    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **kwargs):
        return self.values.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OnlyArray:
    def __array__(self, dtype=None, copy=None):
        return ROWS


FORMS = {
    "list": LISTS,
    "__array__": OnlyArray(),
    "dlpack": OnlyDLPack(ROWS.copy()),
    "tensor": Tensor(ROWS),
    "bfloat16 tensor": Tensor(ROWS, "torch.bfloat16"),
    "pandas series": pd.Series(list(ROWS)),
    "pandas series of lists": pd.Series(LISTS),
    "pandas columns": pd.DataFrame(ROWS, columns=["a", "b", "c"]),
    "pandas column": pd.DataFrame({"vector": list(ROWS)}),
    "polars list series": pl.Series(LISTS),
    "polars array series": pl.Series(LISTS, dtype=pl.Array(pl.Float64, 3)),
    "polars columns": pl.DataFrame(ROWS, schema=["a", "b", "c"]),
    "polars column": pl.DataFrame({"vector": LISTS}),
    "pyarrow list array": pa.array(LISTS),
    "pyarrow fixed list array": pa.array(LISTS, pa.list_(pa.float64(), 3)),
    "pyarrow chunks": pa.chunked_array([LISTS[:1], LISTS[1:]]),
    "pyarrow columns": pa.table({name: ROWS[:, i] for i, name in enumerate("abc")}),
    "pyarrow column": pa.table({"vector": LISTS}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alike(form):
    features = FeatureSet.of(FORMS[form], "real")
    np.testing.assert_array_equal(features.rows.array, ROWS)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    for tensor in (
        torch.tensor(ROWS),
        torch.tensor(ROWS, requires_grad=True),
        torch.tensor(ROWS).to(torch.bfloat16),
        torch.tensor(ROWS).half(),
    ):
        np.testing.assert_array_equal(FeatureSet.of(tensor, "real").rows.array, ROWS)


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("out of paper")


def test_subclasses_of_arrays_are_read_as_arrays():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the class is discouraged, but it exists
        matrix = np.asmatrix(ROWS)
    for data in (matrix, np.ma.masked_array(ROWS, mask=False)):
        array = FeatureSet.of(data, "real").rows.array
        assert type(array) is np.ndarray
        np.testing.assert_array_equal(array, ROWS)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"id": [7, 3, 9, 1], **dict(zip("abc", ROWS.T, strict=True))}),
        pl.DataFrame({"id": [7, 3, 9, 1], **dict(zip("abc", ROWS.T, strict=True))}),
        pa.table({"id": [7, 3, 9, 1], **dict(zip("abc", ROWS.T, strict=True))}),
        pa.record_batch({"id": [7, 3, 9, 1], **dict(zip("abc", ROWS.T, strict=True))}),
    ],
    ids=["pandas", "polars", "pyarrow table", "pyarrow batch"],
)
def test_row_numbers_of_a_frame_are_no_features(frame):
    message = (
        f"real: the {type(frame).__name__} has row numbers in column 'id', which is left out. To "
        "keep them all, pass the columns as one array."
    )
    with pytest.warns(precall.PrecallWarning, match=f"^{re.escape(message)}$"):
        features = FeatureSet.of(frame, "real")
    np.testing.assert_array_equal(features.rows.array, ROWS)


REFUSED = {
    "masked": (
        np.ma.masked_greater(ROWS, 1.2),
        "real is a masked array with 2 masked values; drop the rows that hold them.",
    ),
    "broken": (Broken(), "real is a tests.Broken that cannot be read: out of paper"),
    "nested column": (
        pd.Series([[[1.0], [2.0, 3.0]]]),
        "real: row 0 of the column is [[1.0], [2.0, 3.0]], not a vector of numbers.",
    ),
    "ragged list": (
        [[1.0, 2.0], [3.0]],
        "real is a list whose rows have different lengths; every sample needs the same number of "
        "features.",
    ),
    "ragged column": (
        pd.Series([[1.0, 2.0], [3.0]]),
        "real: the vector in row 1 has 1 values, the one in row 0 has 2; every sample needs the "
        "same number of features.",
    ),
    "missing vector": (
        pa.array([[1.0], None]),
        "real: row 1 of the column is None, not a vector of numbers.",
    ),
    "vectors among columns": (
        pd.DataFrame({"id": [1, 2], "vector": [[1.0], [2.0]]}),
        "real has 2 columns, some of them vectors; pass the one column that holds the features.",
    ),
    "names among columns": (
        pl.DataFrame(
            {"name": [1, 2], "value": [True, False], "day": ["2020", "2021"]}
        ).with_columns(pl.col("day").str.to_date("%Y", strict=False)),
        "real has columns that are not numeric; pass only the columns that are features.",
    ),
    "number": (
        3.5,
        "real is a builtins.float; expected a NumPy array, a tensor (anything with __array__ or "
        "__dlpack__), a pandas, polars or pyarrow column of vectors, or the path of a file.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    data, message = REFUSED[case]
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        FeatureSet.of(data, "real")


def test_a_tensor_that_cannot_be_read():
    class Stuck(Tensor):
        def detach(self):
            return self

    message = f"real is a tests.{Stuck.__qualname__} that cannot be read: cannot convert"
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        FeatureSet.of(Stuck(ROWS), "real")


def test_a_buffer_on_another_device():
    class Elsewhere(OnlyDLPack):
        def __dlpack__(self, **kwargs):
            raise BufferError("device 2 is not the CPU")

    message = (
        "real: this object's DLPack buffer cannot be read: device 2 is not the CPU. "
        "Is it on another device? Move it to the CPU first."
    )
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        FeatureSet.of(Elsewhere(ROWS), "real")
