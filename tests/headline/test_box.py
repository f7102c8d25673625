import numpy as np

from precall.headline.box import Box

ROWS = np.random.default_rng(0).normal(size=(2500, 3))


def test_how_far_beyond_the_range_in_the_worst_feature():
    box = Box.of(ROWS)
    low, high = ROWS.min(axis=0), ROWS.max(axis=0)
    far, worst = box.beyond(np.stack([np.add(high, (0, 2, 1)), low - (3, 0, 0), np.zeros(3)]))
    np.testing.assert_allclose(far[:2], [2, 3])
    assert worst[:2].tolist() == [1, 0]
    assert far[2] < 0


def test_samples_are_judged_by_the_range_of_the_others():
    far, _ = Box.of(ROWS).beyond(ROWS, of_own=True)
    for i in [*ROWS.argmax(axis=0), *ROWS.argmin(axis=0), 5]:
        others = np.delete(ROWS, i, axis=0)
        expected = np.maximum(ROWS[i] - others.max(axis=0), others.min(axis=0) - ROWS[i]).max()
        assert far[i] == expected
