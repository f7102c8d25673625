"""Modes: found where they are, and no false alarms."""

import re

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

import precall
from precall.findings.part_sentences import mode_sentences
from precall.truth import Gaussian, Mixture

CENTERS = tuple(Gaussian(c) for c in np.random.default_rng(0).normal(0, 3, (20, 16)))
WEIGHTS = [0.3, 0.2, 0.5, 0.0], [0.0, 0.5, 0.2, 0.3]  # Sykes et al. 2024, Fig. 3


def fig3(n):
    return [
        Mixture(CENTERS[:4], weights).sample(n, seed=seed) for seed, weights in enumerate(WEIGHTS)
    ]


def test_the_mixture_of_figure_3():
    modes = precall.find_modes(*fig3(10_000))
    assert [mode.finding for mode in modes] == [
        "under-produced",
        "over-produced",
        "invented",
        "dropped",
    ]
    assert {mode.kind for mode in modes} == {"mode"}
    masses = [(mode.real_mass, mode.generated_mass) for mode in modes]
    np.testing.assert_allclose(masses, [(0.5, 0.2), (0.2, 0.5), (0, 0.3), (0.3, 0)], atol=0.02)
    for mode in modes:
        assert mode.real_interval[0] <= mode.real_mass <= mode.real_interval[1]


def test_the_nearest_samples_are_of_the_mode():
    real, generated = fig3(500)
    for mode in precall.find_modes(real, generated):
        chosen = [real[i] for i in mode.nearest_real] + [
            generated[i] for i in mode.nearest_generated
        ]
        spread = np.std(chosen, axis=0).mean()
        assert spread < 1.2  # one Gaussian of deviation 1, the centres are far apart


@pytest.mark.slow
def test_no_false_alarms():
    wrong = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).normal(size=(2, 300, 5))
        modes = precall.find_modes(*rows, seed=seed)
        wrong += any(mode.finding != "as it should be" for mode in modes)
    assert wrong <= binom.ppf(0.9999, 40, 0.05)


@pytest.mark.slow
def test_a_dropped_mode_of_five_percent_is_found():
    for seed in range(3):
        real = Mixture(CENTERS).sample(10_000, seed=seed)
        generated = Mixture(CENTERS[:19]).sample(10_000, seed=100 + seed)
        modes = precall.find_modes(real, generated, seed=seed)
        (worst,) = sorted(modes, key=lambda mode: mode.p_value)[:1]
        assert worst.finding in ("dropped", "under-produced")
        assert worst.real_mass - worst.generated_mass == pytest.approx(0.05, abs=0.015)


def test_p_values_by_hand():
    real, generated = np.array([[0.0]] * 6 + [[9.0]] * 4), np.array([[0.0]] * 1 + [[9.0]] * 9)
    for mode in precall.find_modes(real, generated, n_modes=2):
        assert mode.p_value == pytest.approx(2 * fisher_exact([[6, 4], [1, 9]])[1])


def test_modes_and_diagnosis_in_a_result():
    result = precall.evaluate(*fig3(1500), scores=(), intervals=True, modes="auto")
    text = "\n".join(result.diagnosis())
    for word in ("dropped", "invented", "under-produced", "over-produced"):
        assert f"is {word}: look at rows " in text
    assert precall.Evaluation.from_json(result.to_json()).diagnosis() == result.diagnosis()


