"""Results over time: their order, the best of them, and what chance explains."""

from dataclasses import replace

import numpy as np
import pytest

import precall
from precall.monitoring.checkpoints import (
    ResultFolder,
    are_checkpoints,
    natural_order,
    numbers_of,
)
from precall.monitoring.timeline import TimeLine
from precall.report.timelines import sentences_of, timeline_data, timeline_table, title_of

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(300, 3))
OPTIONS = {"estimators": ["knn"], "scores": ["precision", "recall"], "intervals": True}


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(REAL, RNG.normal(size=(300, 3)), **OPTIONS)


def at(result, recall, half=0.02):
    score = replace(result.scores["recall"], value=recall, interval=(recall - half, recall + half))
    return replace(result, scores={**result.scores, "recall": score})


def over_time(result, recalls, half=0.02):
    return {f"epoch-{i}": at(result, recall, half) for i, recall in enumerate(recalls)}


def test_names_are_sorted_as_people_count():
    names = ["b-2", "a-10", "a-9", "a-9.5", "last", "A-1"]
    assert natural_order(names) == ["A-1", "a-9", "a-9.5", "a-10", "b-2", "last"]


def test_checkpoints_differ_by_one_number():
    assert numbers_of(["step=100-v2", "step=20-v2"]) == [100, 20]
    assert numbers_of(["e1-s10", "e2-s20"]) is None
    assert are_checkpoints(["1", "2", "3"])
    assert not are_checkpoints(["1", "2"])
    assert not are_checkpoints(["gan", "vae", "flow"])
    assert not are_checkpoints(["knn3", "ipr3", "knn5"])


def test_precision_recall_f_and_area_are_followed(result):
    line = TimeLine.of({"a": result, "b": result})
    names = {key: track.name for key, track in line.tracks.items()}
    assert names == {
        "precision": "precision",
        "recall": "recall",
        "f_1": "knn_curve_f_1",
        "area": "knn_curve_area",
    }
    headline = {"support_precision": precall.Score(0.5), "recall_at_half": precall.Score(0.5)}
    other = replace(result, scores={**result.scores, **headline})
    names = {key: track.name for key, track in TimeLine.of({"a": other}).tracks.items()}
    assert names["precision"] == "support_precision"
    assert names["recall"] == "recall_at_half"
    mixed = TimeLine.of({"a": other, "b": result}).tracks
    assert mixed["recall"].name == "recall"  # the first that all have


def test_the_best_is_told_from_those_that_are_clearly_lower(result):
    line = TimeLine.of(over_time(result, [0.5, 0.88, 0.9, 0.7]))
    recall = line.tracks["recall"]
    assert recall.best == "epoch-2"
    assert recall.worse == ("epoch-0", "epoch-3")
    assert line.clear == {"recall": ("epoch-0", "epoch-3")}
    assert line.n_comparisons == 4 * 6
    assert sentences_of(line)[1] == (
        "Recall is highest at epoch-2 (0.900); 2 of 3 others are lower by more than chance: "
        "epoch-0, epoch-3. The last, epoch-3, is one of them."
    )
    assert sentences_of(line)[-1] == (
        "All 24 comparisons of two results hold at once, with at least 95 % confidence at each "
        "look."
    )
    assert title_of(line).startswith("Highest area of the knn curve: epoch-")


def test_the_family_grows_with_the_number_of_results(result):
    from scipy.stats import t

    # Of two results in four numbers each comparison has an error of 5 % / 4.
    needed = np.hypot(0.02, 0.02) * t.ppf(1 - 0.05 / 8, 32) / t.ppf(0.975, 32)
    two = over_time(result, [0.9, 0.9 - needed - 1e-6])
    assert TimeLine.of(two).clear == {"recall": ("epoch-1",)}
    two = over_time(result, [0.9, 0.9 - needed + 1e-6])
    assert TimeLine.of(two).clear == {}
    many = over_time(result, [0.9, *[0.9 - needed - 1e-3] * 9])
    assert TimeLine.of(many).clear == {}
    assert "but no other is lower by more than chance." in sentences_of(TimeLine.of(many))[1]


