"""Tables: the same facts in a terminal, in a notebook and on a page."""

import numpy as np
import pytest

import precall
from precall.curves.summaries import CURVE_SUMMARIES, IN_TABLES, SUMMARIES
from precall.report.tables import score_table as score_table_of_page
from precall.results.tables import Table, class_table
from precall.uncertainty import bands

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (200, 3)), RNG.normal(0.6, 1, (200, 3))


def lines_of(result):
    return [line.split() for line in repr(result).splitlines()]


def test_a_table_in_several_formats():
    table = Table("What", ["name", "two\nlines"], [["a", "1"], ["b", "22"]])
    assert table.to_text().splitlines() == [
        "name        two",
        "          lines",
        "------  -------",
        "a             1",
        "b            22",
    ]
    assert "  two lines</th>" in table.to_text("html")
    assert Table("None", ["name", "value"], []).to_text() == "name    value\n------  -------"


def test_several_k_side_by_side():
    result = precall.evaluate(REAL, GENERATED, estimators=(), scores=["recall"], score_k=[5, 1])
    assert ["score", "k", "=", "1", "k", "=", "5"] in lines_of(result)


@pytest.mark.parametrize("how", [{"intervals": True}, {"ceiling": True}])
def test_several_k_keep_their_intervals_and_ceilings(how):
    result = precall.evaluate(
        REAL, GENERATED, estimators=(), scores=["recall", "coverage"], score_k=[1, 5], **how
    )
    printed = {tuple(line[:2]): line[2:] for line in lines_of(result)}
    for name, score in result.scores.items():
        cells = printed[name.split("_k")[0], str(score.k)]
        assert cells[0] == f"{score.value:.4g}"
        if score.interval:
            assert cells[-3:] == [f"{score.interval[0]:.3f}", "–", f"{score.interval[1]:.3f}"]
        else:
            assert cells[-2:] == [
                f"{score.ceiling.perfect:.4g}",
                f"{score.ceiling.generated:.4g}",
            ]
    rows = {row[0]: row for row in score_table_of_page({"model": result}).rows}
    assert rows["recall_k5"][1:3] == ["5", f"{result.scores['recall_k5'].value:.3f}"]


def test_several_k_beside_a_headline_that_has_none():
    how = {"estimators": (), "intervals": True, "ceiling": True, "score_k": [3, 5, 10]}
    result = precall.evaluate(REAL, GENERATED, **how)
    lines = repr(result).splitlines()
    heading = next(line.split() for line in lines if line.startswith("score"))
    assert heading == ["score", "k", "value", "if", "P", "=", "Q", "interval", "real", "generated,"]
    for name, score in result.scores.items():
        first = [name.removesuffix(f"_k{score.k}"), *([str(score.k)] if score.k else [])]
        (line,) = (line for line in lines if line.split()[: len(first) + 1][:-1] == first)
        assert f"{score.interval[0]:.3f} – {score.interval[1]:.3f}" in line
        assert (score.ceiling is None) == (score.k is None)


def test_classes_that_one_side_lacks():
    labels = np.arange(200) % 12
    result = precall.evaluate(
        REAL,
        GENERATED,
        estimators=["knn"],
        scores=["recall"],
        labels_real=labels,
        labels_generated=np.minimum(labels, 10),
    )
    table = class_table(result)
    assert table.headings[3:] == ["recall", "knn curve, F 1/8", "knn curve, F 8"]
    assert table.rows[11] == ["11", "8.0 %", "0.0 %", "", "", ""]
    assert sum(line[:1] == ["class"] for line in lines_of(result)) == 2  # ten side by side


def test_summaries_are_listed_once():
    assert list(SUMMARIES) == list(bands.SUMMARIES)
    assert {summary.key for summary in IN_TABLES} < CURVE_SUMMARIES.keys()
    assert CURVE_SUMMARIES["f_1_8"].name == "F 1/8"
    assert CURVE_SUMMARIES["median_recall"].name == "median recall"