@pytest.mark.parametrize(
    ("n_modes", "message"),
    [
        (1, "n_modes must be an integer of at least 2; got 1."),
        (50, "n_modes=50 needs at least 50 samples; real and generated have 20 together."),
    ],
)
def test_refusals(n_modes, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.find_modes(np.eye(10), np.eye(10), n_modes=n_modes)


def test_one_gaussian_has_regions_and_few_of_them():
    rng = np.random.default_rng(0)
    modes = precall.find_modes(rng.normal(size=(2000, 16)), rng.normal(0.2, 0.9, (2000, 16)))
    assert {mode.kind for mode in modes} == {"region"}
    assert {mode.finding for mode in modes} >= {"over-produced", "under-produced"}
    sentences = mode_sentences(modes)
    assert len(sentences) <= 5
    for text in sentences:
        assert re.fullmatch(
            r"A region with .* is (over|under)-produced: look at rows [\d, ]+ of \w+\.", text
        )
    assert sum(mode.real_mass for mode in modes) == pytest.approx(1)


def test_one_repeated_point_is_one_region():
    (region,) = precall.find_modes(np.ones((500, 3)), np.ones((400, 3)))
    assert (region.kind, region.real_mass, region.generated_mass) == ("region", 1, 1)
    assert mode_sentences([region]) == [
        "No region of the data is clearly produced too often or too rarely as a whole."
    ]


def test_two_repeated_points_are_two_modes():
    real, generated = np.repeat([[0.0], [1.0]], [500, 300], axis=0), np.ones((500, 1))
    assert [(mode.kind, mode.finding) for mode in precall.find_modes(real, generated)] == [
        ("mode", "over-produced"),
        ("mode", "dropped"),
    ]


def test_a_chosen_number_of_parts_is_kept():
    rows = np.random.default_rng(0).normal(size=(2, 400, 3))
    assert [mode.kind for mode in precall.find_modes(*rows, n_modes=7)] == ["region"] * 7
    assert [mode.kind for mode in precall.find_modes(*fig3(500), n_modes=4)] == ["mode"] * 4


def test_many_different_modes_take_a_handful_of_sentences():
    centers = 30.0 * np.eye(12)
    rng = np.random.default_rng(0)
    weights = np.r_[np.full(6, 1.6), np.full(6, 0.4)] / 12
    real = np.repeat(centers, 200, axis=0) + rng.normal(size=(2400, 12))
    generated = centers[rng.choice(12, 2400, p=weights)] + rng.normal(size=(2400, 12))
    *first, last = mode_sentences(precall.find_modes(real, generated))
    assert len(first) == 4
    assert last == "So are 8 smaller modes: 2 over-produced, 6 under-produced."


@pytest.mark.parametrize("n", [2, 3, 30])
def test_few_samples_and_copies(n):
    assert sum(mode.real_mass for mode in precall.find_modes(np.ones((n, 2)), np.ones((n, 2)))) == 1


def test_an_outlier_hides_no_mode():
    real, generated = fig3(500)
    generated[7] = 1e12
    findings = [mode.finding for mode in precall.find_modes(real, generated)]
    assert {"dropped", "invented"} <= set(findings)


def labelled_modes():
    rng = np.random.default_rng(0)
    labels = np.repeat(["cat", "dog", "eel", "yak"], [300, 300, 150, 150])
    places = {"cat": [0.0, 0], "dog": [12.0, 0], "eel": [0.0, 12], "yak": [0.5, 12]}
    real = np.array([places[one] for one in labels]) + rng.normal(size=(900, 2))
    kept = np.isin(labels, ["cat", "dog"])
    generated = real[kept] + rng.normal(size=(600, 2)) / 100
    return real, generated, labels, labels[kept]


def test_modes_are_named_by_the_labels_of_their_samples():
    real, generated, labels, generated_labels = labelled_modes()
    modes = precall.find_modes(real, generated, labels_real=labels)
    (dropped,) = (mode for mode in modes if mode.finding == "dropped")
    assert [(one.label, one.share) for one in dropped.labels] == [("eel", 0.5), ("yak", 0.5)]
    sentence = next(text for text in mode_sentences(modes) if "dropped" in text)
    assert " of generated, labelled 'eel' (50 %) and 'yak' (50 %), is dropped: " in sentence
    by_both = precall.find_modes(
        real, generated, labels_real=labels, labels_generated=generated_labels
    )
    whole = {mode.labels[0].label for mode in by_both if len(mode.labels) == 1}
    assert whole == {"cat", "dog"}
    without = precall.find_modes(real, generated)
    assert all(mode.labels == () for mode in without)
    assert (
        [m.finding for m in without] == [m.finding for m in modes] == [m.finding for m in by_both]
    )


def test_labels_of_modes_are_kept_and_shown(tmp_path):
    real, generated, labels, _ = labelled_modes()
    result = precall.evaluate(
        real, generated, labels_real=labels, estimators=(), scores=["precision"], modes="auto"
    )
    assert precall.Evaluation.from_json(result.to_json()).modes == result.modes
    result.to_html(tmp_path / "page.html")
    assert "eel: 50.0 %" in (tmp_path / "page.html").read_text()


def test_a_mode_of_many_labels_names_the_largest():
    real, generated, _, _ = labelled_modes()
    labels = np.arange(900) % 10
    modes = precall.find_modes(real, generated, labels_real=labels)
    assert ", labelled '0' (10 %), '1' (10 %), '2' (10 %), '3' (10 %) and others, is " in " ".join(
        mode_sentences(modes)
    )
