"""Tables of text: which line names columns, which column numbers rows, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import precall
from precall.data.readers import read
from precall.data.readers.notes import noted

FEATURES = np.random.default_rng(0).normal(size=(6, 3))
FRAME = pd.DataFrame(FEATURES)
NAMED = pd.DataFrame(FEATURES, columns=["x", "y", "z"])


def check_read(path, expected, *texts):
    """What is read, and all that is said of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with noted() as notes:
            found = read(path, "real")
    np.testing.assert_array_equal(found, expected)
    said = [f"real: {text}" for text in texts]
    assert [str(warning.message) for warning in caught] == said
    assert [(note.role, note.text) for note in notes] == [("real", text) for text in said]
    assert all(warning.category is precall.PrecallWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)


def check_refused(path, text):
    with pytest.raises(precall.InputError, match=f"^{re.escape(f'real: {text}')}$"):
        read(path, "real")


def how_to_choose(path):
    return f"To choose columns yourself: {path}:NAME,NAME or {path}:FIRST-LAST."


def names_line(path, last):
    return (
        f"the first line of {path}, 0 to {last}, is read as the names of columns, not as a sample. "
        "If it is one, save the features as .npy."
    )


def left_out(path, where):
    return f"{path} has row numbers in {where}, which is left out. {how_to_choose(path)}"


NO_NAME = "the column without a name"


# Lines of names


def test_a_line_of_numbers_that_a_data_frame_wrote_is_no_sample(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path, index=False)
    check_read(path, FEATURES, names_line(path, 2))
    FRAME[[0]].to_csv(path, index=False)
    check_read(path, FEATURES[:, :1], names_line(path, 0))


def test_a_line_of_words_is_no_sample(tmp_path):
    path = tmp_path / "a.csv"
    NAMED.to_csv(path, index=False)
    check_read(path, FEATURES)
    NAMED.rename(columns={"x": "0"}).to_csv(path, index=False, encoding="utf-8-sig")
    check_read(path, FEATURES)


def test_a_first_line_of_other_numbers_is_a_sample(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n4,5,6.5\n")
    check_read(path, [[1, 2, 3], [4, 5, 6.5]])
    np.savetxt(path, np.arange(6.0).reshape(2, 3), delimiter=",")
    check_read(path, np.arange(6.0).reshape(2, 3))
    path.write_text("nan,1\n2,3\n")
    assert np.isnan(read(path, "real")[0, 0])


def test_a_missing_value_in_the_first_line_is_no_name(tmp_path):
    path = tmp_path / "a.csv"
    for text, seen in (("1.5,,2\n3,4,5\n", "nothing"), ("1.5,NA,2\n3,4,5\n", "'NA'")):
        path.write_text(text)
        check_refused(
            path,
            f"{path} is not a table of numbers: line 1, column '1' holds {seen}. "
            f"{how_to_choose(path)}",
        )


def test_comments_above(tmp_path):
    path = tmp_path / "a.txt"
    np.savetxt(path, FEATURES, header="made by\nx y z", fmt="%.17g")
    check_read(path, FEATURES)
    check_read(f"{path}:z", FEATURES[:, 2:])
    path = tmp_path / "a.csv"
    path.write_text("#id,x\n7,0.5\n3,1.5\n")
    check_read(path, [[0.5], [1.5]], left_out(path, "column 'id'"))


# Row numbers


def test_row_numbers_that_a_data_frame_wrote_are_no_feature(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path)
    check_read(path, FEATURES, left_out(path, NO_NAME))
    FRAME.iloc[::-1].to_csv(path)
    check_read(path, FEATURES[::-1], left_out(path, NO_NAME))
    FRAME[[0]].to_csv(path)
    check_read(path, FEATURES[:, :1], left_out(path, NO_NAME))
    FRAME.to_csv(path, header=False)
    check_read(path, FEATURES, left_out(path, "column '0'"))
    pd.read_csv(path, header=None).rename(columns={0: "Unnamed: 0"}).to_csv(path, index=False)
    check_read(path, FEATURES, left_out(path, "column 'Unnamed: 0'"))


@pytest.mark.parametrize("name", ["id", "ID", "index", "row", "Unnamed: 0", " Id "])
def test_different_integers_under_such_a_name_are_no_feature(tmp_path, name):
    path = tmp_path / "a.csv"
    NAMED.assign(**{name: [70, 3, 12, -8, 5, 6]}).to_csv(path, index=False)
    check_read(path, FEATURES, left_out(path, f"column {name.strip()!r}"))


@pytest.mark.parametrize("start", [0, 1])
def test_a_column_that_counts_is_no_feature_whatever_its_name(tmp_path, start):
    path = tmp_path / "a.csv"
    NAMED.assign(n=np.arange(start, start + 6)).to_csv(path, index=False)
    check_read(path, FEATURES, left_out(path, "column 'n'"))


def test_both_kinds_at_once(tmp_path):
    path = tmp_path / "a.csv"
    NAMED.assign(id=[7, 3, 1, 2, 5, 6]).to_csv(path)
    check_read(
        path,
        FEATURES,
        f"{path} has row numbers in {NO_NAME} and in column 'id', which are left out. "
        f"{how_to_choose(path)}",
    )


def test_row_names_as_r_writes_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"","x","y"\n"1",0.5,2\n"2",1.5,3\n"3",2.5,9\n')
    check_read(path, [[0.5, 2], [1.5, 3], [2.5, 9]], left_out(path, NO_NAME))
    path = tmp_path / "a.txt"
    path.write_text('"x" "y"\n"1" 0.5 2\n"2" 1.5 3\n"3" 2.5 9\n')
    check_read(path, [[0.5, 2], [1.5, 3], [2.5, 9]], left_out(path, NO_NAME))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("count", [70, 3, 12, -8, 5, 6]),
        ("identity", [70, 3, 12, -8, 5, 6]),
        ("n", [0, 1, 2, 3, 5, 4]),
        ("n", [2, 3, 4, 5, 6, 7]),
        ("id", [1, 1, 2, 3, 4, 5]),
        ("id", [0.5, 1, 2, 3, 4, 5]),
    ],
)
def test_other_integers_are_features(tmp_path, name, values):
    path = tmp_path / "a.csv"
    NAMED.assign(**{name: values}).to_csv(path, index=False)
    check_read(path, np.column_stack([FEATURES, values]))


