import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest
from matplotlib import pyplot as plt

import precall

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def result():
    real, generated = RNG.normal(size=(1000, 3)), RNG.normal(1, 1, size=(1100, 3))
    generated[0] = real[0]
    return precall.evaluate(real, generated)


@pytest.fixture(scope="module")
def full_result():
    real, generated = RNG.normal(size=(300, 3)), RNG.normal(1, 1, size=(300, 3))
    return precall.evaluate(real, generated, estimators=["knn"], intervals=True, modes=3)


def test_json_keeps_its_names(result):
    document = json.loads(result.to_json())
    assert list(document) == [
        "format_version",
        "protocol",
        "confidence",
        "modes",
        "extremes",
        "reasons",
        "influences",
        "warnings",
        "scores",
        "curves",
        "bands",
        "best_curve",
        "tests",
        "class_shares",
        "guessed_shares",
        "classes",
    ]
    assert list(document["curves"]) == ["ipr", "coverage", "knn", "parzen"]
    worst = result.samples.worst_generated(24)
    assert document["extremes"]["worst_generated"][0] == {
        "row": int(worst["index"][0]),
        "value": float(worst["realism"][0]),
        "nearest": int(worst["nearest_real"][0]),
        "reason": str(worst["outside_support"][0]),
    }
    assert len(document["extremes"]["least_covered_real"]) == 24
    assert document["scores"]["density"] == asdict(result.scores["density"])
    curve = document["curves"]["knn"]
    assert list(curve) == [
        "k",
        "split",
        "vertices",
        "max_precision",
        "max_recall",
        "f_8",
        "f_1_8",
        "f_1",
        "median_precision",
        "median_recall",
        "area",
        "total_variation",
        "jensen_shannon",
        "hellinger",
    ]
    assert (curve["k"], curve["split"]) == (32, "cross-fit 2")
    assert list(curve["vertices"]) == ["fpr", "fnr"]
    assert set(document["protocol"]) >= {
        "n",
        "m",
        "d",
        "dtype",
        "k",
        "split",
        "seed",
        "tie_rule",
        "engine",
        "fingerprints",
        "versions",
    }


def test_summaries_are_those_of_the_curve(result):
    curve, summary = result.curves["ipr"], json.loads(result.to_json())["curves"]["ipr"]
    assert summary["f_8"] == curve.f_score(8)
    assert summary["f_1_8"] == curve.f_score(1 / 8)
    assert (summary["median_precision"], summary["median_recall"]) == curve.median()
    assert summary["vertices"]["fpr"] == curve.fpr.tolist()
    assert summary["total_variation"] == 1 - curve.at(1).precision


