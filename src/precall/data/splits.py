"""Who fits the classifiers and who is evaluated by them (Sykes et al. 2024 §3.2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.errors import InputError, check_integer

Part = tuple[NDArray[np.intp], NDArray[np.intp]]  # who fits, who is evaluated


@dataclass(frozen=True, slots=True, eq=False)
class FitEval:
    """One class of samples in one fold; without a split both members are the same rows."""

    fit: Rows  # build the classifiers
    evaluated: Rows  # are judged by them


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Both classes in one fold."""

    real: FitEval
    generated: FitEval


class Split:
    """How samples are divided, and what that allows. ``str(split)`` is its name in results."""

    __slots__ = ()
    written: ClassVar[str] = "{0!r}"
    """How ``str`` writes it."""
    judges_unseen: ClassVar[bool] = True
    """Whether nobody is evaluated by a classifier that was fitted on it."""
    is_single: ClassVar[bool] = False
    """Whether one classifier judges all evaluated samples: then its errors are binomial."""
    repeats_halves: ClassVar[bool] = False
    """Whether folds are independent halves: the curve is the mean over them, and what differs
    between them tells how uncertain it is. Else errors add up over the folds."""

    def folds(self, real: FeatureSet, generated: FeatureSet, seed: int) -> tuple[Fold, ...]:
        """Divide both sets, the same way for the same seed."""
        sides = [
            [_fit_eval(features, *part) for part in self._parts(features, rng)]
            for features, rng in zip((real, generated), _generators(seed), strict=True)
        ]
        return tuple(Fold(*pair) for pair in zip(*sides, strict=True))

    def __str__(self) -> str:
        return self.written.format(self)

    def _parts(self, features: FeatureSet, rng: np.random.Generator) -> list[Part]:
        """Say for each fold which samples of a set fit, and which are evaluated."""
        raise TypeError(f"{type(self).__name__} does not say how samples are divided")


@dataclass(frozen=True, slots=True)
class NoSplit(Split):
    """Every sample both fits and is evaluated, as the scalar metrics of the field do.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=["knn"], scores=(), split=precall.NoSplit()
    ... )
    >>> result.protocol.split
    'none'
    """

    written: ClassVar[str] = "none"
    judges_unseen: ClassVar[bool] = False

    def folds(self, real: FeatureSet, generated: FeatureSet, seed: int) -> tuple[Fold, ...]:
        """Return the one fold in which both sets play both roles."""
        return (Fold(FitEval(real.rows, real.rows), FitEval(generated.rows, generated.rows)),)


@dataclass(frozen=True, slots=True)
class HoldOut(Split):
    """A single random split; the paper's choice at its default of one half.

    Parameters
    ----------
    fit_fraction
        Share of each class that fits; the rest is evaluated.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=["knn"], scores=(), split=precall.HoldOut(0.7)
    ... )
    >>> result.protocol.split
    'hold-out 0.7'
    """

    written: ClassVar[str] = "hold-out {0.fit_fraction:g}"
    is_single: ClassVar[bool] = True
    fit_fraction: float = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.fit_fraction, float) or not 0 < self.fit_fraction < 1:
            raise InputError(
                f"fit_fraction must lie between 0 and 1, both excluded; got {self.fit_fraction!r}."
            )

    def _parts(self, features: FeatureSet, rng: np.random.Generator) -> list[Part]:
        n = _n_divisible(features, 2)
        n_fit = min(max(round(self.fit_fraction * n), 1), n - 1)
        order = rng.permutation(n)
        return [(order[:n_fit], order[n_fit:])]


