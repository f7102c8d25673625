"""The field's scalar scores, one record each.

Without a split, on all samples. r_k(x) is the k-NN radius of x among real, s_k(y) that of y among
generated; definitions are in the table of docs/scores.md.
"""

import copyreg
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.neighbors.statistics import CrossPlan, Role
from precall.scores.alpha_beta import alpha_precision, beta_recall
from precall.scores.frechet import distance_of_samples
from precall.scores.kernel_distance import kernel_distance, kernel_distances_of_blocks
from precall.scores.metric import (
    Estimate,
    Flags,
    Folded,
    Inside,
    Metric,
    SamplePair,
    Sets,
    Shares,
)
from precall.truth.closed_forms import (
    clipped_calibration,
    expected_cover,
    expected_coverage,
    expected_density,
)

Floats = NDArray[np.float64]

COVER_RATIO = 3  # k′ = 3k (Cheema & Urner 2023)
_SHARE = (0.0, 1.0)
_LARGEST_CUBED = 1e24  # so that the squares of differences are finite, too
_ROWS_AT_A_TIME = 4096


def _balls(*roles: Role) -> Callable[[int], CrossPlan]:
    """Need the own balls of classes."""
    return lambda k: CrossPlan(balls=frozenset((role, k) for role in roles))


def _share(name: str, **record: Any) -> Metric:
    """Begin the record of a share that one sweep tells of all blocks."""
    common: dict[str, Any] = {
        "unit": "share",
        "bounds": _SHARE,
        "of_blocks": "one sweep",
        "variance": "single samples",
        "expected": None,
    }
    return Metric(name=name, **(common | record))


def _ball_share(name: str, sentence: str, balls_of: Role, share_of: Role, **record: Any) -> Metric:
    """Share of a class that is in a ball of the other, or whose ball holds one of the other."""
    by_others = balls_of != share_of

    def value(shares: Shares, k: int) -> Any:
        return shares.held(share_of, k) if by_others else shares.holds(share_of, k)

    def flags(pair: SamplePair, k: int) -> Flags:
        side = pair.side(share_of)
        return (side.held_by[k] if by_others else side.holds[k]) > 0

    inside, needs = Inside(share_of, flags), _balls(balls_of)
    return _share(name, sentence=sentence, needs=needs, value=value, inside=inside, **record)


def _cover(name: str, sentence: str, role: Role, expected: Callable[..., float]) -> Metric:
    """Cheema & Urner 2023, Definition 2."""

    def flags(pair: SamplePair, k: int) -> Flags:
        return pair.side(role).holds[COVER_RATIO * k] >= k

    return _share(
        name,
        sentence=sentence,
        default_k=3,
        needs=lambda k: CrossPlan(covers=frozenset({(role, COVER_RATIO * k, k)})),
        value=lambda shares, k: shares.cover(role, COVER_RATIO * k, k),
        expected=expected,
        inside=Inside(role, flags),
    )


def _nearest(name: str, sentence: str, role: Role, other: Role) -> Metric:
    """The tutorial's "basic" scores: only the nearest sample's ball is tested."""

    def flags(pair: SamplePair, k: int) -> Flags:
        return pair.in_nearest(role, k)

    return _share(
        name,
        sentence=sentence,
        default_k=3,
        needs=lambda k: CrossPlan(balls=frozenset({(other, k)}), nearest=True),
        value=lambda pair, k: float(flags(pair, k).mean()),
        of_blocks="each block",
        inside=Inside(role, flags),
    )


def _soft(name: str, sentence: str, role: Role, other: Role) -> Metric:
    """Sykes et al. 2024, Eq. 8, with its erratum."""
    return _share(
        name,
        sentence=sentence,
        default_k=4,
        needs=lambda k: CrossPlan(soft=frozenset({(other, k)})),
        value=lambda pair, k: float(pair.side(role).soft(k).mean()),
        of_blocks="each block",
    )


def _smaller(name: str, sentence: str, role: Role) -> Metric:
    """EAS (Sykes et al. 2024, Eq. 6): the smaller of two scores at one k."""
    return _share(
        name,
        sentence=sentence,
        default_k=5,
        needs=_balls("real", "generated"),
        value=lambda shares, k: np.minimum(shares.held(role, k), shares.holds(role, k)),
    )


