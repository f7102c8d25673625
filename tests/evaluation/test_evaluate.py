import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import precall
from precall.estimators import NEIGHBOR_ESTIMATORS
from precall.truth import Gaussian
from strategies import pairs_with_k

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(size=(300, 4)), RNG.normal(0.5, 1, size=(200, 4))


def curves(real, generated, k, split=False):
    estimators = [cls(k) for cls in NEIGHBOR_ESTIMATORS.values()]
    return precall.evaluate(real, generated, estimators=estimators, split=split).curves


def vertices(found):
    return {name: (c.fpr.tolist(), c.fnr.tolist()) for name, c in found.items()}


@given(pairs_with_k())
def test_exchanging_the_sets_exchanges_precision_and_recall(pair):
    real, generated, k = pair
    forth, back = curves(real, generated, k), curves(generated, real, k)
    assert vertices(forth) == vertices({name: c.swapped() for name, c in back.items()})


@given(pairs_with_k(), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant_without_a_split(pair, random):
    real, generated, k = pair
    shuffled = [random.sample(side.tolist(), len(side)) for side in (real, generated)]
    assert vertices(curves(real, generated, k)) == vertices(curves(*shuffled, k))


@given(pairs_with_k(), st.integers(-1000, 1000), st.integers(-30, 30))
def test_integer_shifts_and_powers_of_two_change_nothing(pair, offset, exponent):
    real, generated, k = pair
    expected = vertices(curves(real, generated, k))
    assert vertices(curves(real + offset, generated + offset, k)) == expected
    scale = 2.0**exponent
    assert vertices(curves(real * scale, generated * scale, k)) == expected


@given(pairs_with_k())
def test_precision_and_recall_stay_shares(pair):
    real, generated, k = pair
    for curve in curves(real, generated, k).values():
        precision, recall = curve.sample(41)
        assert ((precision >= 0) & (precision <= 1)).all()
        assert (np.diff(precision) >= -1e-15).all()
        assert (np.diff(recall) <= 1e-15).all()
        assert 0 <= curve.area <= 1 + 1e-12


@pytest.mark.parametrize("split", [True, 0.3, precall.CrossFit(3), False])
def test_same_seed_same_bits(split):
    one, again = (precall.evaluate(REAL, GENERATED, split=split, seed=4) for _ in range(2))
    assert one.to_json() == again.to_json()


def test_another_seed_another_split():
    one, other = (precall.evaluate(REAL, GENERATED, seed=seed) for seed in (1, 2))
    assert vertices(one.curves) != vertices(other.curves)


def test_ten_estimators_cost_one_sweep(monkeypatch):
    """Asked for together or alone, each curve is the same."""
    together = precall.evaluate(REAL, GENERATED, estimators=["knn", "ipr", precall.Parzen(4)])
    for estimator in ("knn", "ipr", precall.Parzen(4)):
        (alone,) = vertices(
            precall.evaluate(REAL, GENERATED, estimators=[estimator]).curves
        ).items()
        assert vertices(together.curves)[alone[0]] == alone[1]


def test_the_protocol_says_everything():
    result = precall.evaluate(REAL.astype(np.float32), GENERATED, seed=3)
    protocol = result.protocol
    assert (protocol.n, protocol.m, protocol.d) == (300, 200, 4)
    assert protocol.dtype == "float64"
    assert protocol.k == dict.fromkeys(NEIGHBOR_ESTIMATORS, 14)
    assert (protocol.split, protocol.seed) == ("cross-fit 2", 3)
    assert protocol.tie_rule == "distance <= radius"
    assert protocol.engine == "cpu"
    assert protocol.sources == {"real": "numpy.ndarray", "generated": "numpy.ndarray"}
    assert len(set(protocol.fingerprints.values())) == 2
    assert protocol.versions["precall"] == precall.__version__


def test_the_same_estimator_at_two_ks_gives_two_curves():
    result = precall.evaluate(REAL, GENERATED, estimators=[precall.KNN(3), precall.KNN(9), "ipr"])
    assert list(result.curves) == ["knn_k3", "knn_k9", "ipr"]
    assert result.protocol.k == {"knn_k3": 3, "knn_k9": 9, "ipr": 14}


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_no_estimators_no_curves(engine):
    assert precall.evaluate(REAL, GENERATED, estimators=(), engine=engine).curves == {}


def test_two_likelihoods_are_numbered():
    p, q = Gaussian(np.zeros(4)), Gaussian(np.full(4, 0.5))
    estimators = [precall.Likelihood(p, q), precall.Likelihood(q, p)]
    result = precall.evaluate(REAL, GENERATED, estimators=estimators, engine="reference")
    assert list(result.curves) == ["likelihood_1", "likelihood_2"]


def test_a_density_of_another_space_is_refused():
    wrong = precall.Likelihood(Gaussian([0.0]), Gaussian([1.0]))
    with pytest.raises(precall.InputError, match=r"^rows must have shape \(n, 1\)"):
        precall.evaluate(REAL, GENERATED, estimators=[wrong])


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_every_engine_gives_the_same_result(engine):
    expected = vertices(precall.evaluate(REAL, GENERATED, seed=5).curves)
    found = precall.evaluate(REAL, GENERATED, seed=5, engine=engine, threads=1)
    assert vertices(found.curves) == expected
    assert found.protocol.engine == engine


def test_feature_sets_are_read_once_and_used_again():
    real = precall.FeatureSet.of(REAL, "real")
    expected = precall.evaluate(REAL, GENERATED, estimators=["knn"])
    found = precall.evaluate(real, precall.FeatureSet.of(GENERATED, "x"), estimators=["knn"])
    assert vertices(found.curves) == vertices(expected.curves)


def test_memory_mapped_files(tmp_path):
    np.save(tmp_path / "real.npy", REAL)
    np.save(tmp_path / "generated.npy", GENERATED)
    found = precall.evaluate(tmp_path / "real.npy", str(tmp_path / "generated.npy"))
    assert vertices(found.curves) == vertices(precall.evaluate(REAL, GENERATED).curves)
    assert found.protocol.sources["real"].endswith("real.npy")


def test_warnings_are_raised_and_listed():
    with pytest.warns(precall.PrecallWarning, match="real has only 300 samples") as raised:
        result = precall.evaluate(REAL, GENERATED, headline=False)
    assert tuple(str(one.message) for one in raised) == result.warnings
    assert len(result.warnings) == 2  # few samples; a cover that looks better than it is


def test_progress_is_shown_on_request(capsys):
    precall.evaluate(REAL, GENERATED, progress=True)
    assert "100%" in capsys.readouterr().err
    precall.evaluate(REAL, GENERATED)
    assert capsys.readouterr() == ("", "")


UNIFORM_BOUND_CASES = [(0.0, 2), (1.0, 2), (1.0, 32), (2.5, 8)]


@pytest.mark.parametrize(("shift", "d"), UNIFORM_BOUND_CASES)
@pytest.mark.parametrize("split", [precall.HoldOut(), precall.CrossFit(2)])
def test_no_honest_curve_falls_below_the_truth(shift, d, split):
    """003 Theorem 5, made uniform over λ (Dvoretzky–Kiefer–Wolfowitz), at η = .001."""
    n = 1500
    p, q = Gaussian(np.zeros(d)), Gaussian(np.full(d, shift / np.sqrt(d)))
    found = precall.evaluate(p.sample(n, seed=1), q.sample(n, seed=2), split=split).curves
    folds = split.n_folds if isinstance(split, precall.CrossFit) else 1
    slack = np.sqrt(np.log(2 * folds / 0.001) / (2 * n / 2))
    lam = np.geomspace(1e-3, 1e3, 401)
    truth = precall.true_curve(p, q).at(lam).precision
    for name, curve in found.items():
        assert (curve.at(lam).precision >= truth - (lam + 1) * slack).all(), name


REFUSED = {
    "k=50 needs at least 51 samples; generated has 32.": {
        "generated": GENERATED[:32],
        "estimators": [precall.KNN(50)],
        "split": False,
    },
    "k=50 needs at least 51 samples to fit on; generated has 64, of which the split leaves 32.": {
        "generated": GENERATED[:64],
        "estimators": [precall.KNN(50)],
        "split": True,
    },
    "real and generated must have the same number of features; got 4 and 3. "
    "Were both extracted with the same network?": {"generated": GENERATED[:, :3]},
    "estimator 'fid' is unknown; choose from 'ipr', 'coverage', 'knn', 'parzen', 'classifier', "
    "'clusters'.": {"estimators": ["fid"]},
    "estimators must be a list of names or estimator objects; got 'knn'.": {"estimators": "knn"},
    "estimators names KNN(k=14) twice.": {"estimators": ["knn", "knn"]},
    "engine='warp' is unknown; choose from 'auto', 'cpu', 'gpu', 'dask', 'reference'.": {
        "engine": "warp"
    },
    "engine=[] is unknown; choose from 'auto', 'cpu', 'gpu', 'dask', 'reference'.": {"engine": []},
    "estimators must hold names or estimator objects such as precall.KNN(k=100); "
    f"got {precall.KNN!r}.": {"estimators": [precall.KNN]},
    "fit_fraction must lie between 0 and 1, both excluded; got 1.5.": {"split": 1.5},
    "seed must be an integer of at least 0; got -1.": {"seed": -1},
    "seed must be an integer of at least 0; got None.": {"seed": None},
    "threads must be an integer of at least 1; got 0.": {"threads": 0},
    "convention='clean' is unknown; choose from 'precall', 'prdc', 'kynkaanniemi', "
    "'torch-fidelity', 'guided-diffusion', 'eas', 'prc-authors'.": {"convention": "clean"},
    "scores names 'cover', which convention='prdc' does not have; choose from precision, recall, "
    "density, coverage.": {"scores": ["cover"], "convention": "prdc"},
    "scores names 'recall' twice.": {"scores": ["recall", "recall"]},
    "scores must be a list of names or metrics, or 'all'; got 'recall'.": {"scores": "recall"},
    "scores must be a list of names or metrics, or 'all'; got 5.": {"scores": 5},
    "scores must be a list of names or metrics, or 'all'; got {'recall'}.": {"scores": {"recall"}},
    "score_k must be a positive integer or a list of different ones; got 0.": {"score_k": 0},
    "score_k must be a positive integer or a list of different ones; got 'five'.": {
        "score_k": "five"
    },
    "score_k must be a positive integer or a list of different ones; got [3, 3].": {
        "score_k": [3, 3]
    },
    "score 'precision_cover' at k=30 needs at least 91 samples; generated has 64.": {
        "generated": GENERATED[:64],
        "scores": ["precision_cover"],
        "score_k": 30,
        "estimators": (),
    },
    "score 'density' at k=5 needs at least 7 samples; real has 6.": {
        "real": REAL[:6],
        "scores": ["density"],
        "convention": "prdc",
        "estimators": (),
    },
    "labels_real must have one label for each of the 300 rows of real; got 3.": {
        "labels_real": [1, 2, 3]
    },
    "labels_generated must be integers or text; got values of type float64.": {
        "labels_generated": [0.5] * 200
    },
    "generated must have two dimensions (samples, features); got shape (200,). For samples with "
    "one feature each, pass generated.reshape(-1, 1).": {"generated": GENERATED[:, 0]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    arguments = {"real": REAL, "generated": GENERATED, **REFUSED[message]}
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        precall.evaluate(**arguments)


@settings(max_examples=25)
@given(pairs_with_k(), st.booleans())
def test_results_survive_json(pair, split):
    real, generated, k = pair
    if split:
        k = min(len(real), len(generated)) // 2 - 1
        if k < 1:
            return
    estimators = [cls(k) for cls in NEIGHBOR_ESTIMATORS.values()]
    result = precall.evaluate(real, generated, estimators=estimators, split=split)
    text = result.to_json()
    assert precall.Evaluation.from_json(text).to_json() == text
    assert json.loads(text)["format_version"] == 7
