import numpy as np
import pytest

from precall.headline.grid import grids_of, off_grid

RNG = np.random.default_rng(0)
N = 500


def only_grid(column):
    (grid,) = grids_of(column[:, None])
    return grid


@pytest.mark.parametrize("step", [1.0, 0.1, 1 / 3, 25.0])
def test_the_step_of_a_lattice_is_found(step):
    grid = only_grid(RNG.poisson(5, N) * step - 7)
    assert grid.step == pytest.approx(step)
    assert grid.off(np.array([3, 4.5, 40]) * step - 7).tolist() == [0, 2, 0]


def test_values_without_a_lattice_are_known_or_not():
    values = np.array([0.0, 1.0, np.sqrt(2), np.pi])
    grid = only_grid(RNG.choice(values, N))
    assert grid.step is None
    assert grid.off(np.append(values, 2.0)).tolist() == [0, 0, 0, 0, 1]


def test_continuous_features_have_no_grid():
    assert grids_of(RNG.normal(size=(N, 3))) == []
    mostly_zero = np.maximum(RNG.normal(size=(N, 1)), 0)
    assert grids_of(mostly_zero) == []


def test_rounding_of_single_precision_is_no_offence():
    rows = RNG.normal(size=(N, 1)).round(1)
    level, _ = off_grid(grids_of(rows), rows.astype(np.float32).astype(float))
    assert level.max() == 0


def test_a_value_of_one_sample_is_not_vouched_for_by_itself():
    column = np.zeros((N, 1))
    column[0] = 3.0
    grids = grids_of(column)
    seen_itself = np.ones(N, bool)
    assert off_grid(grids, column, seen_itself)[0].tolist() == [1.0] + [0.0] * (N - 1)
    assert off_grid(grids, column)[0].max() == 0


def test_the_worst_feature_is_named():
    rows = RNG.integers(0, 5, (N, 4)).astype(float)
    strange = np.array([[1.0, 2.0, 2.5, 0.0]])
    level, worst = off_grid(grids_of(rows), strange)
    assert (level[0], worst[0]) == (2.0, 2)
