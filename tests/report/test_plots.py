"""Pictures: what is in them, and that every axis says what it means."""

import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot as plt

import precall
from precall import report
from precall.findings.samples import Samples, SampleTable
from precall.report.words import in_words

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


def test_comparisons(result):
    comparison = precall.Comparison({"a": result, "b": result}, ())
    assert legend(report.plot_curves(comparison)) == ["a", "b"]
    assert legend(report.plot_curves(comparison, curve="coverage")) == ["a", "b"]
    assert legend(report.plot_quadrants(comparison)) == ["a", "b"]
    message = "^expected a comparison, or results by the names of models; got list.$"
    with pytest.raises(precall.InputError, match=message):
        report.plot_curves([result])
    with pytest.raises(precall.InputError, match="got Evaluation"):
        report.plot_quadrants(result)


def test_quadrants(result):
    ax = report.plot_quadrants({"ours": result})
    assert legend(ax) == ["ours"]
    assert "good" in [text.get_text() for text in ax.texts]
    with pytest.raises(precall.InputError, match=r"^score 'fid' was not computed\.$"):
        report.plot_quadrants({"ours": result}, precision="fid")


@pytest.mark.parametrize(("precision", "recall"), [(0.0, 1.0), (1.0, 0.0), (2.8, 0.5)])
def test_quadrants_show_whole_points(result, precision, recall):
    scores = {"precision": precall.Score(precision, 3), "recall": precall.Score(recall, 3)}
    ax = report.plot_quadrants({"ours": replace(result, scores=scores)})
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    (point,) = (line for line in ax.lines if line.get_marker() == "o")
    (x, y) = ax.transData.transform((recall, precision))
    radius = point.get_markersize() / 2 * ax.figure.dpi / 72
    assert frame.x0 + radius <= x <= frame.x1 - radius
    assert frame.y0 + radius <= y <= frame.y1 - radius


def test_k_sensitivity(result):
    several = precall.evaluate(
        REAL, GENERATED, estimators=(), scores=["recall", "coverage"], score_k=[1, 3, 9]
    )
    ax = report.plot_k_sensitivity(several)
    assert legend(ax) == ["recall", "coverage"]
    assert len(ax.lines) == 3  # and what coverage would be if P = Q
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1  # off the lines
    with pytest.raises(precall.InputError, match=r"^no score was computed at several k"):
        report.plot_k_sensitivity(result)


def test_scores(result):
    ax = report.plot_scores(result)
    words = [in_words(name) for name in result.scores]
    assert [label.get_text() for label in ax.get_yticklabels()] == words
    assert set(legend(ax)) == {"real against real", "if P = Q"}
    with pytest.raises(precall.InputError, match=r"^the result has no score that could be drawn"):
        report.plot_scores(precall.evaluate(REAL, GENERATED, scores=()))
    message = r"^expected one result, such as that of evaluate\(\) or .*; got dict\.$"
    with pytest.raises(precall.InputError, match=message):
        report.plot_scores({"a": result})


def test_scores_off_the_scale_and_distances(result):
    scores = {
        "density": precall.Score(3.2, 5),
        "frechet_distance": precall.Score(12.5),
        "alpha_precision": precall.Score(-0.25),
        "kernel_distance": precall.Score(0.04),
    }
    ax = report.plot_scores(replace(result, scores=scores))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["density", "α-precision"]
    assert ax.get_xlim() == (0, 1)
    assert [text.get_text() for text in ax.texts] == ["3.200 ▸", "◂ -0.250"]
    distances = ax.figure.axes[1:]
    below = [[label.get_text() for label in part.get_yticklabels()] for part in distances]
    assert below == [["Fréchet distance"], ["kernel distance"]]
    ends = [part.get_xlim()[1] for part in distances]
    assert ends == pytest.approx([12.5, 0.04], rel=0.05)
    ax.figure.canvas.draw()
    rows = [part.get_tightbbox() for part in ax.figure.axes]
    assert rows[0].y0 > rows[1].y1 > rows[1].y0 > rows[2].y1 > rows[2].y0 > 0


def test_scores_stay_where_they_were_put(result):
    scores = {"recall": precall.Score(0.2, 3), "frechet_distance": precall.Score(12.5)}
    distant = replace(result, scores=scores)
    figure, (left, right) = plt.subplots(1, 2)
    assert report.plot_scores(distant, right) is right
    middle = left.get_position().x1
    assert [ax.get_position().x0 > middle for ax in figure.axes] == [False, True, True]
    ax = plt.figure().add_axes((0.2, 0.3, 0.5, 0.4))
    report.plot_scores(distant, ax)
    ends = [part.get_position().extents for part in ax.figure.axes]
    assert ends[0][3] == pytest.approx(0.7)
    assert ends[1][1] == pytest.approx(0.3)


def test_realism(result):
    ax = report.plot_realism(result.samples)
    assert sum(bar.get_height() for bar in ax.patches) == len(GENERATED)


def test_realism_over_orders_of_magnitude():
    middle = np.exp(RNG.normal(0, 0.3, 990))
    values = np.concatenate([middle, np.full(7, np.inf), [1e9, 1e-9, 0.0]])
    table = SampleTable({"index": np.arange(1000), "realism": values})
    ax = report.plot_realism(Samples(table, table))
    assert sum(bar.get_height() for bar in ax.patches) == 1000
    assert 0.1 < ax.get_xlim()[0] < 1 < ax.get_xlim()[1] < 10
    share = 100 * (values < 1).mean()
    texts = [text.get_text().strip() for text in ax.texts]
    assert texts[:2] == [f"{share:.1f} % unrealistic", f"{100 - share:.1f} % realistic"]
    ax.figure.canvas.draw()
    labels = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert len(labels) >= 3
    assert all(a.x1 < b.x0 for a, b in pairwise(labels))  # none overlap


def test_realism_that_is_not_there(result):
    assert report.plot_realism(result.samples).get_ylabel() == "generated samples"
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
