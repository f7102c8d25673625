"""What a reader of the scores should know, in words: one sentence a matter."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from precall.neighbors.statistics import ROLES
from precall.results.tables import half_width as half_width_of
from precall.scores import HEADLINE, METRICS, Score, ScoreRequest

_LOOKED_FOR = 0.02  # differences of shares that people publish
_UNEQUAL = 3  # times as many samples of one side
_LOOKS_GOOD = 0.9
_FAR = 5  # standard errors
_DEPENDENCE = 1.7
_MOST_NAMED = 4


def score_caveats(
    scores: Mapping[str, Score],
    requests: Sequence[ScoreRequest],
    n: int,
    m: int,
    *,
    intervals: bool,
) -> list[str]:
    """Say what the numbers of samples do to scores and their intervals."""
    shares = {name: score for name, score in scores.items() if _is_share(name, score)}
    found = [_unequal(shares, n, m), _less_than_it_looks(shares, min(n, m))]
    if intervals:
        found += [_without_interval(requests, scores, min(n, m)), _wide(shares, min(n, m))]
    return [text for text in found if text]


def n_needed(n: int, width: float, wanted: float) -> int:
    """How many samples give a wanted width, where n give this one: variances fall like 1/n."""
    return math.ceil(n * (Fraction(width) / Fraction(wanted)) ** 2)  # beyond floats, for distances


def _is_share(name: str, score: Score) -> bool:
    """Whether differences of a score are differences of shares."""
    metric = METRICS.get(name.removesuffix(f"_k{score.k}"))
    return name in HEADLINE or (metric is not None and metric.unit == "share")


def _unequal(shares: Mapping[str, Score], n: int, m: int) -> str | None:
    """Very unequal numbers: what they alone make of a score."""
    if max(n, m) < _UNEQUAL * min(n, m):
        return None
    more, fewer = ("real", "generated") if n > m else ("generated", "real")
    known = {s: e for s, score in shares.items() if (e := score.expected_if_equal) is not None}
    lowest = min(known, key=known.__getitem__, default=None)
    example = f": even if P = Q, {lowest} would be {known[lowest]:.3f}" if lowest else ""
    return (
        f"{more} has {max(n, m)} samples, {fewer} only {min(n, m)}. Scores that count neighbours "
        f"depend on both numbers{example}. Compare only with results at the same numbers, or take "
        f"{min(n, m)} of each."
    )


def _less_than_it_looks(shares: Mapping[str, Score], n: int) -> str | None:
    """Scores near 1 that are far below what equal distributions reach."""
    far = {
        name: (score.value, expected)
        for name, score in shares.items()
        if name not in HEADLINE  # which are 1 if P = Q: nothing that a reader would not know
        and (expected := score.expected_if_equal) is not None
        and score.value >= _LOOKS_GOOD
        and expected - score.value > _FAR * _standard_error(score, expected, n)
    }
    if not far:
        return None
    named = ", ".join(
        f"{name} is {value:.3f} instead of {expected:.4g}"
        for name, (value, expected) in list(far.items())[:_MOST_NAMED]
    )
    more = f", and {len(far) - _MOST_NAMED} more" if len(far) > _MOST_NAMED else ""
    return (
        f"Close to 1, but clearly below what these numbers of samples give if P = Q: {named}{more}."
    )


def _standard_error(score: Score, expected: float, n: int) -> float:
    """From the interval, if there is one, and no less than that of n samples, one of them missed.

    Neighbours share samples: at P = Q covers vary up to 1.7 times as much as independent samples
    would (d = 3, n = m = 400; less in more dimensions and with more samples).
    """
    alone = math.sqrt(max(expected * (1 - expected), 1 / n) / n)
    return max(_DEPENDENCE * alone, (half_width_of(score) or 0.0) / 2)


def _without_interval(
    requests: Iterable[ScoreRequest], scores: Mapping[str, Score], n: int
) -> str | None:
    """Scores that quarters of the samples are too few for."""
    needed = {r.name: 4 * (_n_in_a_quarter(r) + 1) for r in requests}
    short = [name for name, least in needed.items() if n < least and scores[name].interval is None]
    if not short:
        return None
    more = f" and {len(short) - _MOST_NAMED} more" if len(short) > _MOST_NAMED else ""
    return (
        f"No interval of {', '.join(short[:_MOST_NAMED])}{more}: intervals come from quarters of "
        f"the samples, and a quarter of {n} is too few for their neighbours; "
        f"{max(needed[name] for name in short)} samples of each class are needed."
    )


def _n_in_a_quarter(request: ScoreRequest) -> int:
    """Samples that a quarter must exceed."""
    if request.metric.of_blocks == "one sweep" and (plan := request.needs) is not None:
        return max(plan.every_k) + 1
    return max(request.n_needed(role) for role in ROLES)


def _wide(shares: Mapping[str, Score], n: int) -> str | None:
    """Shares that are less certain than the differences that people look for."""
    widths = {name: half_width_of(score) for name, score in shares.items()}
    wide = {name: width for name, width in widths.items() if width and width > _LOOKED_FOR}
    if not wide:
        return None
    widest = max(wide, key=lambda name: wide[name])
    needed = _rounded(n_needed(n, wide[widest], _LOOKED_FOR))
    return (
        f"{len(wide)} of {len(shares)} shares are known to no more than ± {100 * _LOOKED_FOR:.0f} "
        f"percentage points (widest: {widest}, ± {100 * wide[widest]:.1f}); that takes about "
        f"{needed} samples of each class."
    )


def _rounded(n: int) -> int:
    """Two digits are all that is known of a number of samples."""
    unit = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // unit) * unit
