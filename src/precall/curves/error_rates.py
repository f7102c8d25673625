"""From evidence to the error rates of a family of classifiers (Sykes et al. 2024 §3.1, Eq. 3).

The family is indexed by γ ∈ [0, ∞]. A sample with evidence (a, b) is called real

* for 1 ≤ γ < ∞ if γ·a ≥ b, for 0 < γ < 1 if γ·a > b ("Note on symmetry"), so that a sample with
  no evidence at all, 0/0, is real in the first case and generated in the second;
* for γ = ∞ if a > 0, for γ = 0 if b = 0: the classifiers of the scalar metrics;

and the two trivial classifiers are always in the family (Sykes et al. 2024 §3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from precall.curves.hull import lower_hull
from precall.errors import InputError

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Evidence:
    """How strongly each evaluated sample looks real, and how strongly generated.

    The classifier with parameter γ calls z real if γ·a(z) ≥ b(z) (Sykes et al. 2024 §3.1).

    Examples
    --------
    >>> import numpy as np, precall
    >>> is_real = np.array([True, True, False, False])
    >>> evidence = precall.Evidence(np.array([3, 1, 2, 0]), np.array([0, 1, 1, 2]), is_real)
    >>> evidence.called_real(1.0)
    array([ True,  True,  True, False])
    """

    for_real: NDArray[Any]  # (n,) non-negative: a(z)
    for_generated: NDArray[Any]  # (n,) non-negative: b(z)
    is_real: NDArray[np.bool_]  # (n,) the truth
    choice: str = ""  # what cross-validation settled on, where it did

    def __len__(self) -> int:
        return len(self.is_real)

    def ratio(self) -> NDArray[np.float64]:
        """a/b of each sample: inf where b = 0 < a, and 1 where both are 0, which is even."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.asarray(self.for_real / self.for_generated, dtype=np.float64)
        return np.where((self.for_real == 0) & (self.for_generated == 0), 1.0, ratio)

    def called_real(self, gamma: float) -> NDArray[np.bool_]:
        """Say which samples the classifier with parameter γ calls real, even ones included.

        ``γ·a ≥ b`` from 1 on and ``γ·a > b`` below; a > 0 at γ = ∞ and b = 0 at γ = 0.
        """
        a, b = self.for_real, self.for_generated
        if gamma == np.inf:
            return np.asarray(a > 0)
        if gamma == 0:
            return np.asarray(b == 0)
        return np.asarray(gamma * a >= b if gamma >= 1 else gamma * a > b)

    def select(self, chosen: NDArray[Any]) -> Self:
        """Return the evidence of some of the samples."""
        return type(self)(self.for_real[chosen], self.for_generated[chosen], self.is_real[chosen])

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Pool the samples of several folds: errors at equal γ then add up."""
        return cls(
            np.concatenate([part.for_real for part in parts]),
            np.concatenate([part.for_generated for part in parts]),
            np.concatenate([part.is_real for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class ErrorRates:
    """How often each classifier of a family errs, as counts.

    Counts add up over folds and are exact; rates are derived from them.

    Examples
    --------
    >>> import numpy as np, precall
    >>> is_real = np.array([True, True, False, False])
    >>> evidence = precall.Evidence(np.array([3, 1, 2, 0]), np.array([0, 1, 1, 2]), is_real)
    >>> rates = precall.ErrorRates.of(evidence)
    >>> rates.n_real, rates.n_generated, float(min(rates.fpr + rates.fnr))
    (2, 2, 0.5)
    """

    real_called_generated: Counts  # (n_classifiers,)
    generated_called_real: Counts  # (n_classifiers,)
    gamma: NDArray[np.float64]  # (n_classifiers,) of each; NaN for the two trivial ones
    n_real: int
    n_generated: int

    @property
    def fpr(self) -> NDArray[np.float64]:
        """Share of real samples called generated, of each classifier."""
        return self.real_called_generated / self.n_real

    @property
    def fnr(self) -> NDArray[np.float64]:
        """Share of generated samples called real, of each classifier."""
        return self.generated_called_real / self.n_generated

    @classmethod
    def of(cls, evidence: Evidence) -> "ErrorRates":
        """Count the errors of every distinct classifier of the family, in O(n log n).

        Once for the same evidence: curves, bands and the best curve all ask.
        """
        if evidence not in _known:
            if evidence.is_real.all() or not evidence.is_real.any():
                raise InputError(
                    "evidence must be of real and of generated samples; got only one class."
                )
            called_real, gamma = _called_real(evidence)
            n_real, n_generated = called_real[-1].tolist()  # all are called real
            errors = n_real - called_real[:, 0], called_real[:, 1]
            _known[evidence] = cls(*errors, gamma, n_real, n_generated)
        return _known[evidence]

    @cached_property
    def _vertices(self) -> tuple[Counts, Counts]:
        """Errors of the classifiers that are best for some λ."""
        fpr, fnr = lower_hull(self.real_called_generated, self.generated_called_real)
        return np.asarray(fpr), np.asarray(fnr)

    def hull(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return fpr and fnr of the classifiers that are best for some λ, found on the counts."""
        fpr, fnr = self._vertices
        return fpr / self.n_real, fnr / self.n_generated

    def best(self) -> NDArray[np.float64]:
        """Return the γ of a classifier for each vertex of the hull; trivial ones are left out."""
        named = ~np.isnan(self.gamma)
        points = self.real_called_generated[named] * (self.n_generated + 1)
        points += self.generated_called_real[named]
        fpr, fnr = self._vertices
        known, first = np.unique(points, return_index=True)
        return self.gamma[named][first[np.isin(known, fpr * (self.n_generated + 1) + fnr)]]

    @property
    def mean_risk(self) -> float:
        """Smallest risk of the family, averaged over all trade-offs: ¼ at worst, 0 at best.

        The risk with weight w = λ/(1 + λ) on real is w·fpr + (1 − w)·fnr; w is uniform on [0, 1].
        """
        fpr, fnr = self.hull()
        falls, rises = -np.diff(fnr), np.diff(fpr)
        w = np.concatenate([[1.0], falls / (falls + rises), [0.0]])  # where the best one changes
        middle, width = (w[1:] + w[:-1]) / 2, w[:-1] - w[1:]
        return float(np.sum(width * (middle * fpr + (1 - middle) * fnr)))