@dataclass(frozen=True, slots=True)
class RepeatedHoldOut(Split):
    """Several independent splits into halves; the curve is the mean over them at equal λ.

    What differs between the splits, and within each, tells how uncertain the curve is.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=["knn"], scores=(), split=precall.RepeatedHoldOut(4)
    ... )
    >>> result.protocol.split
    '4 times hold-out 0.5'
    """

    written: ClassVar[str] = "{0.n_splits} times hold-out 0.5"
    repeats_halves: ClassVar[bool] = True
    n_splits: int = 4

    def __post_init__(self) -> None:
        check_integer("n_splits", self.n_splits, 2)

    def folds(self, real: FeatureSet, generated: FeatureSet, seed: int) -> tuple[Fold, ...]:
        """Return one fold a split."""
        seeds = np.random.SeedSequence(seed).generate_state(self.n_splits).tolist()
        return tuple(HoldOut().folds(real, generated, each)[0] for each in seeds)


@dataclass(frozen=True, slots=True)
class CoinFlip(Split):
    """Of each pair (X_i, Y_i) a fair coin says which one fits (Simon et al. 2019, Algorithm 1).

    The other one is evaluated. Samples without a partner, where one class is larger, have a coin of
    their own.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=["knn"], scores=(), split=precall.CoinFlip()
    ... )
    >>> result.protocol.split
    'coin flip'
    """

    written: ClassVar[str] = "coin flip"
    is_single: ClassVar[bool] = True

    def folds(self, real: FeatureSet, generated: FeatureSet, seed: int) -> tuple[Fold, ...]:
        """Return the one fold that the coins decide on."""
        n = max(_n_divisible(features, 2) for features in (real, generated))
        rng, _ = _generators(seed)  # not the stream that samples may have been drawn from
        coins = rng.random(n) < 0.5
        sides = []
        for features, fits in ((real, coins), (generated, ~coins)):
            fits = fits[: len(features)]
            if fits.all() or not fits.any():  # a chance of 2 in 2^n
                fits[0] = not fits[0]
            sides.append(_fit_eval(features, np.flatnonzero(fits), np.flatnonzero(~fits)))
        return (Fold(*sides),)


@dataclass(frozen=True, slots=True)
class CrossFit(Split):
    """Each of ``n_folds`` parts is evaluated by classifiers fitted on the others.

    Every sample is evaluated exactly once, never by a classifier that has seen it.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> result = precall.evaluate(
    ...     real, generated, estimators=["knn"], scores=(), split=precall.CrossFit(5)
    ... )
    >>> result.protocol.split
    'cross-fit 5'
    """

    written: ClassVar[str] = "cross-fit {0.n_folds}"
    n_folds: int = 2

    def __post_init__(self) -> None:
        check_integer("folds", self.n_folds, 2)

    def _parts(self, features: FeatureSet, rng: np.random.Generator) -> list[Part]:
        order = rng.permutation(_n_divisible(features, self.n_folds))
        parts = np.array_split(order, self.n_folds)
        return [(np.concatenate(parts[:i] + parts[i + 1 :]), part) for i, part in enumerate(parts)]


def as_split(split: bool | float | Split | None) -> Split:
    """Read the ``split`` argument of :func:`precall.evaluate`."""
    if split is None or isinstance(split, bool | np.bool_):
        return HoldOut() if split else NoSplit()
    if isinstance(split, float):
        return HoldOut(split)
    if isinstance(split, Split):
        return split
    raise InputError(
        f"split={split!r} is not a split; pass True (the paper's 50 %), False, a share to fit on "
        "such as 0.7, precall.HoldOut(0.7), precall.CoinFlip() or precall.CrossFit(5)."
    )


def _generators(seed: int) -> list[np.random.Generator]:
    return np.random.default_rng(seed).spawn(2)


def _fit_eval(features: FeatureSet, fit: NDArray[np.intp], evaluated: NDArray[np.intp]) -> FitEval:
    # Sorted, so that memory-mapped rows are read front to back.
    return FitEval(features.select(np.sort(fit)), features.select(np.sort(evaluated)))


def _n_divisible(features: FeatureSet, n_parts: int) -> int:
    """Return the number of samples, of which there must be enough."""
    if len(features) < n_parts:
        raise InputError(
            f"a split into {n_parts} parts needs at least {n_parts} samples; {features.role} has "
            f"{len(features)}."
        )
    return len(features)