def test_row_numbers_alone_are_features(tmp_path):
    path = tmp_path / "a.csv"
    numbers = np.arange(6.0).reshape(-1, 1)
    path.write_text("0\n1\n2\n3\n4\n5\n")
    check_read(path, numbers)
    path.write_text("id\n0\n1\n2\n3\n4\n5\n")
    check_read(path, numbers)
    path.write_text("id,index\n0,1\n1,2\n2,3\n")
    check_read(path, [[0, 1], [1, 2], [2, 3]])


def test_two_rows_count_by_chance(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2.5\n2,4\n")
    check_read(path, [[1, 2.5], [2, 4]])


# Columns by their names


def test_columns_that_are_named_are_read_as_they_are(tmp_path):
    path = tmp_path / "a.csv"
    NAMED.assign(id=range(6), file="a.png").to_csv(path, index=False)
    numbers = np.arange(6.0)
    check_read(f"{path}:y", FEATURES[:, 1:2])
    check_read(f"{path}:z,x", FEATURES[:, [2, 0]])
    check_read(f"{path}:x-z", FEATURES)
    check_read(f"{path}:y-id, x,y", np.column_stack([FEATURES[:, 1:], numbers, FEATURES[:, 0]]))
    check_refused(
        f"{path}:x,none", f"{path} has no column 'none'; it has 'x', 'y', 'z', 'id', 'file'."
    )
    check_refused(
        f"{path}:x,file",
        f"{path} is not a table of numbers: line 2, column 'file' holds 'a.png'. "
        f"{how_to_choose(path)}",
    )


def test_columns_without_names_are_numbered(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path, header=False, index=False)
    check_read(f"{path}:0,2", FEATURES[:, [0, 2]])
    check_read(f"{path}:1-2", FEATURES[:, 1:])
    FRAME.to_csv(path)
    check_read(f"{path}:0-1", FEATURES[:, :2])
    check_refused(f"{path}:1-3", f"{path} has no column '1-3'; it has '', '0', '1', '2'.")


def test_names_with_commas_and_dashes(tmp_path):
    path = tmp_path / "a.csv"
    NAMED.set_axis(["f-1", "f-2", "a,b"], axis=1).to_csv(path, index=False)
    check_read(f"{path}:f-1-f-2", FEATURES[:, :2])
    check_read(f"{path}:f-2", FEATURES[:, 1:2])
    check_read(f"{path}:a,b", FEATURES[:, 2:])


# Separators


@pytest.mark.parametrize(
    ("ending", "separator"),
    [("tsv", "\t"), ("TSV", "\t"), ("txt", "\t"), ("txt", ","), ("txt", " "), ("txt", "   ")],
)
def test_endings(tmp_path, ending, separator):
    path = tmp_path / f"a.{ending}"
    rows = [separator.join(map(repr, row)) for row in FEATURES.tolist()]
    path.write_text("\n".join(rows) + "\n")
    check_read(path, FEATURES)
    path.write_text("\r\n".join([separator.join("xyz"), "", *rows]))
    check_read(path, FEATURES)
    path.write_text("\n".join([separator.join("012"), *rows]))
    check_read(path, FEATURES, names_line(path, 2))


def test_names_with_spaces_between_tabs(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("first one\tsecond one\n0.5\t1.5\n2.5\t3.5\n")
    check_read(f"{path}:second one", [[1.5], [3.5]])


# Refusals


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty."),
        ("\n\n", "is empty."),
        ("x,y\n", "holds a line of names, but no samples."),
        ("1,2\n3\n", "is not a table of numbers: line 2 has 1 value, expected 2."),
        ("x,y\n\n1,2\n3,4,5\n", "is not a table of numbers: line 4 has 3 values, expected 2."),
        ("x,y,z,t\n1,2\n", "is not a table of numbers: line 2 has 2 values, expected 4."),
        (
            "1,2\n3,x\n",
            "is not a table of numbers: line 2, column '1' holds 'x'. To choose columns yourself: "
            "{path}:NAME,NAME or {path}:FIRST-LAST.",
        ),
        (
            "a;b\n1;2\n",
            "is not a table of numbers: line 2, column 'a;b' holds '1;2'. To choose columns "
            "yourself: {path}:NAME,NAME or {path}:FIRST-LAST.",
        ),
    ],
)
def test_refusals(tmp_path, text, reason):
    path = tmp_path / "a.csv"
    path.write_text(text)
    check_refused(path, f"{path} {reason.format(path=path)}")


def test_no_table_at_all(tmp_path):
    path = tmp_path / "a.csv"
    for data in (b"\0" * 200_000, b"x" * 200_000, np.random.default_rng(0).bytes(10_000)):
        path.write_bytes(data)
        with pytest.raises(precall.InputError, match=f"^real: {re.escape(str(path))} "):
            read(path, "real")
