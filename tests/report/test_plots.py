"""Pictures: what is in them, and that every axis says what it means."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot as plt

import precall
from precall import report

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (300, 5)), RNG.normal(0.6, 1, (250, 5))


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(
        REAL, GENERATED, estimators=["knn", "coverage"], intervals=True, modes=4, ceiling=True
    )


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_curves_with_bands_and_truth(result):
    truth = precall.GaussianShiftCurve(0.6 * np.sqrt(5))
    ax = report.plot_curves(result, truth=truth)
    assert legend(ax) == ["knn", "coverage", "truth"]
    assert len(ax.patches) == 2  # bands
    assert ax.get_xlabel() == "recall: how much of real is covered"
    assert ax.get_ylabel() == "precision: how much of generated is realistic"


def test_the_band_holds_the_curve(result):
    (ax,) = [report.plot_curves(result)]
    band, line = ax.patches[0].get_path(), result.curves["knn"].at(np.tan(np.linspace(0.2, 1.3, 9)))
    assert band.contains_points(np.column_stack([line.recall, line.precision]), radius=1e-3).all()


def test_models_side_by_side(result):
    models = {"a": result, "b": result}
    assert legend(report.plot_curves(models)) == ["a", "b"]
    assert len(report.plot_curves(models, curve="knn").patches) == 2
    with pytest.raises(precall.InputError, match=r"^model 'a' has no ipr curve\.$"):
        report.plot_curves(models, curve="ipr")


def test_quadrants(result):
    ax = report.plot_quadrants({"ours": result})
    assert legend(ax) == ["ours"]
    assert "good" in [text.get_text() for text in ax.texts]
    with pytest.raises(precall.InputError, match=r"^score 'fid' was not computed\.$"):
        report.plot_quadrants({"ours": result}, precision="fid")


def test_k_sensitivity(result):
    several = precall.evaluate(
        REAL, GENERATED, estimators=(), scores=["recall", "coverage"], score_k=[1, 3, 9]
    )
    ax = report.plot_k_sensitivity(several)
    assert legend(ax) == ["recall", "coverage"]
    assert len(ax.lines) == 3  # and what coverage would be if P = Q
    with pytest.raises(precall.InputError, match=r"^no score was computed at several k"):
        report.plot_k_sensitivity(result)


def test_scores(result):
    ax = report.plot_scores(result)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(result.scores)
    assert legend(ax) == ["real against real", "if P = Q"]
    with pytest.raises(precall.InputError, match=r"^no score of the result"):
        report.plot_scores(precall.evaluate(REAL, GENERATED, scores=()))


def test_realism(result):
    ax = report.plot_realism(result.samples)
    assert sum(bar.get_height() for bar in ax.patches) == len(GENERATED)
    with pytest.raises(precall.InputError, match=r"^samples have no realism"):
        report.plot_realism(precall.evaluate(REAL, GENERATED, scores=()).samples)


def test_modes(result):
    ax = report.plot_modes(result.modes)
    assert legend(ax) == ["real", "generated"]
    assert len(ax.get_yticklabels()) == 4
    with pytest.raises(precall.InputError, match=r"^there are no modes"):
        report.plot_modes(())


def test_map(result):
    ax = report.plot_map(REAL, GENERATED, result.samples)
    assert legend(ax) == [
        "real, covered",
        "real, never generated",
        "generated, realistic",
        "generated, unrealistic",
    ]
    assert legend(report.plot_map(REAL[:, :1], GENERATED[:, :1])) == ["real", "generated"]


def test_a_map_by_neighbours(monkeypatch):
    class FirstTwo:
        def __init__(self, **_): ...

        def fit_transform(self, rows):
            return rows[:, :2]

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=FirstTwo))
    ax = report.plot_map(REAL, GENERATED, method="umap")
    assert ax.get_xlabel() == "UMAP of both sets, first coordinate"
    drawn = np.asarray(ax.collections[0].get_offsets())
    assert sorted(drawn[:, 0]) == pytest.approx(sorted(REAL[:, 0]))
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match="pip install umap-learn"):
        report.plot_map(REAL, GENERATED, method="umap")
    with pytest.raises(precall.InputError, match="method must be 'pca' or 'umap'; got 'tsne'"):
        report.plot_map(REAL, GENERATED, method="tsne")
