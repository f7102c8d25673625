"""Hypothesis strategies: small data sets that are unkind to neighbour searches."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from engine_cases import NASTY

__all__ = ["integer_pairs", "nasty_pairs", "pairs_with_k", "weights"]


@st.composite
def integer_pairs(
    draw: st.DrawFn, min_rows: int = 2, max_rows: int = 14
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two sets on a small integer grid: ties and duplicates everywhere, n ≠ m, d from 1."""
    d = draw(st.integers(1, 3))
    reach = draw(st.sampled_from([1, 3, 50]))

    def rows() -> NDArray[np.float64]:
        n = draw(st.integers(min_rows, max_rows))
        values = hnp.arrays(np.int64, (n, d), elements=st.integers(-reach, reach))
        return draw(values).astype(np.float64)

    return rows(), rows()


@st.composite
def pairs_with_k(
    draw: st.DrawFn,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Two sets and a k that both allow without a split, up to n = k + 1."""
    real, generated = draw(integer_pairs())
    return real, generated, draw(st.integers(1, min(len(real), len(generated)) - 1))


def weights(n: int) -> st.SearchStrategy[list[int]]:
    """Masses of n states, some of them 0 but not all."""
    return st.lists(st.integers(0, 6), min_size=n, max_size=n).filter(any)


@st.composite
def nasty_pairs(draw):
    """Two sets, of one kind or of two, float32 or float64, from 2 to a few hundred rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.sampled_from([1, 2, 3, 7, 32, 65]))
    kinds = draw(st.tuples(st.sampled_from(sorted(NASTY)), st.sampled_from(sorted(NASTY))))
    if draw(st.booleans()):
        kinds = (kinds[0], kinds[0])
    sets = []
    for kind in kinds:
        rows = NASTY[kind](rng, (draw(st.integers(2, 150)), d))
        dtype = draw(st.sampled_from([np.float32, np.float64]))
        fits = np.abs(rows).max() < 1e38
        sets.append(rows.astype(dtype) if fits else rows)
    return tuple(sets)
