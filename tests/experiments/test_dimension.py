import numpy as np
import pytest

from precall.experiments.base import Measured, Measurements, Size
from precall.experiments.sykes.dimension import EXPERIMENT, NAMES

cells, measure, compare, draw = EXPERIMENT.steps


@pytest.fixture(scope="module")
def found():
    """The quick experiment in fewer dimensions, with fewer samples."""
    few = [{**cell, "d": min(cell["d"], 256), "n": 800} for cell in cells(Size(quick=True))]
    return Measurements(
        [Measured(cell, measure(cell, np.random.default_rng(i))) for i, cell in enumerate(few)]
    )


def test_neighbours_overestimate_more_in_many_dimensions(found):
    claims = [row for row in compare(found) if "overestimates much more" in row.what]
    assert len(claims) == 8
    assert {row.verdict for row in claims if "δ = 2" in row.what} == {"holds"}


def test_a_trained_classifier_leads_in_many_dimensions(found):
    leads = [row.ours for row in compare(found) if row.what.startswith("lead of the trained")]
    assert len(leads) == 2
    assert min(leads) > 0.02
    assert leads[1] > 0.2


def test_best_of_all_is_about_as_good_as_the_best(found):
    for one in found:
        best = max(one.values[f"iou {name}"] for name in NAMES[:-1])
        assert one.values["iou best"] > best - 0.08


def test_every_iou_is_reported(found):
    assert sum(row.what.startswith("IoU") for row in compare(found)) == 3 * 2 * len(NAMES)


def test_the_figure_is_drawn(found):
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw(found, figure)
    assert len(figure.axes) == 3
    assert len(figure.axes[0].lines) == 1 + len(NAMES)
