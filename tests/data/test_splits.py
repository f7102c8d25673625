import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import precall
from precall.data.feature_sets import FeatureSet
from precall.data.splits import CoinFlip, CrossFit, HoldOut, NoSplit, as_split


def numbered(n, role):
    """Rows that are their own index."""
    return FeatureSet.of(np.arange(n, dtype=float).reshape(-1, 1), role)


def indices(rows):
    return rows.tile(0, len(rows))[:, 0].astype(int).tolist()


def test_without_a_split_everyone_plays_both_roles():
    (fold,) = NoSplit().folds(numbered(5, "real"), numbered(7, "generated"), seed=0)
    assert fold.real.fit is fold.real.evaluated
    assert indices(fold.generated.fit) == list(range(7))


@given(st.integers(2, 40), st.floats(0.01, 0.99), st.integers(0, 5))
def test_hold_out_is_a_partition(n, fraction, seed):
    (fold,) = HoldOut(fraction).folds(numbered(n, "real"), numbered(n + 3, "generated"), seed)
    for side, size in ((fold.real, n), (fold.generated, n + 3)):
        fit, evaluated = indices(side.fit), indices(side.evaluated)
        assert sorted(fit + evaluated) == list(range(size))
        assert fit == sorted(fit)
        assert abs(len(fit) - fraction * size) <= 1
        assert len(fit) >= 1
        assert len(evaluated) >= 1


@given(st.integers(2, 6), st.integers(6, 40), st.integers(0, 5))
def test_cross_fit_evaluates_everyone_once_by_the_others(n_folds, n, seed):
    folds = CrossFit(n_folds).folds(numbered(n, "real"), numbered(n + 1, "generated"), seed)
    assert len(folds) == n_folds
    for side, size in (("real", n), ("generated", n + 1)):
        parts = [getattr(fold, side) for fold in folds]
        assert sorted(i for part in parts for i in indices(part.evaluated)) == list(range(size))
        for part in parts:
            assert sorted(indices(part.fit) + indices(part.evaluated)) == list(range(size))


@given(st.integers(2, 40), st.integers(2, 40), st.integers(0, 5))
def test_of_each_pair_a_coin_lets_one_fit(n, m, seed):
    """createTrainTest of Simon et al. 2019; samples without a partner have coins of their own."""
    (fold,) = CoinFlip().folds(numbered(n, "real"), numbered(m, "generated"), seed)
    real, generated = set(indices(fold.real.fit)), set(indices(fold.generated.fit))
    for side, size in ((fold.real, n), (fold.generated, m)):
        assert sorted(indices(side.fit) + indices(side.evaluated)) == list(range(size))
        assert min(len(side.fit), len(side.evaluated)) >= 1
    paired = set(range(min(n, m)))
    mended = 2  # where all coins fell the same way
    assert len((real ^ generated) & paired) >= len(paired) - mended


def test_seeds_decide():
    sets = numbered(50, "real"), numbered(50, "generated")
    first, again, other = (HoldOut().folds(*sets, seed)[0] for seed in (1, 1, 2))
    assert indices(first.real.fit) == indices(again.real.fit)
    assert indices(first.real.fit) != indices(other.real.fit)
    assert indices(first.real.fit) != indices(first.generated.fit)


def test_arguments():
    assert as_split(True) == HoldOut(0.5)
    assert as_split(0.7) == HoldOut(0.7)
    assert as_split(False) == as_split(None) == NoSplit()
    assert as_split(CrossFit(5)) == CrossFit(5)
    names = [str(split) for split in (NoSplit(), HoldOut(0.25), CoinFlip(), CrossFit(3))]
    assert names == ["none", "hold-out 0.25", "coin flip", "cross-fit 3"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: as_split("half"),
            "split='half' is not a split; pass True (the paper's 50 %), False, a share to fit on "
            "such as 0.7, precall.HoldOut(0.7), precall.CoinFlip() or precall.CrossFit(5).",
        ),
        (
            lambda: HoldOut(1.0),
            "fit_fraction must lie between 0 and 1, both excluded; got 1.0.",
        ),
        (lambda: CrossFit(1), "folds must be an integer of at least 2; got 1."),
        (
            lambda: CrossFit(9).folds(numbered(8, "real"), numbered(20, "generated"), 0),
            "a split into 9 parts needs at least 9 samples; real has 8.",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        make()


def test_coins_are_not_the_numbers_the_samples_were_drawn_with():
    """With the default seed on both sides a coin must not tell what a label was drawn from."""
    drawn = np.random.default_rng(0).random(1000) < 0.5
    sets = (
        precall.FeatureSet.of(drawn[:, None] * 1.0, "real"),
        precall.FeatureSet.of(np.zeros((1000, 1)), "generated"),
    )
    (fold,) = precall.CoinFlip().folds(*sets, 0)
    fits = fold.real.fit.tile(0, len(fold.real.fit))
    assert 0.4 < fits.mean() < 0.6
