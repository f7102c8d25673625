from pathlib import Path

import numpy as np

import precall

ROWS = np.random.default_rng(0).normal(size=(60, 3))


def call(*args, **options):
    return precall.evaluate(*args, **options).protocol.call


def test_a_call_leaves_out_defaults():
    assert call(ROWS, ROWS + 1) == "precall.evaluate(real, generated)"
    assert call(ROWS, ROWS + 1, seed=0, threads=1) == "precall.evaluate(real, generated)"


def test_a_call_can_be_repeated_word_for_word():
    written = call(
        ROWS, ROWS + 1, estimators=[precall.KNN(k=4), "ipr"], scores=("recall",), score_k=2,
        split=precall.HoldOut(0.5), seed=7,
    )  # fmt: skip
    again = eval(written, {"precall": precall, "real": ROWS, "generated": ROWS + 1})  # noqa: S307
    assert again.protocol.call == written
    assert list(again.curves) == ["knn", "ipr"]
    assert (again.protocol.seed, list(again.scores)) == (7, ["recall"])


def test_files_are_named_and_arrays_are_not(tmp_path):
    path = tmp_path / "real.npy"
    np.save(path, ROWS)
    labels = (ROWS[:, 0] > 0).astype(int)
    written = call(Path(path), ROWS + 1, labels_real=labels, estimators=[])
    assert (
        written
        == f"precall.evaluate({str(path)!r}, generated, estimators=[], labels_real=labels_real)"
    )


def test_numbers_of_numpy_are_numbers():
    assert call(ROWS, ROWS + 1, estimators=[], seed=np.int64(3)).endswith("seed=3)")


def test_comparisons_repeat_as_comparisons(tmp_path):
    np.save(tmp_path / "a.npy", ROWS + 1)
    np.save(tmp_path / "b.npy", ROWS - 1)
    models = {"a": tmp_path / "a.npy", "b": str(tmp_path / "b.npy")}
    found = precall.compare(ROWS, models, estimators=["knn"], scores=["recall"])
    calls = {result.protocol.call for result in found.results.values()}
    (written,) = calls
    assert written.startswith("precall.compare(real, {'a': ")
    again = eval(written, {"precall": precall, "real": ROWS})  # noqa: S307
    assert again.differences == found.differences
