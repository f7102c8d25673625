"""From evidence to the error rates of a family of classifiers (Sykes et al. 2024 §3.1, Eq. 3).

The family is indexed by γ ∈ [0, ∞]. A sample with evidence (a, b) is called real

* for 1 ≤ γ < ∞ if γ·a ≥ b, for 0 < γ < 1 if γ·a > b ("Note on symmetry"), so that a sample with
  no evidence at all, 0/0, is real in the first case and generated in the second;
* for γ = ∞ if a > 0, for γ = 0 if b = 0: the classifiers of the scalar metrics;

and the two trivial classifiers are always in the family (Sykes et al. 2024 §3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, eq=False)
class ErrorRates:
    """How often each classifier of a family errs, as counts.

    Counts add up over folds and are exact; rates are derived from them.
    """

    real_called_generated: Counts  # (n_classifiers,)
    generated_called_real: Counts  # (n_classifiers,)
    gamma: NDArray[np.float64]  # (n_classifiers,) of each; NaN for the two trivial ones
    n_real: int
    n_generated: int
    _found: dict[str, tuple[Counts, Counts]] = field(default_factory=dict, init=False, repr=False)

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
        if (known := _known.get(evidence)) is not None:
            return known
        if evidence.is_real.all() or not evidence.is_real.any():
            raise InputError(
                "evidence must be of real and of generated samples; got only one class."
            )
        groups = _RatioGroups.of(evidence)
        called_real, gamma = groups.called_real()
        n_real = int(np.count_nonzero(evidence.is_real))
        n_generated = len(evidence.is_real) - n_real
        found = cls(n_real - called_real[:, 0], called_real[:, 1], gamma, n_real, n_generated)
        _known[evidence] = found
        return found

    def _vertices(self) -> tuple[Counts, Counts]:
        """Errors of the classifiers that are best for some λ."""
        if "hull" not in self._found:
            fpr, fnr = lower_hull(self.real_called_generated, self.generated_called_real)
            self._found["hull"] = np.asarray(fpr), np.asarray(fnr)
        return self._found["hull"]

    def hull(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return fpr and fnr of the classifiers that are best for some λ, found on the counts."""
        fpr, fnr = self._vertices()
        return fpr / self.n_real, fnr / self.n_generated

    def best(self) -> NDArray[np.float64]:
        """Return the γ of a classifier for each vertex of the hull; trivial ones are left out."""
        named = ~np.isnan(self.gamma)
        points = self.real_called_generated[named] * (self.n_generated + 1)
        points += self.generated_called_real[named]
        fpr, fnr = self._vertices()
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


@dataclass(frozen=True, slots=True, eq=False)
class _RatioGroups:
    """Evaluated samples grouped by their ratio of evidence, the most real group first."""

    sizes: Counts  # (n_groups, 2): real and generated samples in each group
    side: NDArray[np.int64]  # (n_groups,) -1 where a > b, 0 where a = b, 1 where a < b
    quotient: NDArray[np.float64]  # (n_groups,) smaller over larger evidence
    no_evidence: Counts  # (2,) samples with a = b = 0

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        a, b = evidence.for_real, evidence.for_generated
        labels = np.stack([evidence.is_real, ~evidence.is_real], axis=1)
        empty = (a == 0) & (b == 0)
        no_evidence = labels[empty].sum(axis=0)
        a, b, labels = a[~empty], b[~empty], labels[~empty]
        # The smaller evidence over the larger: exchanging the classes mirrors the order exactly.
        side = np.sign(b.astype(np.float64) - a.astype(np.float64)).astype(np.int64)
        quotient = np.minimum(a, b) / np.maximum(a, b)
        order = np.lexsort((-side * quotient, side))
        side, quotient, labels = side[order], quotient[order], labels[order]
        first = np.ones(len(side), dtype=bool)
        first[1:] = (side[1:] != side[:-1]) | (quotient[1:] != quotient[:-1])
        starts = np.flatnonzero(first)
        sizes = np.add.reduceat(labels, starts, axis=0, dtype=np.int64)
        return cls(sizes, side[starts], quotient[starts], no_evidence)

    def called_real(self) -> tuple[Counts, NDArray[np.float64]]:
        """Real and generated samples that each distinct classifier calls real, and its γ."""
        prefix = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(self.sizes, axis=0)])
        never_generated = self._count(side=-1, quotient=0.0)  # groups with a > 0, b = 0
        above_even = int(np.count_nonzero(self.side < 0))
        even_or_above = int(np.count_nonzero(self.side <= 0))
        ever_real = len(self.side) - self._count(side=1, quotient=0.0)  # all but a = 0
        # γ lies halfway between the quotients b/a, or a/b from γ = 1 on, that it tells apart.
        of_real = self.quotient[never_generated:above_even]
        of_generated = self.quotient[even_or_above:ever_real]
        below_one = _midpoints(np.concatenate([[0.0], of_real, [1.0]]))
        with np.errstate(over="ignore"):
            from_one = 1 / _midpoints(np.concatenate([[1.0], of_generated, [0.0]]))
        from_one = np.minimum(from_one, np.finfo(np.float64).max)
        parts = [
            (prefix[:1], [np.nan]),  # all generated
            (prefix[never_generated : never_generated + 1] + self.no_evidence, [0.0]),
            (prefix[never_generated : above_even + 1], below_one),  # 0 < γ < 1
            (prefix[even_or_above : ever_real + 1] + self.no_evidence, from_one),  # 1 ≤ γ < ∞
            (prefix[ever_real : ever_real + 1], [np.inf]),
            (prefix[-1:] + self.no_evidence, [np.nan]),  # all real
        ]
        counts, gammas = zip(*parts, strict=True)
        return np.concatenate(counts), np.concatenate(gammas)

    def _count(self, side: int, quotient: float) -> int:
        return int(np.count_nonzero((self.side == side) & (self.quotient == quotient)))


def _midpoints(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return (values[1:] + values[:-1]) / 2
