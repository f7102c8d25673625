"""The gate: who passes, who fails, who is refused and why."""

import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import precall
from precall.cli import main
from precall.monitoring.gate import Check, Gate
from precall.monitoring.junit import junit_text
from precall.monitoring.stored_differences import Measured, interval_of_difference
from precall.results.flat_numbers import FlatNumber

RNG = np.random.default_rng(0)
REAL, SAME, OTHER, HALF = RNG.normal(size=(4, 500, 3))
HALF = np.column_stack([np.abs(HALF[:, 0]), HALF[:, 1:]])
OPTIONS = {"estimators": ["knn"], "scores": ["precision", "recall", "frechet_distance"]}


def parsed(document):
    return ElementTree.fromstring(document)  # noqa: S314 our own


def evaluated(generated, real=REAL, **options):
    return precall.evaluate(real, generated, **({"intervals": True} | OPTIONS | options))


@pytest.fixture(scope="module")
def baseline():
    return evaluated(SAME)


@pytest.fixture(scope="module")
def worse():
    return evaluated(HALF)


def with_recall(result, value, interval):
    recall = replace(result.scores["recall"], value=value, interval=interval)
    return replace(result, scores={**result.scores, "recall": recall})


def test_an_equal_model_passes_and_one_that_drops_half_fails(baseline, worse):
    limits = {"recall": 0.02, "area": 0.02}
    equal = precall.gate(evaluated(OTHER), baseline, max_drop=limits)
    assert equal.passed
    failed = precall.gate(worse, baseline, max_drop=limits)
    assert [check.what for check in failed.checks] == ["recall", "knn_curve_area"]
    assert [check.fails for check in failed.checks] == [True, True]
    assert failed.title == (
        "failed: 2 of 2 numbers are worse by more than is allowed and chance explains."
    )
    better = precall.gate(baseline, worse, max_drop=limits)
    assert better.passed
    assert "rose by" in str(better.checks[0])
    assert str(better.checks[0]).endswith(": surely not worse.")


def test_a_drop_within_the_margin_passes_however_clear_it_is(baseline, worse):
    drop = baseline.scores["recall"].value - worse.scores["recall"].value
    assert precall.gate(worse, baseline, max_drop={"recall": drop + 0.001}).passed
    assert not precall.gate(worse, baseline, max_drop={"recall": 0.0}).passed


def test_distances_may_not_rise(baseline, worse):
    found = precall.gate(worse, baseline, max_rise={"frechet_distance": 0.01})
    assert not found.passed
    assert str(found.checks[0]).startswith("frechet_distance rose by ")
    assert precall.gate(baseline, worse, max_rise={"frechet_distance": 0.01}).passed


def test_the_bound_is_one_sided_of_independent_numbers(baseline):
    from scipy.stats import t

    one, other = with_recall(baseline, 0.8, (0.74, 0.86)), with_recall(baseline, 0.9, (0.82, 0.98))
    (check,) = precall.gate(one, other, max_drop={"recall": 0.0}).checks
    half = 0.1 * t.ppf(0.95, 32) / t.ppf(0.975, 32)  # hypot(.06, .08)
    assert check.least == pytest.approx(0.1 - half)
    assert check.most == pytest.approx(0.1 + half)
    limits = {"recall": 0.0, "precision": 0.0}
    check = precall.gate(one, other, max_drop=limits).checks[0]  # half of the error for each
    assert check.least == pytest.approx(0.1 - 0.1 * t.ppf(0.975, 32) / t.ppf(0.975, 32))


def test_intervals_that_end_at_a_bound_keep_their_other_side():
    one = Measured.of(FlatNumber(1.0, (0.9, 1.0), 3, None, False), 0.95)
    other = Measured.of(FlatNumber(0.7, (0.6, 0.8), 3, None, False), 0.95)
    low, high = interval_of_difference(one, other, 0.95)
    assert low == pytest.approx(0.3 - np.hypot(0.1, 0.1))
    assert high == pytest.approx(0.3 + 0.1)
    assert one.error == pytest.approx(other.error)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (lambda: evaluated(SAME, REAL + 0.1), "the real samples differ (fingerprints "),
        (lambda: evaluated(SAME[:400]), "the number of generated samples differs (400 and 500)."),
        (lambda: evaluated(SAME[:, :2], REAL[:, :2]), "the number of features differs (2 and 3)."),
        (lambda: evaluated(SAME, score_k=4), "its k differs (4 and 3)."),
        (
            lambda: evaluated(SAME, convention="prdc", scores=["recall"], score_k=3),
            "the convention of the scores differs (prdc and precall).",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(baseline, other, reason):
    told = "recall of the result cannot be compared with that of the baseline: "
    with pytest.raises(precall.InputError) as error:
        precall.gate(other(), baseline, max_drop={"recall": 0.1})
    assert str(error.value).startswith(told + reason)


def test_curves_must_be_of_the_same_estimator_and_split(baseline):
    with pytest.raises(precall.InputError, match=r"its k differs \(5 and 22\)\."):
        precall.gate(
            evaluated(SAME, estimators=[precall.KNN(k=5)]), baseline, max_drop={"area": 0.1}
        )
    other = evaluated(SAME, split=precall.RepeatedHoldOut(3))
    with pytest.raises(precall.InputError, match="the split differs"):
        precall.gate(other, baseline, max_drop={"area": 0.1})
    assert precall.gate(other, baseline, max_drop={"recall": 0.1}).passed  # no split in a score


def test_features_of_another_network_are_refused(baseline):
    how = {"model": "dinov2", "version": "1"}
    other = replace(baseline, protocol=replace(baseline.protocol, extraction={"real": how}))
    with pytest.raises(precall.InputError, match="the extraction of features differs"):
        precall.gate(other, baseline, max_drop={"recall": 0.1})


def test_numbers_without_intervals_and_unknown_ones_are_refused(baseline):
    with pytest.raises(precall.InputError) as error:
        precall.gate(evaluated(SAME, intervals=False), baseline, max_drop={"recall": 0.1})
    assert str(error.value) == (
        "the result has no interval of recall, so that chance cannot be told from a difference. "
        "Evaluate with intervals=True (--intervals), and enough samples."
    )
    with pytest.raises(precall.InputError, match=r"the baseline has no coverage; choose from prec"):
        precall.gate(baseline, baseline, max_drop={"coverage": 0.1})
    with pytest.raises(
        precall.InputError, match="hellinger never has an interval; choose from f_8"
    ):
        precall.gate(baseline, baseline, max_rise={"hellinger": 0.1})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a gate needs at least one number that may not get worse, such as "),
        ({"max_drop": {"recall": -1.0}}, "recall may get worse by a number of at least 0; got -1"),
        ({"max_drop": {"frechet_distance": 1}}, "frechet_distance is better the lower it is: use "),
        ({"max_rise": {"recall": 0.1}}, "recall is better the higher it is: use max_drop."),
        ({"max_drop": {"area": 0, "knn_curve_area": 0}}, "knn_curve_area is named twice."),
        ({"max_drop": {"recall": 0}, "confidence": 2.0}, "confidence must lie between 0.5 and 1; "),
    ],
)
def test_faulty_limits_are_refused(baseline, arguments, message):
    with pytest.raises(precall.InputError) as error:
        precall.gate(baseline, baseline, **arguments)
    assert str(error.value).startswith(message)


