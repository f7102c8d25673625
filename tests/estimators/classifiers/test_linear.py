import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from precall.estimators.classifiers import KernelDiscriminant, LinearEnsemble


def two_gaussians(n, d, shift, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2 * n, d))
    is_real = np.arange(2 * n) < n
    rows[is_real] += shift / np.sqrt(d)
    return rows, is_real


def test_one_member_without_decay_is_logistic_regression():
    """Against scikit-learn's solution, on standardized features."""
    rows, is_real = two_gaussians(500, 4, 1.5)
    ours = LinearEnsemble(n_members=1, decays=(1e-9,), n_steps=200).fit(rows, is_real)
    standardized = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    theirs = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(standardized, is_real)
    np.testing.assert_allclose(
        ours.decision_function(rows), theirs.decision_function(standardized), atol=1e-4
    )


def test_odds_are_those_of_the_truth():
    """Two Gaussians: log p/q is linear, and calibrated odds agree with it on new samples."""
    rows, is_real = two_gaussians(5000, 16, 2.0)
    fresh, _ = two_gaussians(2000, 16, 2.0, seed=1)
    found = LinearEnsemble().fit(rows, is_real).decision_function(fresh)
    truth = fresh.sum(axis=1) * 2.0 / 4 - 2.0
    assert np.corrcoef(found, truth)[0, 1] > 0.99
    assert np.abs(expit(found) - expit(truth)).mean() < 0.02


def test_more_features_than_samples_change_nothing():
    """The span of the samples holds all weights: copies of features are as good as one."""
    rows, is_real = two_gaussians(40, 8, 2.0)
    wide = np.tile(rows, (1, 16))  # 128 features of rank 8, 80 samples
    fresh, _ = two_gaussians(30, 8, 2.0, seed=1)
    plain = LinearEnsemble(decays=(1.0,)).fit(rows, is_real).decision_function(fresh)
    spanned = LinearEnsemble(decays=(16.0,)).fit(wide, is_real)
    np.testing.assert_allclose(
        spanned.decision_function(np.tile(fresh, (1, 16))), plain, rtol=1e-6, atol=1e-9
    )


def one_feature_apart(n, d, apart, seed):
    rng = np.random.default_rng(seed)
    rows, is_real = rng.normal(size=(2 * n, d)), np.arange(2 * n) < n
    rows[is_real, 0] += apart
    return rows, is_real


@pytest.mark.parametrize("seed", range(3))
def test_the_one_feature_that_differs_is_not_drowned(seed):
    """As many features as samples; the Bayes error is Φ(-3) = 0.00135."""
    fitted = LinearEnsemble().fit(*one_feature_apart(200, 401, 6.0, seed))
    fresh, truth = one_feature_apart(5000, 401, 6.0, seed=100 + seed)
    assert np.mean((fitted.decision_function(fresh) > 0) != truth) < 0.01


def test_noise_is_met_with_much_decay_and_no_confidence():
    rows, is_real = two_gaussians(150, 400, 0.0)
    ensemble = LinearEnsemble().fit(rows, is_real)
    fresh, _ = two_gaussians(300, 400, 0.0, seed=1)
    assert np.abs(ensemble.decision_function(fresh)).mean() < 0.5


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_nothing(threads):
    rows, is_real = two_gaussians(300, 20, 1.0)
    one = LinearEnsemble(seed=3).fit(rows, is_real).decision_function(rows)
    many = LinearEnsemble(seed=3, threads=threads).fit(rows, is_real).decision_function(rows)
    np.testing.assert_array_equal(one, many)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: np.where(np.arange(rows.shape[1]) == 0, 7.0, rows),  # a constant feature
        lambda rows: rows * 1e149,
        lambda rows: rows * 1e-150,
        lambda rows: rows + 1e8,
        lambda rows: np.round(rows),
        lambda rows: rows.astype(np.float32),
    ],
)
def test_scale_and_offset_do_not_matter(spoil):
    rows, is_real = two_gaussians(200, 5, 2.5)
    rows = spoil(rows)
    found = LinearEnsemble().fit(rows, is_real).decision_function(rows)
    assert np.isfinite(found).all()
    assert np.mean((found > 0) == is_real) > 0.8


def test_a_handful_of_samples():
    rows, is_real = two_gaussians(1, 3, 1.0)
    assert np.isfinite(LinearEnsemble().fit(rows, is_real).decision_function(rows)).all()


@pytest.mark.parametrize("classifier", [LinearEnsemble, KernelDiscriminant])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1e18, 1e18), (1e18, 1e18 + 4096)])
def test_a_feature_constant_in_each_class_separates(classifier, low, high):
    rows, is_real = two_gaussians(200, 300, 0.0)
    fresh, _ = two_gaussians(200, 300, 0.0, seed=1)
    for some in (rows, fresh):
        some[:, 5] = np.where(is_real, high, low)
        some[:, 6] = 1e18  # and one that says nothing
    found = classifier().fit(rows, is_real).decision_function(fresh)
    assert np.isfinite(found).all()
    assert ((found > 0) == is_real).all()


def test_few_samples_start_no_threads(monkeypatch):
    """Permutation tests fit hundreds of times: threads took five times as long as the work."""
    alone = LinearEnsemble().fit(*two_gaussians(300, 8, 0.5))
    monkeypatch.setattr(
        "precall.runtime.threads.ThreadPoolExecutor", lambda _: pytest.fail("started threads")
    )
    rows, is_real = two_gaussians(300, 8, 0.5)
    several = LinearEnsemble(threads=2).fit(rows, is_real)
    assert several.decision_function(rows).tolist() == alone.decision_function(rows).tolist()


def test_many_features_are_trained_in_parts(monkeypatch):
    """Members that try weight decays give the same numbers all at once and one by one."""
    rows, is_real = two_gaussians(100, 12, 1.0)
    whole = LinearEnsemble().fit(rows, is_real)
    monkeypatch.setattr("precall.estimators.classifiers.linear._SMALL_GRAM", 0)
    parts = LinearEnsemble().fit(rows, is_real)
    assert parts.choice == whole.choice
    np.testing.assert_allclose(parts.decision_function(rows), whole.decision_function(rows))
