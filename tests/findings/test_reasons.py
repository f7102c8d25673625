import numpy as np

from precall.findings.reasons import reasons_of
from precall.headline.outlyingness import Outlyingness
from precall.headline.support import Support

N = 1000
RNG = np.random.default_rng(0)


def support(features):
    """Real samples in [0, 1); 300 generated ones outside by both tests, by these features."""
    references, queries = RNG.uniform(size=N), np.r_[RNG.uniform(size=N - 300), np.full(300, 2.0)]
    queries[-1] = 3.0
    return Support(
        [
            Outlyingness("shell", references, queries, lambda i: "norm too large"),
            Outlyingness(
                "box",
                references,
                np.where(np.arange(N) < N - 250, 0.5, queries),
                lambda i: f"beyond the range of feature {features(i)}",
                names_feature=True,
            ),
        ],
        np.arange(N) % 2 == 0,
    )


def test_a_feature_that_tells_of_half_is_named():
    box, shell = reasons_of(support(lambda i: 7))
    assert (box.text, box.share) == ("beyond the range of feature 7", 0.25)
    assert box.rows[0] == N - 1
    assert shell.text == "norm too large"
    assert 0.05 <= shell.share <= 0.06  # and those of real's own tail


def test_many_features_are_not_listed_one_by_one():
    (reason,) = reasons_of(support(lambda i: i % 7))
    assert reason.text == "norm too large"
    assert 0.3 <= reason.share <= 0.31