def test_junit_and_markdown_say_what_and_by_how_much():
    bad = Check("recall", 0.9, 0.8, False, 0.02, 0.06, 0.14)
    good = Check("area", 0.9, 0.89, False, 0.02, -0.03, 0.05)
    found = Gate((bad, good), 0.95)
    suite = parsed(junit_text(found).encode())
    assert suite.attrib | {"name": ""} == {
        "name": "", "tests": "2", "failures": "1", "errors": "0", "skipped": "0"
    }  # fmt: skip
    failure = suite.find("testcase/failure")
    assert failure.get("message") == (
        "recall fell by 0.100, from 0.900 to 0.800: surely by 0.060, more than the 0.020 that is "
        "allowed."
    )
    assert suite.findall("testcase")[1].find("failure") is None
    lines = found.to_markdown().splitlines()
    assert lines[0] == (
        "**precall gate failed: 1 of 2 numbers is worse by more than is allowed and chance "
        "explains.**"
    )
    assert "| recall | 0.900 | 0.800 | 0.100 | 0.060 – 0.140 | 0.020 | failed |" in lines
    assert "| area | 0.900 | 0.890 | 0.010 | -0.030 – 0.050 | 0.020 | passed |" in lines


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["precall", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def test_the_command_ends_with_0_1_or_2(run, baseline, worse, tmp_path):
    paths = {name: tmp_path / f"{name}.json" for name in ("good", "bad", "base", "other")}
    results = (baseline, worse, baseline, evaluated(SAME[:400]))
    for path, result in zip(paths.values(), results, strict=True):
        result.to_json(path)
    against = ["--against", paths["base"], "--max-drop", "recall=0.02"]
    code, out, err = run("gate", paths["good"], *against)
    assert (code, err) == (0, "")
    assert out.startswith("passed: nothing is worse")
    written = ["--junit", tmp_path / "gate.xml", "--markdown", tmp_path / "gate.md"]
    code, out, err = run("gate", paths["bad"], *against, *written)
    assert (code, err) == (1, "")
    assert out.startswith("failed: a number is worse by more than is allowed")
    assert parsed((tmp_path / "gate.xml").read_bytes()).get("failures") == "1"
    assert "| failed |" in (tmp_path / "gate.md").read_text()
    code, out, err = run("gate", paths["other"], *against)
    assert (code, out) == (2, "")
    assert err == (
        "precall: recall of the result cannot be compared with that of the baseline: the number of "
        "generated samples differs (400 and 500).\n"
    )


def test_the_command_refuses_faulty_options(run, baseline, tmp_path):
    path = tmp_path / "base.json"
    baseline.to_json(path)
    code, _, err = run("gate", path, "--against", path)
    assert (code, err) == (2, (
        "precall: name at least one number that may not get worse, such as --max-drop recall=0.02."
        "\n"
    ))  # fmt: skip
    code, _, err = run("gate", path, "--against", path, "--max-drop", "recall")
    assert (code, err) == (2, "precall: --max-drop must look like recall=0.02; got 'recall'.\n")
    code, _, err = run("gate", path, "--against", path, "--max-drop", "recall=0", "--junit", path)
    assert code == 2
    assert "it is one of the inputs" in err


def test_a_loss_that_chance_explains_does_not_fail():
    """Measured worse by .05 where .02 is allowed, but by no more than .01 for sure."""
    assert not Check("recall", 0.9, 0.85, False, 0.02, 0.01, 0.09).fails
    assert Check("recall", 0.9, 0.85, False, 0.02, 0.03, 0.07).fails
