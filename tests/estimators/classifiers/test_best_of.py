import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from precall.estimators.classifiers import READY_MADE, BestOf, log_odds


def test_the_winner_is_trained_on_everything():
    rng = np.random.default_rng(0)
    is_real = np.arange(400) < 200
    rows = rng.normal(0, np.where(is_real, 1.0, 2.0)[:, None], (400, 10))
    best = BestOf(
        {"dummy": lambda sizes: DummyClassifier(), "bayes": lambda sizes: GaussianNB()}
    ).fit(rows, is_real)
    assert best.choice == "bayes"
    assert best.risks["dummy"] == 0.25
    assert best.risks["bayes"] < 0.1
    assert best._winner.class_count_.sum() == 400
    alone = GaussianNB().fit(rows, is_real).predict_log_proba(rows)
    odds = best.decision_function(rows)
    clear = np.abs(alone[:, 1] - alone[:, 0]) < 30
    order = np.argsort((alone[:, 1] - alone[:, 0])[clear])
    assert (np.diff(odds[clear][order]) >= 0).all()


def test_ready_made_ones_are_the_same_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    is_real = np.arange(300) < 150
    rows = rng.normal(0, np.where(is_real, 1.0, 2.0)[:, None], (300, 6))
    for name in ("forest", "boosting", "mlp", "knn"):
        one, many = (
            log_odds(READY_MADE[name]((150, 150), seed=1, threads=threads).fit(rows, is_real), rows)
            for threads in (1, 4)
        )
        np.testing.assert_array_equal(one, many)
        assert np.mean((one > 0) == is_real) > 0.75, name