def _f_score(shares: Shares, k: int) -> Any:
    precision, recall = shares.held("generated", k), shares.held("real", k)
    return 2 * precision * recall / np.maximum(1e-5, precision + recall)


def _clipped_density(pair: SamplePair, k: int) -> float:
    """Each sample counts at most once, real balls reach no farther than their median.

    In units of what the real samples reach among themselves.
    """
    reached, ideal = (
        float(np.minimum(side.clipped[k], k).mean())
        for side in (pair.side("generated"), pair.side("real"))
    )
    return reached / ideal if ideal > 0 else float(reached > 0)


def _at_most_one(n: int, m: int, k: int, before: Floats) -> Floats:
    return np.minimum(before, 1.0)


def _share_of_good(n: int, m: int, k: int, filling: Floats) -> Floats:
    """The share of good samples that would be expected to fill real balls as much."""
    return np.asarray(np.searchsorted(clipped_calibration(n, m, k), filling) / (m + 1))


def _folded(name: str, folded: Folded, **record: Any) -> Metric:
    """Begin the record of a share that is cut off at 1, which it reaches where P = Q."""

    def value(pair: SamplePair, k: int) -> float:
        before = np.array(folded.before(pair, k), np.float64)
        n, m = map(len, pair.sets)
        return float(folded.after(n, m, k, before))

    return _share(name, value=value, folded=folded, **record)


def _nearest_real_balls(k: int) -> CrossPlan:
    return CrossPlan(balls=frozenset({("real", 1)}), nearest=True)


def _beta_recall(pair: SamplePair, k: int) -> float:
    side = pair.side("real")
    if side.nearest is None:
        raise ValueError("the nearest were not asked for")
    is_near = side.nearest.squared <= side.squared_radii[1]
    return beta_recall(pair.sets[1], side.nearest.place, is_near)


def _kernel(pair: SamplePair, k: int) -> Estimate:
    found = kernel_distance(pair.session, *pair.sets, seed=pair.seed)
    return Estimate(found.mean, found.standard_deviation)


def _overflows_cubed(sets: Sets) -> str | None:
    for side in sets:
        tiles = side.rows.tiles(_ROWS_AT_A_TIME)
        if (largest := max(float(np.abs(tile).max()) for tile in tiles)) > _LARGEST_CUBED:
            return (
                f"score 'kernel_distance' overflows for values beyond {_LARGEST_CUBED:g}; "
                f"{side.role} has {largest:.3g}. Rescale, or leave it out."
            )
    return None


