"""The field's scalar scores, each a short function of what each sample is to the other class.

Without a split, on all samples. r_k(x) is the k-NN radius of x among real, s_k(y) that of y among
generated; definitions are in the table of docs/scores.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.errors import InputError
from precall.neighbors.statistics import (
    CrossPlan,
    CrossStatistics,
    NeighborPlan,
    NeighborStatistics,
)
from precall.scores.alpha_beta import alpha_precision, beta_recall
from precall.scores.conventions import Convention
from precall.scores.frechet import Moments, distance_of_few, distance_of_moments
from precall.scores.kernel_distance import kernel_distance
from precall.truth.closed_forms import (
    clipped_calibration,
    expected_cover,
    expected_coverage,
    expected_density,
)

__all__ = [
    "COVER_RATIO",
    "DEFAULT_SCORES",
    "DISTANCES",
    "SCORES",
    "Ceiling",
    "Measured",
    "Score",
    "ScoreRequest",
    "Side",
    "as_score_requests",
]

Role = Literal["real", "generated"]
Flags = NDArray[np.bool_]

COVER_RATIO = 3  # k′ = 3k (001)
_LARGEST_CUBED = 1e24  # so that the squares of differences are finite, too
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A score that real samples reach, and what the generated ones reach at the same sizes.

    Scores depend on the number of samples, so that only these two compare.
    """

    perfect: float
    generated: float
    n: int  # real samples that both are compared with
    m: int  # samples that are compared with them


@dataclass(frozen=True, slots=True)
class Score:
    """One number, and what it would be if both distributions were the same."""

    value: float
    k: int | None = None
    expected_if_equal: float | None = None
    interval: tuple[float, float] | None = None
    standard_deviation: float | None = None  # over subsets, of kernel_distance
    ceiling: Ceiling | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The samples of one class, seen from the other."""

    statistics: NeighborStatistics | None
    part: slice  # of the arrays in the statistics

    @property
    def cross(self) -> CrossStatistics:
        """What was found between the classes."""
        if self.statistics is None or self.statistics.cross is None:
            raise ValueError("nothing was measured between the classes")
        return self.statistics.cross

    def held_by(self, k: int) -> NDArray[np.int64]:
        """Number of the other class's own k-balls that hold each sample."""
        return self.cross.counts[k][self.part, 0]

    def holds(self, k: int) -> NDArray[np.int64]:
        """Number of the other class's samples in each sample's own k-ball."""
        return self.cross.counts[k][self.part, 1]

    def in_nearest(self, k: int) -> Flags:
        """Whether each sample is in the own k-ball of its nearest sample of the other class."""
        if self.cross.nearest is None:
            raise ValueError("the nearest were not asked for")
        return self.cross.nearest.holds[k][self.part]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """All that scores are computed from."""

    statistics: NeighborStatistics | None  # without a split; None if no score needs neighbours
    sets: tuple[FeatureSet, FeatureSet]  # real, generated
    seed: int
    threads: int
    kernel_distance: float | None = None  # if it is known already

    @property
    def real(self) -> Side:
        """The real samples."""
        return Side(self.statistics, slice(0, len(self.sets[0])))

    @property
    def generated(self) -> Side:
        """The generated samples."""
        return Side(self.statistics, slice(len(self.sets[0]), None))


