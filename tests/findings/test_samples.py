import csv
import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import precall

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(200, 3))
GENERATED = np.r_[RNG.normal(size=(149, 3)), [[9.0, 9.0, 9.0]]]


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(REAL, GENERATED, scores="all")


def test_columns_of_generated(result):
    table, distances = result.samples.generated, cdist(REAL, GENERATED)
    assert len(table) == len(GENERATED)
    np.testing.assert_array_equal(table["nearest_real"], distances.argmin(axis=0))
    np.testing.assert_allclose(table["nearest_real_distance"], distances.min(axis=0))
    own = np.sort(cdist(REAL, REAL), axis=1)
    np.testing.assert_array_equal(
        table["real_balls_k3"], (distances <= own[:, [3]] + 1e-12).sum(axis=0)
    )
    kept = own[:, 3] <= np.median(own[:, 3])
    expected = (own[kept, 3][:, None] / distances[kept]).max(axis=0)
    np.testing.assert_allclose(table["realism"], expected)
    nearest = distances.argmin(axis=0)
    np.testing.assert_array_equal(table["authentic"], distances.min(axis=0) > own[nearest, 1])


def test_columns_of_real(result):
    table, distances = result.samples.real, cdist(REAL, GENERATED)
    np.testing.assert_array_equal(table["nearest_generated"], distances.argmin(axis=1))
    own = np.sort(cdist(REAL, REAL), axis=1)
    np.testing.assert_allclose(table["relative_distance"], distances.min(axis=1) / own[:, 3])
    np.testing.assert_array_equal(
        table["relative_distance"] <= 1, table["generated_in_ball_k3"] > 0
    )
    single = precall.evaluate(REAL, GENERATED, estimators=(), scores=["coverage"]).samples.real
    assert [name for name in single.columns if "ball" in name] == ["generated_in_ball_k5"]
    np.testing.assert_array_equal(
        table["generated_in_ball_k5"], (distances <= own[:, [5]] + 1e-12).sum(axis=1)
    )


def test_flags_are_what_the_scores_average(result):
    for name in ("precision", "precision_coverage", "precision_cover", "nearest_precision"):
        assert result.samples.generated[name].mean() == result.scores[name].value
    for name in ("recall", "coverage", "recall_cover", "nearest_recall"):
        assert result.samples.real[name].mean() == result.scores[name].value
    assert result.samples.generated["authentic"].mean() == result.scores["authenticity"].value


def test_likelihood_ratios_follow_the_truth():
    """Two Gaussians: p/q is known; log ratios of the estimators must grow with its log."""
    rng = np.random.default_rng(1)
    real, generated = rng.normal(size=(3000, 2)), rng.normal((1.0, 0.0), 1, (2000, 2))
    samples = precall.evaluate(real, generated, scores=()).samples
    truth = 0.5 - generated[:, 0]  # log p/q
    for name in ("ipr", "coverage", "knn", "parzen"):
        ratio = samples.generated[f"likelihood_ratio_{name}"]
        assert not np.isnan(ratio).any()  # cross-fitting evaluates everyone
        usable = np.isfinite(ratio) & (ratio > 0)
        correlation = np.corrcoef(np.log(ratio[usable]), truth[usable])[0, 1]
        assert correlation > (0.5 if name == "ipr" else 0.8), name  # ipr is blind in the tails
        if name in ("coverage", "knn"):  # these are calibrated for n ≠ m
            middle = usable & (np.abs(truth) < 0.3)
            assert np.log(ratio[middle]).mean() == pytest.approx(truth[middle].mean(), abs=0.1)


def test_a_single_split_leaves_half_unknown():
    samples = precall.evaluate(REAL, GENERATED, estimators=["knn"], split=True).samples
    assert np.isnan(samples.real["likelihood_ratio_knn"]).sum() == 100


def test_worst_and_least_covered(result):
    worst = result.samples.worst_generated(3)
    assert worst["index"][0] == 149
    assert np.all(np.diff(worst["realism"]) >= 0)
    missed = result.samples.least_covered_real(200)
    assert np.all(np.diff(missed["relative_distance"]) <= 0)
    assert len(missed) == 200


@pytest.mark.parametrize(
    "asked",
    [
        {"scores": ["coverage"]},
        {"scores": ["recall"], "score_k": [7, 50]},
        {"scores": ["nearest_recall", "frechet_distance"]},
        {"scores": ["authenticity"]},
        {"scores": ["density"], "convention": "prdc"},
    ],
)
def test_the_extreme_samples_are_the_same_whatever_is_asked(result, asked):
    other = precall.evaluate(REAL, GENERATED, estimators=(), **asked)
    assert [(s.row, s.value, s.nearest) for s in other.extremes.least_covered_real] == [
        (s.row, s.value, s.nearest) for s in result.extremes.least_covered_real
    ]
    assert [s.row for s in other.extremes.worst_generated] == [
        s.row for s in result.extremes.worst_generated
    ]


def test_tables_in_files(result, tmp_path):
    import pandas as pd

    names = result.samples.write(tmp_path / "samples.csv")
    assert [name.name for name in names] == ["samples-real.csv", "samples-generated.csv"]
    frame = result.samples.generated.to_pandas()
    with names[1].open() as file:
        rows = list(csv.DictReader(file))
    for name in ("index", "realism", "likelihood_ratio_knn"):  # in full precision
        assert [float(row[name]) for row in rows] == frame[name].tolist()
    assert [row["authentic"] == "True" for row in rows] == frame["authentic"].tolist()
    names = result.samples.write(tmp_path / "samples.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(names[1]), frame)


def test_refusals(result, tmp_path):
    message = f"samples can only be written to a .csv or .parquet file; got {tmp_path / 's.xlsx'}."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        result.samples.write(tmp_path / "s.xlsx")
    with pytest.raises(precall.InputError, match=r"^n must be an integer of at least 1; got 0\.$"):
        result.samples.worst_generated(0)
    bare = precall.evaluate(REAL, GENERATED, estimators=["knn"], scores=())
    with pytest.raises(precall.InputError, match="evaluate with one that does"):
        bare.samples.worst_generated()


def test_a_missing_library_is_named(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    message = "to_pandas() needs pandas. Install it with: pip install 'precall[tables]'"
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        result.samples.real.to_pandas()


def test_json_leaves_samples_out(result):
    assert precall.Evaluation.from_json(result.to_json()).samples is None
