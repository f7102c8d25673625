"""Tables to take along: numbers in full precision as CSV and in pandas, text for papers."""

import csv
import io
import re

import numpy as np
import pytest

import precall
from precall.results.tables import Table

RNG = np.random.default_rng(0)
REAL, GENERATED, OTHER = RNG.normal(size=(3, 200, 3))
SCORES = ["recall", "density", "coverage"]
HOW = {"estimators": ["knn", "ipr"], "scores": SCORES}


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(REAL, GENERATED, intervals=True, ceiling=True, score_k=[2, 5], **HOW)


@pytest.fixture(scope="module")
def comparison():
    return precall.compare(REAL, {"k": GENERATED, "50 % | a_b": OTHER}, **HOW)


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_scores_as_csv_have_every_digit(result):
    rows = read(result.table().to_csv())
    assert [row["score"] for row in rows] == list(result.scores)
    for row, score in zip(rows, result.scores.values(), strict=True):
        assert (float(row["value"]), int(row["k"])) == (score.value, score.k)
        assert (float(row["low"]), float(row["high"])) == score.interval
        expected = score.expected_if_equal
        assert row["expected_if_equal"] == ("" if expected is None else repr(expected))
        assert float(row["ceiling"]) == score.ceiling.perfect
        assert float(row["ceiling_generated"]) == score.ceiling.generated


def test_a_data_frame(result, comparison):
    frame = result.table().to_pandas().set_index("score")
    assert frame.loc["recall_k2", "value"] == result.scores["recall_k2"].value
    assert frame["k"].tolist() == [score.k for score in result.scores.values()]
    assert np.isnan(frame.loc["recall_k2", "expected_if_equal"])
    plain = precall.evaluate(REAL, GENERATED, **HOW).table().to_pandas()
    assert [str(kind) for kind in plain.dtypes[1:]] == ["Int64", *["float64"] * 4]
    assert plain["low"].isna().all()
    with_headline = precall.evaluate(REAL, GENERATED, estimators=()).table().to_pandas()
    assert with_headline["k"].isna().tolist() == [True] * 3 + [False] * 6
    frame = comparison.table().to_pandas()
    assert list(frame.columns) == [
        *("score", "k", "k_", "50 % | a_b", "expected_if_equal"),
        *("k low", "k high", "50 % | a_b low", "50 % | a_b high"),
    ]
    scores = comparison.results["50 % | a_b"].scores.values()
    assert frame["50 % | a_b"].tolist() == [score.value for score in scores]
    assert frame["50 % | a_b high"].tolist() == [score.interval[1] for score in scores]


def test_curves(result):
    table = result.table("curves")
    rows = read(table.to_csv())
    assert [row["curve"] for row in rows] == ["knn", "ipr", "best"]
    curves = {**result.curves, "best": result.best_curve}
    for row in rows:
        curve, band = curves[row["curve"]], result.bands[row["curve"]]
        assert float(row["area"]) == curve.area
        assert (float(row["area_low"]), float(row["area_high"])) == band.summaries["area"]
        assert "max_precision_low" not in row
    assert rows[2]["k"] == ""
    assert table.to_markdown().startswith("| curve | k | max precision | max recall | F 1/8 ")
    with pytest.raises(precall.InputError, match=r"^of must be 'scores' or 'curves'; got 'all'\.$"):
        result.table("all")


def test_markdown_and_latex_for_readers(comparison):
    first = comparison.results["k"].scores["recall"]
    half = max(first.value - first.interval[0], first.interval[1] - first.value)
    heading, rule, recall, *_ = comparison.table().to_markdown().splitlines()
    assert heading == r"| score | k | k | 50 % \| a_b | if P = Q |"
    assert rule == "| --- | ---: | ---: | ---: | ---: |"
    assert recall.startswith(f"| recall | 3 | {first.value:.3f} ± {half:.3f} | ")
    lines = comparison.table().to_latex().splitlines()
    assert lines[:4] == [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"score & k & k & 50 \% \textbar{} a\_b & if P = Q \\",
    ]
    assert lines[5].startswith(rf"recall & 3 & {first.value:.3f} $\pm$ {half:.3f} & ")
    assert lines[-1] == r"\end{tabular}"


def test_endings_decide(result, tmp_path):
    table = result.table()
    for ending, text in {
        ".csv": table.to_csv(),
        ".MD": table.to_markdown(),
        ".tex": table.to_latex(),
    }.items():
        table.write(tmp_path / f"scores{ending}")
        assert (tmp_path / f"scores{ending}").read_text(encoding="utf-8") == text
    path = tmp_path / "scores.xls"
    message = f"a table can only be written to a .csv, .md or .tex file; got {path}."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        table.write(path)


def test_tables_without_numbers_or_rows():
    table = Table("What", ["name", "two\nlines"], [["a", "1"], ["b", "22"]])
    assert table.to_csv() == "name,two lines\na,1\nb,22\n"
    assert table.to_pandas()["two lines"].tolist() == ["1", "22"]
    empty = precall.evaluate(REAL, GENERATED, estimators=(), scores=())
    assert empty.table().to_csv() == "score,k,value,low,high,expected_if_equal\n"
    assert empty.table("curves").to_csv().count("\n") == 1
    assert len(empty.table().to_pandas()) == 0


def test_a_comparison_tells_each_caveat_once(comparison):
    lines = [line for line in repr(comparison).splitlines() if line.startswith("warning: ")]
    assert len(lines) == len(set(lines))
    of_first, of_second = (set(result.warnings) for result in comparison.results.values())
    assert {f"warning: {text}" for text in of_first & of_second} <= set(lines)
    assert {f"warning: k: {text}" for text in of_first - of_second} <= set(lines)
    assert len(lines) == len(of_first | of_second) > len(of_first) > 0