def _own_balls(k: int) -> NeighborPlan:
    return NeighborPlan(cross=CrossPlan(frozenset({k})))


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a score is computed, and from what."""

    default_k: int | None
    value: Callable[[Measured, int], "float | Score"]
    inside: Callable[[Measured, int], Flags] | None = None  # of a score that is a share
    of: Role | None = None  # the class that it is a share of
    needs: Callable[[int], NeighborPlan] = _own_balls
    expected: Callable[[int, int, int], float] | None = None  # of n, m and k
    largest_k: Callable[[int], int] = field(default=lambda k: k)  # that neighbours are asked for

    def measure(self, measured: Measured, k: int) -> Score:
        """Compute the score."""
        found = self.value(measured, k)
        if isinstance(found, Score):
            return found
        n, m = map(len, measured.sets)
        expected = self.expected(n, m, k) if self.expected else None
        return Score(found, k if self.default_k is not None else None, expected)


def _share(
    of: Role, inside: Callable[[Side, int], Flags], default_k: int | None, **how: Any
) -> _Kind:
    """Score the share of a class that is inside."""

    def flags(measured: Measured, k: int) -> Flags:
        return inside(measured.real if of == "real" else measured.generated, k)

    def value(measured: Measured, k: int) -> float:
        return float(flags(measured, k).mean())

    return _Kind(default_k, value, flags, of, **how)


def _cover_needs(k: int) -> NeighborPlan:
    return NeighborPlan(cross=CrossPlan(frozenset({COVER_RATIO * k})))


def _nearest_needs(k: int) -> NeighborPlan:
    return NeighborPlan(cross=CrossPlan(frozenset({k}), nearest=True))


def _soft_needs(k: int) -> NeighborPlan:
    return NeighborPlan(cross=CrossPlan(soft_ks=frozenset({k})))


def _clipped_needs(k: int) -> NeighborPlan:
    return NeighborPlan(cross=CrossPlan(clipped_ks=frozenset({k})))


def _nothing(k: int) -> NeighborPlan:
    return NeighborPlan()


def _smaller(*names: str) -> Callable[[Measured, int], float]:
    """EAS (000 Eq. 6): the smaller of two scores at one k."""
    return lambda measured, k: min(SCORES[name].measure(measured, k).value for name in names)


def _f_score(measured: Measured, k: int) -> float:
    precision, recall = (
        SCORES[name].measure(measured, k).value for name in ("precision", "recall")
    )
    return 2 * precision * recall / max(1e-5, precision + recall)


def _density(measured: Measured, k: int) -> float:
    return float(measured.generated.held_by(k).mean() / k)


def _soft_share(of: Role) -> Callable[[Measured, int], float]:
    def value(measured: Measured, k: int) -> float:
        side = measured.real if of == "real" else measured.generated
        return float(side.cross.soft[k][side.part].mean())

    return value


def _clipped_density(measured: Measured, k: int) -> float:
    """Each sample counts at most once, real balls reach no farther than their median (Salvy 2025).

    In units of what the real samples reach among themselves, and at most 1.
    """
    reached, ideal = (
        float(np.minimum(side.cross.clipped[k][side.part], k).mean())
        for side in (measured.generated, measured.real)
    )
    return min(reached / ideal, 1.0) if ideal > 0 else float(reached > 0)


def _clipped_coverage(measured: Measured, k: int) -> float:
    """Each real sample counts up to k generated ones in its ball (Salvy 2025).

    Calibrated: the share of good samples that would be expected to score as much.
    """
    n, m = map(len, measured.sets)
    raw = np.minimum(measured.real.holds(k), k).mean() / k
    return float(np.searchsorted(clipped_calibration(n, m, k), raw) / (m + 1))


def _frechet(measured: Measured, k: int) -> float:
    if max(map(len, measured.sets)) < measured.sets[0].n_features:
        return distance_of_few(*measured.sets)
    real, generated = (Moments.of(side, threads=measured.threads) for side in measured.sets)
    return distance_of_moments(real, generated)


def _kernel(measured: Measured, k: int) -> Score:
    if measured.kernel_distance is not None:
        return Score(measured.kernel_distance)
    found = kernel_distance(*measured.sets, seed=measured.seed, threads=measured.threads)
    return Score(found.mean, None, 0.0, standard_deviation=found.standard_deviation)


def _alpha_precision(measured: Measured, k: int) -> float:
    return alpha_precision(*measured.sets)


def _authenticity(measured: Measured, k: int) -> float:
    """Share of y farther from its nearest x than x from its nearest other real sample."""
    return float((~measured.generated.in_nearest(1)).mean())


def _beta_recall(measured: Measured, k: int) -> float:
    nearest = measured.real.cross.nearest
    if nearest is None:
        raise ValueError("the nearest were not asked for")
    part = measured.real.part
    is_near = nearest.squared[part] <= measured.real.cross.squared_radii[1][part]
    return beta_recall(measured.sets[1], nearest.place[part], is_near)


SCORES = {
    # Kynkäänniemi 2019, 000 Eq. 4
    "precision": _share("generated", lambda y, k: y.held_by(k) > 0, default_k=3),
    "recall": _share("real", lambda x, k: x.held_by(k) > 0, default_k=3),
    "f_score": _Kind(3, _f_score),
    # Naeem 2020
    "density": _Kind(5, _density, expected=expected_density),
    "coverage": _share(
        "real", lambda x, k: x.holds(k) > 0, default_k=5, expected=expected_coverage
    ),
    # 000 Eq. 5
    "precision_coverage": _share(
        "generated",
        lambda y, k: y.holds(k) > 0,
        default_k=5,
        expected=lambda n, m, k: expected_coverage(m, n, k),
    ),
    # EAS, 000 Eq. 6
    "symmetric_precision": _Kind(5, _smaller("precision", "precision_coverage")),
    "symmetric_recall": _Kind(5, _smaller("recall", "coverage")),
    # 001 Definition 2
    "precision_cover": _share(
        "generated",
        lambda y, k: y.holds(COVER_RATIO * k) >= k,
        default_k=3,
        needs=_cover_needs,
        expected=lambda n, m, k: expected_cover(n, m, k, COVER_RATIO * k),
        largest_k=lambda k: COVER_RATIO * k,
    ),
    "recall_cover": _share(
        "real",
        lambda x, k: x.holds(COVER_RATIO * k) >= k,
        default_k=3,
        needs=_cover_needs,
        expected=lambda n, m, k: expected_cover(m, n, k, COVER_RATIO * k),
        largest_k=lambda k: COVER_RATIO * k,
    ),
    # 000 Eq. 8, with its erratum
    "probabilistic_precision": _Kind(4, _soft_share("generated"), needs=_soft_needs),
    "probabilistic_recall": _Kind(4, _soft_share("real"), needs=_soft_needs),
    # 004, the "basic" program
    "nearest_precision": _share(
        "generated", lambda y, k: y.in_nearest(k), default_k=3, needs=_nearest_needs
    ),
    "nearest_recall": _share(
        "real", lambda x, k: x.in_nearest(k), default_k=3, needs=_nearest_needs
    ),
    # Salvy 2025
    "clipped_density": _Kind(5, _clipped_density, needs=_clipped_needs),
    "clipped_coverage": _Kind(5, _clipped_coverage),
    # Alaa 2022
    "alpha_precision": _Kind(None, _alpha_precision, needs=_nothing),
    "beta_recall": _Kind(None, _beta_recall, needs=lambda k: _nearest_needs(1)),
    "authenticity": _Kind(None, _authenticity, needs=lambda k: _nearest_needs(1)),
    # Heusel 2017, Bińkowski 2018
    "frechet_distance": _Kind(None, _frechet, needs=_nothing),
    "kernel_distance": _Kind(None, _kernel, needs=_nothing),
}

DISTANCES = ("frechet_distance", "kernel_distance")  # in units of the features

DEFAULT_SCORES = (
    "precision",
    "recall",
    "density",
    "coverage",
    "precision_cover",
    "recall_cover",
)


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A score at one k, under one convention."""

    name: str  # in the result
    score: str
    k: int | None
    convention: Convention

    @property
    def defined_as(self) -> str:
        """The score that this one is by precall's definitions."""
        swapped = {"precision_cover": "recall_cover", "recall_cover": "precision_cover"}
        return swapped.get(self.score, self.score) if self.convention.swaps_cover else self.score

    @property
    def _kind(self) -> _Kind:
        return SCORES[self.defined_as]

    @property
    def _k(self) -> int:
        return 1 if self.k is None else self.k

    def needs(self) -> NeighborPlan:
        """Say what an engine has to find."""
        return self._kind.needs(self._k)

    @property
    def n_needed(self) -> int:
        """Samples that each class must have at least."""
        if self.k is None:
            return 2
        return self._kind.largest_k(self.k) + self.convention.spare_samples

    def shortage(self, sets: tuple[FeatureSet, FeatureSet]) -> str | None:
        """Say which side has too few samples for this score, if one has."""
        k = "" if self.k is None else f" at k={self.k}"
        for features in sets:
            if len(features) < self.n_needed:
                return (
                    f"score {self.score!r}{k} needs at least {self.n_needed} samples; "
                    f"{features.role} has {len(features)}."
                )
            if self.score == "kernel_distance" and _largest(features) > _LARGEST_CUBED:
                return (
                    f"score 'kernel_distance' overflows for values beyond {_LARGEST_CUBED:g}; "
                    f"{features.role} has {_largest(features):.3g}. Rescale, or leave it out."
                )
        return None

    def measure(self, measured: Measured) -> Score:
        """Compute the score."""
        return self._kind.measure(measured, self._k)

    def inside(self, measured: Measured) -> tuple[Role, Flags] | None:
        """Of a score that is a share: of which class, and who is inside."""
        if self._kind.inside is None or self._kind.of is None:
            return None
        return self._kind.of, self._kind.inside(measured, self._k)


