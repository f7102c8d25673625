from itertools import pairwise

import numpy as np
import pytest

import precall
from precall.runtime.progress import Progress


def recorded():
    shown = []
    return Progress(lambda share, doing: shown.append((share, doing))), shown


def test_the_share_grows_and_ends_at_one():
    progress, shown = recorded()
    progress.announce(10)
    for work in (2, 3, 5):
        progress.advance(work)
    assert [share for share, _ in shown] == [0.2, 0.5, 1.0]


def test_more_work_than_was_announced_does_no_harm():
    progress, shown = recorded()
    progress.announce(4)
    progress.advance(100)
    assert shown[-1][0] == 1.0


def test_work_that_is_announced_late_takes_nothing_back():
    progress, shown = recorded()
    progress.announce(10)
    progress.advance(9)
    progress.announce(90)
    progress.advance(1)
    assert [share for share, _ in shown] == [0.9, 0.9]


def test_what_is_going_on_has_a_name():
    progress, shown = recorded()
    progress.announce(2)
    progress.doing("counting")
    progress.advance(1)
    assert shown == [(0.0, "counting"), (0.5, "counting")]


@pytest.mark.parametrize(
    "options",
    [
        {"intervals": True, "scores": "all", "modes": 3},
        {"estimators": [precall.KNN(k="cv"), "classifier"], "split": precall.CrossFit(3)},
        {"labels_real": np.arange(300) % 2, "labels_generated": np.arange(200) % 3},
        {"split": False, "estimators": ["knn", "clusters"]},
        {"estimators": (), "ceiling": True},
    ],
)
@pytest.mark.slow
def test_an_evaluation_reports_a_share_that_only_grows(monkeypatch, options):
    shown = []
    show = lambda share, doing: shown.append((share, doing))  # noqa: E731
    monkeypatch.setattr(
        "precall.neighbors.sweeps.progress_bar", lambda *, shown: _Bar(Progress(show))
    )
    rng = np.random.default_rng(0)
    precall.evaluate(rng.normal(size=(300, 3)), rng.normal(size=(200, 3)), **options)
    shares = [share for share, _ in shown]
    assert all(earlier <= later for earlier, later in pairwise(shares))
    assert shares[-1] > 0.5
    assert all(doing for _, doing in shown)


class _Bar:
    def __init__(self, progress):
        self.progress = progress

    def __enter__(self):
        return self.progress

    def __exit__(self, *_):
        pass