_known: WeakKeyDictionary[Evidence, ErrorRates] = WeakKeyDictionary()


def _called_real(evidence: Evidence) -> tuple[Counts, NDArray[np.float64]]:
    """Real and generated samples that each distinct classifier calls real, (n, 2), and its γ."""
    a, b = evidence.for_real, evidence.for_generated
    labels = np.stack([evidence.is_real, ~evidence.is_real], axis=1)
    empty = (a == 0) & (b == 0)
    no_evidence = labels[empty].sum(axis=0)
    sizes, side, quotient = _ratio_groups(a[~empty], b[~empty], labels[~empty])
    prefix = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(sizes, axis=0)])
    never_generated = np.count_nonzero((side < 0) & (quotient == 0))  # groups with a > 0, b = 0
    above_even, even_or_above = np.count_nonzero(side < 0), np.count_nonzero(side <= 0)
    ever_real = len(side) - np.count_nonzero((side > 0) & (quotient == 0))  # all but a = 0
    # γ lies halfway between the quotients b/a, or a/b from γ = 1 on, that it tells apart.
    below_one = np.concatenate([[0.0], quotient[never_generated:above_even], [1.0]])
    below_one = (below_one[1:] + below_one[:-1]) / 2
    from_one = np.concatenate([[1.0], quotient[even_or_above:ever_real], [0.0]])
    with np.errstate(over="ignore"):
        from_one = 1 / ((from_one[1:] + from_one[:-1]) / 2)
    from_one = np.minimum(from_one, np.finfo(np.float64).max)
    parts = [
        (prefix[:1], [np.nan]),  # all generated
        (prefix[never_generated : never_generated + 1] + no_evidence, [0.0]),
        (prefix[never_generated : above_even + 1], below_one),  # 0 < γ < 1
        (prefix[even_or_above : ever_real + 1] + no_evidence, from_one),  # 1 ≤ γ < ∞
        (prefix[ever_real : ever_real + 1], [np.inf]),
        (prefix[-1:] + no_evidence, [np.nan]),  # all real
    ]
    counts, gammas = zip(*parts, strict=True)
    return np.concatenate(counts), np.concatenate(gammas)


def _ratio_groups(
    a: NDArray[Any], b: NDArray[Any], labels: NDArray[np.bool_]
) -> tuple[Counts, NDArray[np.int64], NDArray[np.float64]]:
    """Group samples by their ratio of evidence, the most real group first.

    Returns the samples of each class in each group, (n, 2), -1 where a > b, 0 where a = b, 1 where
    a < b, and the smaller over the larger evidence: exchanging the classes mirrors the order.
    """
    side = np.sign(b.astype(np.float64) - a.astype(np.float64)).astype(np.int64)
    quotient = np.minimum(a, b) / np.maximum(a, b)
    order = np.lexsort((-side * quotient, side))
    side, quotient = side[order], quotient[order]
    is_first = np.diff(side, prepend=np.nan) != 0
    is_first |= np.diff(quotient, prepend=np.nan) != 0
    starts = np.flatnonzero(is_first)
    sizes = np.add.reduceat(labels[order], starts, axis=0, dtype=np.int64)
    return sizes, side[starts], quotient[starts]