def _largest(features: FeatureSet) -> float:
    return max(float(np.abs(tile).max()) for tile in features.rows.tiles(_ROWS_AT_A_TIME))


def as_score_requests(
    scores: Sequence[str] | str | None,
    score_k: int | Sequence[int] | None,
    convention: Convention,
) -> list[ScoreRequest]:
    """Read the ``scores`` and ``score_k`` arguments of :func:`precall.evaluate`."""
    ks = _as_ks(score_k)
    requests = []
    for score in _as_names(scores, convention):
        default_k = convention.default_k.get(score, SCORES[score].default_k)
        if default_k is None or not ks:
            requests.append(ScoreRequest(score, score, default_k, convention))
            continue
        for k in ks:
            name = f"{score}_k{k}" if len(ks) > 1 else score
            requests.append(ScoreRequest(name, score, k, convention))
    return requests


def _as_names(scores: Sequence[str] | str | None, convention: Convention) -> list[str]:
    known = convention.scores or tuple(SCORES)
    if scores is None:
        return [*(convention.scores or DEFAULT_SCORES)]
    if isinstance(scores, str) and scores == "all":
        return [*known]
    if isinstance(scores, str) or not isinstance(scores, Sequence):
        raise InputError(f"scores must be a list of names or 'all'; got {scores!r}.")
    names = list(scores)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise InputError(
                f"scores names {name!r}, which convention={convention.name!r} does not have; "
                f"choose from {', '.join(known)}."
            )
        if names.count(name) > 1:
            raise InputError(f"scores names {name!r} twice.")
    return names


def _as_ks(score_k: int | Sequence[int] | None) -> list[int]:
    if score_k is None:
        return []
    is_list = isinstance(score_k, Sequence | np.ndarray) and np.ndim(score_k) == 1
    ks: list[Any] = list(score_k) if is_list else [score_k]  # type: ignore[arg-type]
    valid = all(isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in ks)
    if not ks or not valid or len(set(ks)) < len(ks):
        raise InputError(
            f"score_k must be a positive integer or a list of different ones; got {score_k!r}."
        )
    return [int(k) for k in ks]
