import numpy as np
import pytest

from precall.data.feature_sets import FeatureSet
from precall.data.frames import Frame

RNG = np.random.default_rng(0)


def sets_of(real, generated):
    return FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")


def centred(real, generated, dtype):
    sets = sets_of(real, generated)
    return Frame.around(sets).dense(sets, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_moved_and_scaled_alike(dtype):
    real, generated = RNG.normal(1e6, 3.0, (1500, 4)), RNG.normal(1e6 + 5, 3.0, (700, 4))
    rows = centred(real, generated, dtype)
    both = np.concatenate([real, generated])
    expected = both - both.mean(axis=0)
    scale = np.abs(expected).max()
    power = 2.0 ** np.ceil(np.log2(scale))
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows, expected / power, atol=1e-7)
    assert 0.5 <= np.abs(rows).max() <= 1


def test_extremes_do_not_overflow():
    rows = centred([[1e150, -1e-150]] * 2, [[-1e150, 1e-150]] * 2, np.float64)
    assert rows[:, 0].tolist() == pytest.approx([rows[0, 0]] * 2 + [-rows[0, 0]] * 2)
    assert not np.any(centred([[3.0]], [[3.0]], np.float32))


def test_close_neighbours_in_a_wide_space_need_more_than_float32():
    plain = RNG.normal(size=(2000, 16))
    far = plain + 1e5 * RNG.integers(0, 2, (2000, 1))
    for rows, is_fine in ((plain, True), (far, False)):
        sets = sets_of(rows[:1200], rows[1200:])
        assert Frame.around(sets).float32_tells_neighbors_apart(sets) == is_fine
