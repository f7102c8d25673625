"""What several looks at parts of a set have seen is what one look at all of it sees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precall import InputError
from precall.data.value_checks import ValueCheck


def look(rows):
    check = ValueCheck("real")
    check.add(rows)
    return check


def outcome(check):
    try:
        check.finish()
    except InputError as error:
        return str(error)
    return check.row_hashes.tolist(), check.n_constant, check.n_copied


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 11), max_size=3, unique=True))
def test_any_cut(seed, cuts):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (12, 5)).astype(float)
    rows[:, rng.integers(0, 5)] = rows[:, 0]
    rows[:, 2] = 1.0
    if seed % 3 == 0:
        rows[rng.integers(0, 12), 1] = np.nan
    if seed % 5 == 0:
        rows[:6, 3] = 1e-200
    merged = ValueCheck("real")
    for part in np.split(rows, sorted(cuts)):
        merged.merge(look(part))
    assert outcome(merged) == outcome(look(rows))


def test_a_set_whose_parts_are_each_constant():
    merged = look(np.zeros((2, 3)))
    merged.merge(look(np.ones((2, 3))))
    assert (merged.n_constant, merged.n_copied) == (0, 2)
    merged.merge(look(np.full((1, 3), np.inf)))
    with pytest.raises(InputError, match="row 4"):
        merged.finish()