def test_round_trip_through_a_file(result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    text = result.to_json(path)
    again = precall.Evaluation.from_json(path)
    assert path.read_text() == text == again.to_json()
    assert again.protocol == result.protocol
    assert again.warnings == result.warnings
    np.testing.assert_array_equal(again.curves["knn"].fnr, result.curves["knn"].fnr)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_file(result, tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old")

    def full_disk(self, target):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        result.to_json(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_repr_is_a_table(result):
    text = repr(result)
    assert text.startswith("1000 real and 1100 generated samples, 3 features, split: cross-fit 2")
    assert f"{result.curves['knn'].area:.4f}" in text
    assert "warning: 1 of the 1100 rows of generated are exact copies" in text


def test_html_is_a_table_and_escaped(result):
    hostile = precall.Evaluation(
        result.curves, {}, result.protocol, ("<script>alert(1)</script> in real",)
    )
    text = hostile._repr_html_()
    assert "<table>" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_plot_draws_every_curve(result):
    ax = result.plot(iso_f=True)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [*(f"{name} (k=32)" for name in result.curves), "best"]
    plt.close("all")


def test_infinity_is_a_word(result):
    protocol = replace(result.protocol, k={})
    infinite = precall.Evaluation({}, {"worst": precall.Score(float("inf"))}, protocol)
    text = infinite.to_json()
    assert json.loads(text)["scores"]["worst"]["value"] == "inf"
    assert precall.Evaluation.from_json(text).scores["worst"].value == float("inf")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d.update(format_version=99),
            "this result has format_version 99; this version of precall reads 7.",
        ),
        (lambda d: d.pop("curves"), "this is not a result of precall: curves is missing."),
        (
            lambda d: d["protocol"].pop("seed"),
            "this is not a result of precall: protocol: seed is missing.",
        ),
        (
            lambda d: d["curves"]["knn"]["vertices"].update(fpr=[0.5, 0.1]),
            None,
        ),
        (
            lambda d: d["curves"]["knn"]["vertices"].update(fpr="abc"),
            "this is not a result of precall: curves.knn.vertices.fpr: expected a list, not 'abc'.",
        ),
        (
            lambda d: d.update(warnings="abc"),
            "this is not a result of precall: warnings: expected a list, not 'abc'.",
        ),
        (
            lambda d: d.update(scores=5),
            "this is not a result of precall: scores: expected an object, not 5.",
        ),
        (
            lambda d: d["scores"]["recall"].update(value="much"),
            "this is not a result of precall: scores.recall.value: expected a number, not 'much'.",
        ),
        (
            lambda d: d["scores"]["recall"].update(k="3"),
            "this is not a result of precall: scores.recall.k: expected an integer, not '3'.",
        ),
        (
            lambda d: d["scores"]["recall"].update(interval=[0.1]),
            "this is not a result of precall: scores.recall.interval: expected 2 entries, not 1.",
        ),
        (
            lambda d: d["protocol"].update(k={}),
            "this is not a result of precall: protocol.k must name every curve.",
        ),
        (
            lambda d: d["protocol"]["k"].update(knn="x"),
            "this is not a result of precall: protocol.k.knn: expected an integer, not 'x'.",
        ),
        (
            lambda d: d["protocol"].update(n={"a": 1}),
            "this is not a result of precall: protocol.n: expected an integer, not {'a': 1}.",
        ),
    ],
)
def test_documents_of_others_are_refused(result, change, message):
    document = json.loads(result.to_json())
    change(document)
    match = "are not the vertices of a curve" if message is None else f"^{re.escape(message)}$"
    with pytest.raises(precall.InputError, match=match):
        precall.Evaluation.from_json(json.dumps(document))


def test_files_that_are_no_results(tmp_path):
    for text, message in (("[1]", "expected a JSON object"), ("nonsense", "not a JSON document")):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(precall.InputError, match=message):
            precall.Evaluation.from_json(path)
    for source in (tmp_path / "missing.json", "a\0", 5, None):
        with pytest.raises(precall.InputError, match="cannot read a result from"):
            precall.Evaluation.from_json(source)
    for text in ('{"a":' * 100_000, '{"a": ' + "1" * 5000 + "}"):
        with pytest.raises(precall.InputError, match="not a JSON document"):
            precall.Evaluation.from_json(text)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d["extremes"]["worst_generated"][0].update(row=10**6),
        lambda d: d["extremes"]["least_covered_real"][0].update(nearest=-1),
        lambda d: d["extremes"]["least_covered_real"][0].update(row="1"),
        lambda d: d["protocol"].update(call=3),
        lambda d: d["protocol"].update(sources=[1]),
        lambda d: d["protocol"].update(versions={"precall": 3}),
        lambda d: d["protocol"].update(split=["cross-fit 2"]),
        lambda d: d["bands"].update(other=d["bands"]["knn"]),
        lambda d: d["bands"]["knn"].update(summaries={}),
        lambda d: d["bands"]["knn"].update(confidence=3.5),
        lambda d: d["bands"]["knn"].update(n_evaluated=10**400),
        lambda d: d["modes"][0].update(finding="<b>dropped</b>"),
        lambda d: d["modes"][0].update(nearest_real="123"),
        lambda d: d["modes"][0].update(real_mass="inf"),
    ],
)
def test_forged_results_are_refused(full_result, damage):
    document = json.loads(full_result.to_json())
    damage(document)
    with pytest.raises(precall.InputError, match="not a result of precall"):
        precall.Evaluation.from_json(json.dumps(document))
