import numpy as np
import pytest

import precall
from precall.headline.gap import depths_in_gaps

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 40))
ROWS[:, 35] += 10 * RNG.integers(0, 2, 300)


def brute_force(rows, asked, own):
    depth = np.full((len(asked), rows.shape[1]), np.inf)
    for j in range(rows.shape[1]):
        apart = np.abs(rows[:, j] - rows[:, [j]])
        np.fill_diagonal(apart, np.inf)
        of_rows = apart.min(axis=0)
        distances = np.abs(asked[:, [j]] - rows[:, j])
        if own:
            np.fill_diagonal(distances, np.inf)
        others = [np.delete(of_rows, i) if own else of_rows for i in range(len(asked))]
        depth[:, j] = distances.min(axis=1) / [np.sort(each)[-3] for each in others]
    return depth.max(axis=1), depth.argmax(axis=1)


@pytest.mark.parametrize("own", [False, True])
def test_depths_are_those_of_all_distances(own):
    asked = ROWS if own else RNG.normal(size=(200, 40))
    ((depth, worst),) = depths_in_gaps(ROWS, [(asked, own)], threads=2)
    expected = brute_force(ROWS, asked, own)
    np.testing.assert_allclose(depth, expected[0])
    np.testing.assert_array_equal(worst, expected[1])


def test_own_and_other_samples_of_one_law_are_equally_deep():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(10):
        rows, others = rng.normal(size=(2, 500, 64))
        own, other = depths_in_gaps(rows, [(rows, True), (others, False)])
        shares.append([[np.mean(depth > c) for c in (1.0, 2.0, 4.0)] for depth, _ in (own, other)])
    own, other = np.mean(shares, axis=0)
    np.testing.assert_allclose(own, other, rtol=0.25)


def test_a_sample_between_modes_of_one_feature_is_deep():
    between = ROWS[:1].copy()
    between[0, 35] = 5.0
    ((depth, worst),) = depths_in_gaps(ROWS, [(between, False)])
    assert worst[0] == 35
    assert depth[0] > 3


def test_values_that_repeat_have_no_gaps():
    rows = RNG.integers(0, 4, (300, 3)).astype(float)
    ((depth, _),) = depths_in_gaps(rows, [(rows + 0.5, False)])
    assert depth.max() == 0
    ((depth, _),) = depths_in_gaps(np.zeros((60, 2)), [(np.ones((5, 2)), False)])
    assert depth.max() == 0


@pytest.mark.parametrize("d", [2, 8, 64])
def test_a_gap_of_one_feature_is_seen_in_any_dimension(d):
    rng = np.random.default_rng(d)
    real, generated = rng.normal(size=(2, 600, d))
    real[:, 0] += 8 * rng.choice([-1, 1], 600)
    generated[:200, 0] += 8 * rng.choice([-1, 1], 200)
    found = precall.evaluate(
        real, generated, estimators=(), scores=["support_precision", "support_recall"]
    )
    assert found.scores["support_precision"].value == pytest.approx(1 / 3, abs=0.05)
    assert found.scores["support_recall"].value >= 0.97
    assert found.reasons.generated[0].text == "in a gap of feature 0"
