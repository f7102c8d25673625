"""Modes: found where they are, and no false alarms."""

import re

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

import precall
from precall.findings.modes import _clopper_pearson, _holm
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


def test_statistics_by_hand():
    assert _clopper_pearson(0, 10, 0.05) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert _clopper_pearson(10, 10, 0.05) == (pytest.approx(0.025**0.1), 1.0)
    assert _clopper_pearson(0, 0, 0.05) == (0.0, 1.0)
    assert _holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    real, generated = np.array([[0.0]] * 6 + [[9.0]] * 4), np.array([[0.0]] * 1 + [[9.0]] * 9)
    for mode in precall.find_modes(real, generated, n_modes=2):
        assert mode.p_value == pytest.approx(2 * fisher_exact([[6, 4], [1, 9]])[1])


def test_modes_and_diagnosis_in_a_result():
    result = precall.evaluate(*fig3(1500), scores=(), intervals=True, modes="auto")
    text = "\n".join(result.diagnosis())
    for word in ("dropped", "invented", "under-produced", "over-produced"):
        assert f"is {word}." in text
    assert "Where a mode is dropped the others must be produced more often." in text
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


@pytest.mark.parametrize("n", [2, 3, 30])
def test_few_samples_and_copies(n):
    assert sum(mode.real_mass for mode in precall.find_modes(np.ones((n, 2)), np.ones((n, 2)))) == 1