def test_without_intervals_or_with_other_samples_nothing_is_said_of_chance(result):
    bare = precall.evaluate(REAL, REAL + 1, **(OPTIONS | {"intervals": False}))
    line = TimeLine.of({"a": bare, "b": bare})
    assert line.clear == {}
    assert sentences_of(line)[0].endswith(
        "; whether that is chance is not known, for want of comparable intervals."
    )
    other = replace(at(result, 0.1), protocol=replace(result.protocol, m=50))
    line = TimeLine.of({"a": at(result, 0.9), "b": other})
    assert not line.tracks["recall"].is_judged
    assert line.clear == {}


def test_tables_and_charts_hold_the_numbers(result):
    results = over_time(result, [0.5, 0.9])
    line = TimeLine.of(results)
    table = timeline_table(line)
    assert table.headings == ["result", "precision", "recall", "F 1 of the knn curve",
                              "area of the knn curve"]  # fmt: skip
    assert [row[2] for row in table.rows] == ["0.500\n0.480 – 0.520", "0.900 ★\n0.880 – 0.920"]
    data = timeline_data(line, results, with_curves=True)
    assert (data["labels"], data["numbers"]) == (["epoch-0", "epoch-1"], [0, 1])
    assert data["tracks"][1]["worse"] == [0]
    assert data["tracks"][1]["texts"][0] == "0.500 (0.480 – 0.520)"
    assert len(data["curves"]) == 2
    backwards = dict(reversed(results.items()))
    data = timeline_data(TimeLine.of(backwards), backwards, with_curves=False)
    assert (data["labels"], data["numbers"]) == (["epoch-1", "epoch-0"], None)


def test_a_folder_is_read_in_order_and_only_what_is_new(result, tmp_path):
    for name in ("epoch-10", "epoch-9"):
        result.to_json(tmp_path / f"{name}.json")
    (tmp_path / ".hidden.json").write_text("{")
    (tmp_path / "notes.txt").write_text("no result")
    folder = ResultFolder(tmp_path)
    found, has_changed = folder.look()
    assert (list(found.results), found.refused, has_changed) == (["epoch-9", "epoch-10"], {}, True)
    again, has_changed = folder.look()
    assert not has_changed
    assert again.results["epoch-9"] is found.results["epoch-9"]
    (tmp_path / "half.json").write_text('{"format')
    precall.Comparison({"a": result, "b": result}, ()).to_json(tmp_path / "both.json")
    (tmp_path / "epoch-9.json").unlink()
    found, has_changed = folder.look()
    assert has_changed
    assert list(found.results) == ["epoch-10"]
    assert found.refused["both"] == "it holds a comparison, not the result of one model"
    assert found.refused["half"].startswith("this is not a JSON document")


def test_a_folder_may_be_read_by_time(result, tmp_path):
    import os

    for seconds, name in enumerate(("b", "a")):
        result.to_json(tmp_path / f"{name}.json")
        os.utime(tmp_path / f"{name}.json", (seconds, seconds))
    assert list(ResultFolder(tmp_path, "time").look()[0].results) == ["b", "a"]
    with pytest.raises(precall.InputError, match="is not a folder; expected one with results"):
        ResultFolder(tmp_path / "none")


@pytest.mark.slow
def test_equal_results_are_seldom_told_apart():
    """All of 40 runs of six equal models, whose real samples are the same; 5 % may be told."""
    n_said = 0
    for seed in range(40):
        rng = np.random.default_rng((seed, 22))
        real = rng.normal(size=(200, 2))
        results = {
            str(epoch): precall.evaluate(real, rng.normal(size=(200, 2)), **OPTIONS)
            for epoch in range(6)
        }
        n_said += bool(TimeLine.of(results).clear)
    assert n_said <= 5  # a chance of 1 in 70 that more are, if 5 % are