_IN_ORDER = (
    _ball_share(  # Kynkäänniemi et al. 2019; Sykes et al. 2024, Eq. 4
        "precision", "share of generated in the ball of some real sample", "real", "generated",
        default_k=3,
    ),
    _ball_share(
        "recall", "share of real in the ball of some generated sample", "generated", "real",
        default_k=3,
    ),
    _share(
        "f_score",
        sentence="harmonic mean of precision and recall",
        default_k=3,
        needs=_balls("real", "generated"),
        value=_f_score,
    ),
    Metric(  # Naeem et al. 2020
        name="density",
        sentence="balls of real around a generated sample on average, over k",
        unit="ratio",
        bounds=(0.0, math.inf),
        default_k=5,
        needs=lambda k: CrossPlan(densities=frozenset({("real", k)})),
        value=lambda shares, k: shares.balls_around("generated", k) / k,
        of_blocks="one sweep",
        variance="single samples",
        expected=expected_density,
    ),
    _ball_share(
        "coverage", "share of real whose ball holds some generated sample", "real", "real",
        default_k=5, expected=expected_coverage,
    ),
    _ball_share(  # Sykes et al. 2024, Eq. 5
        "precision_coverage", "share of generated whose ball holds some real sample", "generated",
        "generated", default_k=5, expected=lambda n, m, k: expected_coverage(m, n, k),
    ),
    _smaller("symmetric_precision", "the smaller of precision and precision_coverage", "generated"),
    _smaller("symmetric_recall", "the smaller of recall and coverage", "real"),
    _cover(
        "precision_cover", "share of generated whose 3k-ball holds k real samples", "generated",
        lambda n, m, k: expected_cover(n, m, k, COVER_RATIO * k),
    ),
    _cover(
        "recall_cover", "share of real whose 3k-ball holds k generated samples", "real",
        lambda n, m, k: expected_cover(m, n, k, COVER_RATIO * k),
    ),
    _soft("probabilistic_precision", "soft cover of generated by real", "generated", "real"),
    _soft("probabilistic_recall", "soft cover of real by generated", "real", "generated"),
    _nearest(
        "nearest_precision", "share of generated in the ball of the nearest real sample",
        "generated", "real",
    ),
    _nearest(
        "nearest_recall", "share of real in the ball of the nearest generated sample", "real",
        "generated",
    ),
    _folded(  # Salvy et al. 2025
        "clipped_density",
        Folded(_clipped_density, _at_most_one),
        sentence="density with clipped balls and counts, in units of what real reaches",
        default_k=5,
        needs=lambda k: CrossPlan(clipped=frozenset({k})),
        of_blocks="each block",
    ),
    _folded(  # each real sample counts up to k generated ones in its ball
        "clipped_coverage",
        Folded(lambda shares, k: shares.filling("real", k), _share_of_good),
        sentence="share of good samples that would be expected to cover as much",
        default_k=5,
        needs=lambda k: CrossPlan(fillings=frozenset({("real", k)})),
    ),
    _share(  # Alaa et al. 2022
        "alpha_precision",
        sentence="how evenly generated fills the spheres that hold a share of real",
        bounds=(-math.inf, 1.0),
        default_k=None,
        needs=lambda k: None,
        value=lambda pair, k: alpha_precision(*pair.sets),
        of_blocks="each block",
        variance="folded",
        fewest=(2, 2),
    ),
    _share(
        "beta_recall",
        sentence="how evenly real is met by generated, from its centre outwards",
        bounds=(-math.inf, 1.0),
        default_k=None,
        needs=_nearest_real_balls,
        value=_beta_recall,
        of_blocks="each block",
        fewest=(2, 2),
    ),
    _share(
        "authenticity",
        sentence="share of generated farther from real than real from itself",
        default_k=None,
        needs=_nearest_real_balls,
        value=lambda pair, k: float((~pair.in_nearest("generated", 1)).mean()),
        of_blocks="each block",
        fewest=(2, 2),
    ),
    Metric(  # Heusel et al. 2017
        name="frechet_distance",
        sentence="what means and covariances tell apart",
        unit="distance",
        bounds=(0.0, math.inf),
        default_k=None,
        needs=lambda k: None,
        value=lambda pair, k: distance_of_samples(pair.session, *pair.sets),
        of_blocks="each block",
        variance="pairs",
        expected=None,
        fewest=(2, 2),
    ),
    Metric(  # Bińkowski et al. 2018
        name="kernel_distance",
        sentence="what a cubic kernel tells apart",
        unit="distance",
        bounds=(-math.inf, math.inf),
        default_k=None,
        needs=lambda k: None,
        value=_kernel,
        of_blocks=kernel_distances_of_blocks,
        variance="pairs",
        expected=lambda n, m, k: 0.0,
        fewest=(2, 2),
        refuses=_overflows_cubed,
    ),
)  # fmt: skip

METRICS: dict[str, Metric] = {metric.name: metric for metric in _IN_ORDER}
DEFAULT_SCORES = (
    "precision",
    "recall",
    "density",
    "coverage",
    "precision_cover",
    "recall_cover",
)
DISTANCES = tuple(name for name, metric in METRICS.items() if metric.unit == "distance")


def _by_name(name: str) -> Metric:
    return METRICS[name]


def _pickled(metric: Metric) -> Any:
    """A score of this list goes by its name: functions that have none cannot be pickled."""
    if METRICS.get(metric.name) is metric:
        return _by_name, (metric.name,)
    return object.__reduce_ex__(metric, 2)


copyreg.pickle(Metric, _pickled)
