import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import precall

RNG = np.random.default_rng(0)
CENTERS = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])


def mixture(sizes, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return CENTERS[labels] + rng.normal(size=(len(labels), 2)), labels


@pytest.fixture(scope="module")
def sides():
    real, real_labels = mixture([200, 100, 100], 1)
    generated, generated_labels = mixture([100, 200, 0], 2)
    return real, real_labels, generated, generated_labels


def test_each_class_is_an_evaluation_of_its_own(sides):
    real, real_labels, generated, generated_labels = sides
    result = precall.evaluate(
        real, generated, labels_real=real_labels, labels_generated=generated_labels, scores="all"
    )
    assert list(result.classes) == ["0", "1"]
    alone = precall.evaluate(real[real_labels == 1], generated[generated_labels == 1], scores="all")
    assert result.classes["1"].scores == alone.scores
    for name, curve in alone.curves.items():
        assert np.array_equal(result.classes["1"].curves[name].fpr, curve.fpr)
    shares = {label: (share.real, share.generated) for label, share in result.class_shares.items()}
    assert shares == {
        "0": (0.5, pytest.approx(1 / 3)),
        "1": (0.25, pytest.approx(2 / 3)),
        "2": (0.25, 0.0),
    }


def test_a_side_without_labels_stays_whole(sides):
    real, real_labels, generated, _ = sides
    result = precall.evaluate(real, generated, labels_real=real_labels, estimators=())
    alone = precall.evaluate(real[real_labels == 2], generated, estimators=())
    assert result.classes["2"].scores == alone.scores
    assert result.classes["2"].scores["recall"].value == 0  # never generated
    assert result.classes["0"].scores["coverage"].value > 0.8
    assert result.class_shares["2"].generated is None


def test_the_whole_is_not_changed_by_labels(sides):
    real, real_labels, generated, _ = sides
    with_labels = precall.evaluate(real, generated, labels_real=real_labels, estimators=())
    assert with_labels.scores == precall.evaluate(real, generated, estimators=()).scores


def test_labels_survive_json(sides):
    real, real_labels, generated, generated_labels = sides
    result = precall.evaluate(
        real, generated, labels_real=real_labels, labels_generated=generated_labels
    )
    text = result.to_json()
    back = precall.Evaluation.from_json(text)
    assert back.to_json() == text
    assert back.classes["1"].scores == result.classes["1"].scores
    assert "share of generated" in repr(back)


@pytest.mark.parametrize(
    "convert",
    [
        list,
        lambda labels: labels.astype(float),
        lambda labels: pd.Series(labels).map({0: "a", 1: "b", 2: "c"}),
        lambda labels: pd.Categorical(labels),
        lambda labels: pa.array([f"kind {label}" for label in labels]),
        lambda labels: np.array([np.int64(label) for label in labels], dtype=object),
    ],
)
def test_labels_in_many_forms(sides, convert):
    real, real_labels, generated, _ = sides
    result = precall.evaluate(real, generated, labels_real=convert(real_labels), estimators=())
    assert len(result.classes) == 3


def test_labels_from_files(sides, tmp_path):
    real, real_labels, generated, _ = sides
    np.save(tmp_path / "labels.npy", real_labels)
    (tmp_path / "labels.txt").write_text("\n".join(f"kind {label}" for label in real_labels))
    for name, first in (("labels.npy", "0"), ("labels.txt", "kind 0")):
        result = precall.evaluate(real, generated, labels_real=tmp_path / name, estimators=())
        assert next(iter(result.classes)) == first


def test_classes_are_in_natural_order():
    rows = RNG.normal(size=(120, 2))
    labels = np.repeat([2, 10, 1], 40)
    result = precall.evaluate(rows, rows, labels_real=labels, estimators=())
    assert list(result.classes) == ["1", "2", "10"]


def test_small_classes_are_left_out_with_a_warning():
    rows = RNG.normal(size=(102, 2))
    labels = ["many"] * 100 + ["few"] * 2
    result = precall.evaluate(rows, rows, labels_real=labels, estimators=[precall.KNN(5)])
    assert list(result.classes) == ["many"]
    assert any(text.startswith("class 'few': not evaluated: k=5 needs") for text in result.warnings)


def test_a_class_on_one_side_only_is_said():
    rows = RNG.normal(size=(60, 2))
    result = precall.evaluate(
        rows, rows, labels_real=[0, 1] * 30, labels_generated=[False, True] * 30, estimators=()
    )
    assert result.classes == {}
    assert "classes '0', '1' are not evaluated: only real has them." in result.warnings
    assert "classes 'False', 'True' are not evaluated: only generated has them." in result.warnings


def test_scores_missing_from_a_class_are_said():
    rows = RNG.normal(size=(64, 2))
    labels = ["many"] * 60 + ["few"] * 4
    result = precall.evaluate(rows, rows, labels_real=labels, estimators=())
    assert list(result.classes["few"].scores) == ["precision", "recall", "precision_cover"]
    missing = "score 'coverage' at k=5 needs at least 6 samples; real has 4. It is left out."
    assert f"class 'few': {missing}" in result.warnings
    assert missing in result.classes["few"].warnings


def test_text_files_of_other_systems(tmp_path):
    rows = RNG.normal(size=(60, 2))
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeffa\r\nb\u2028b\r\n".encode() * 1 + b"a\r\n" * 58)
    result = precall.evaluate(rows, rows, labels_real=path, estimators=())
    assert list(result.class_shares) == ["a", "b\u2028b"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([np.nan] * 60, "labels_real has 60 missing labels (NaN)."),
        ([None, "a"] * 30, "labels_real has 30 labels that are neither integers nor text."),
        ([1e300, 2e300] * 30, "labels_real must be integers or text; got values of type float64."),
        (
            np.ma.masked_equal([0, 1] * 30, 0),
            "labels_real has 30 masked labels.",
        ),
        (
            np.zeros((60, 2), int),
            "labels_real must hold one label per sample; got an array of shape (60, 2).",
        ),
    ],
)
def test_refusals(labels, message):
    rows = RNG.normal(size=(60, 2))
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.evaluate(rows, rows, labels_real=labels, estimators=())
