import numpy as np
import pytest

from precall.experiments.base import Measured, Measurements, Size
from precall.experiments.simon.mode_dropping import (
    EXPERIMENT,
    FEMALE,
    FIRST,
    HALF,
    SHARED,
    rectangle,
)


@pytest.fixture(scope="module")
def found():
    cells = [
        {"part": FIRST, "value": 2, "n": 2000, "runs": 2},
        {"part": FIRST, "value": 8, "n": 2000, "runs": 2},
        {"part": SHARED, "value": 0.5, "n": 2400, "runs": 1},
        {"part": HALF, "value": FEMALE, "n": 1500, "runs": 1},
    ]
    return Measurements(
        [Measured(cell, EXPERIMENT.steps.measure(cell, np.random.default_rng(0))) for cell in cells]
    )


@pytest.fixture(scope="module")
def rows(found):
    return {row.what: row for row in EXPERIMENT.steps.compare(found)}


@pytest.mark.parametrize("q", range(1, 10))
def test_first_classes_give_a_rectangle(q):
    curve = rectangle(FIRST, q)
    corner = pytest.approx((min(1, 5 / q), min(1, q / 5)))
    assert (curve.max_precision, curve.max_recall) == corner
    assert tuple(curve.median()) == corner


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 1])
def test_shared_classes_give_a_square(share):
    curve = rectangle(SHARED, share)
    assert (curve.max_precision, curve.max_recall) == pytest.approx((share, share))
    assert curve.area == pytest.approx(share**2)


def test_one_half_gives_a_rectangle():
    curve = rectangle(HALF, FEMALE)
    assert (curve.max_precision, curve.max_recall) == pytest.approx((1, 0.6))


def test_the_classifier_follows_every_rectangle(rows):
    against = [row for row in rows.values() if isinstance(row.published, float)]
    assert len(against) == 2 * 4
    assert max(abs(row.difference) for row in against) < 0.08


def test_too_few_clusters_overestimate(rows, found):
    half = found.where(part=SHARED)
    assert half.mean("clusters 20 area") > 2 * rectangle(SHARED, 0.5).area
    assert half.mean("classifier area") < 1.5 * rectangle(SHARED, 0.5).area
    assert rows["Fig. 3: 20 clusters for 80 classes overestimate (ρ = .5)"].verdict == "holds"


def test_more_clusters_help(rows):
    assert rows["Fig. 3: more clusters help (ρ = .5)"].verdict == "holds"


def test_no_number_of_clusters_finds_one_half(rows, found):
    verdicts = [row.verdict for what, row in rows.items() if what.startswith("Fig. 4")]
    assert verdicts == ["holds"] * 4
    half = found.where(part=HALF)
    best = max(half.mean(f"clusters {count} iou") for count in (5, 20, 100, 500))
    assert half.mean("classifier iou") > best


def test_the_classifier_is_an_upper_bound(rows):
    what = "Fig. 2: the classifier never underestimates beyond chance (Theorem 5)"
    assert rows[what].verdict == "holds"


def test_neighbours_need_fewer_than_a_class_has(found):
    shared = found.where(part=SHARED)
    assert shared.mean("knn small iou") > shared.mean("knn iou") + 0.2


def test_figure(found):
    from matplotlib.figure import Figure

    figure = Figure()
    EXPERIMENT.steps.draw(found, figure)
    assert len(figure.axes) == 9
    assert [len(ax.lines) for ax in figure.axes] == [4, 4, 4, 2, 2, 2, 5, 2, 2]


def test_full_size_has_every_value_of_the_paper():
    cells = EXPERIMENT.steps.cells(Size(quick=False, repeats=1))
    assert [c["value"] for c in cells if c["part"] == FIRST] == [*range(1, 10)]
