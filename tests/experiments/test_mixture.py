import pytest

from precall.experiments.base import Size
from precall.experiments.running import run_experiment
from precall.experiments.sykes.mixture import EXPERIMENT, GENERATED, REAL, TRUTH
from precall.truth import true_curve

MODES = ("ipr", "knn", "parzen", "coverage")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixture")
    return run_experiment(EXPERIMENT, folder, Size(quick=True, repeats=2))


def values_of(outcome, where):
    return {
        name: next(r.ours for r in outcome.rows if r.what == f"IoU of {name}, {where}")
        for name in MODES
    }


def test_truth_has_the_plateaus_and_the_step():
    assert (TRUTH.max_precision, TRUTH.max_recall) == pytest.approx((0.7, 0.7))
    assert TRUTH.at(1.0).precision == pytest.approx(0.4)
    assert true_curve(REAL, GENERATED, n_samples=20_000).iou(TRUTH) > 0.95


def test_every_claim_of_the_paper_holds(outcome):
    claims = [row for row in outcome.rows if row.published == "claimed"]
    assert [row.verdict for row in claims] == ["holds"] * 5


def test_ipr_is_last_at_sqrt_n(outcome):
    for split in ("50 %", "none"):
        iou = values_of(outcome, f"split {split}, k = √n")
        assert min(iou, key=iou.get) == "ipr"
        assert min(iou[name] for name in MODES[1:]) > iou["ipr"] + 0.1


def test_four_neighbours_are_too_few(outcome):
    for split in ("50 %", "none"):
        few, many = (values_of(outcome, f"split {split}, k = {k}") for k in ("4", "√n"))
        assert all(few[name] < many[name] - 0.1 for name in MODES[1:])


def test_a_linear_classifier_fails_where_a_kernel_succeeds(outcome):
    iou = {row.what: row.ours for row in outcome.rows}
    assert iou["IoU of classifier, split 50 %"] < 0.6
    assert iou["IoU of classifier_kernel, split 50 %"] > 0.8


def test_rows_and_figure(outcome):
    assert len(outcome.rows) == 5 + 2 * 3 * 4 + 3
    assert outcome.figure.stat().st_size > 20_000
