"""What is wrong with a model, in words, each of which stands for a number.

What is said to be outside of a support, and which modes are said to be dropped or invented, has
passed a test; everything else is an estimate, and is called by its name.
"""

from collections.abc import Mapping, Sequence

from precall.curves.pr_curve import PRCurve
from precall.findings.modes import Mode
from precall.findings.part_sentences import mode_sentences
from precall.findings.reasons import Reason, Reasons
from precall.findings.samples import Extreme, Extremes
from precall.scores import Score

_HIGH, _LOW = 0.9, 0.8  # support precision and recall at ½
_CLEAR = 0.05  # total variation
_MOST_ROWS = 5
_MOST_REASONS = 3


def diagnose(
    scores: Mapping[str, Score],
    reasons: Reasons,
    curve: PRCurve | None,
    modes: Sequence[Mode],
    extremes: Extremes,
    classes: Sequence[str] = (),
    *,
    name: str = "best",
    variation: tuple[float, float] | None = None,
) -> list[str]:
    """Return sentences: what is outside of which support, what is too rare, and which modes are.

    Parameters
    ----------
    scores
        Of which those of the headline are put in words.
    curve, name
        The best curve, for its total variation, and what it is called.
    classes
        What is said of classes, which comes first.
    variation
        The interval of its total variation, if there is one.
    """
    precision, missing = scores.get("support_precision"), scores.get("support_recall")
    at_half = scores.get("recall_at_half")
    sentences = []
    if precision is not None and at_half is not None:
        sentences.append(_overall(precision, at_half, curve))
    elif curve is not None:
        sentences.append("Without the headline nothing is said about supports.")
    else:
        sentences.append("A diagnosis needs the headline, or curves and a split to judge them by.")
    if precision is not None:
        sentences.append(_support("generated", "real", precision, reasons.generated))
    if missing is not None:
        sentences.append(_support("real", "generated", missing, reasons.real))
    if at_half is not None:
        sentences.append(
            f"Recall at ½ is {_with_spread(at_half)}: the share of real that is generated at least "
            "half as often as it should be, what is rarer counted in proportion."
        )
    if curve is not None:
        outside = any(score is not None and score.surely_outside for score in (precision, missing))
        told = _outside_and_reweighted if outside else _reweighting
        sentences.append(told(curve.total_variation, variation, name))
    return [
        *classes,
        *sentences,
        *mode_sentences(modes),
        *_rows("least realistic generated", extremes.worst_generated),
        *_rows("least covered real", extremes.least_covered_real),
    ]


def _overall(support: Score, at_half: Score, curve: PRCurve | None) -> str:
    """The quadrant of the tutorial; what no test or interval is sure of may be so."""
    precision, recall = support.value, at_half.value
    if min(precision, recall) >= _HIGH:
        if curve is None or 1 - curve.total_variation >= _HIGH:
            return "The two distributions are hard to tell apart."
        return (
            "High support precision and recall at ½, but in the wrong proportions: some is "
            "over-produced, some under-produced."
        )
    words = f"{_word(precision).capitalize()} support precision, {_word(recall)} recall at ½"
    is_outside = "is" if support.surely_outside else "may be"
    is_missing = "may be" if at_half.interval and at_half.interval[1] >= 1 else "is"
    invented = f"{'much' if precision < _LOW else 'some of it'} {is_outside} unrealistic"
    part = "part" if recall < _LOW else "a little"
    missing = f"{part} of the data {is_missing} missing or too rare"
    if precision >= _HIGH:
        return f"{words}: realistic, but {missing}."
    if recall >= _HIGH:
        return f"{words}: hardly anything is too rare, but {invented}."
    return f"{words}: {invented}, and {missing}."


def _word(share: float) -> str:
    return "high" if share >= _HIGH else "low" if share < _LOW else "fair"


def _support(whose: str, other: str, score: Score, reasons: Sequence[Reason]) -> str:
    """What is outside of a support, as far as a test is certain of it."""
    name = "precision" if other == "real" else "recall"
    known = f"support {name} {_with_spread(score)}"
    if not score.surely_outside:
        return f"No clear sign that {whose} leaves the support of {other} ({known})."
    least = f"{100 * score.surely_outside:.1f} %"
    listed = "; ".join(
        f"{reason.text} ({100 * reason.share:.1f} %: {_listed(reason.rows)})"
        for reason in reasons[:_MOST_REASONS]
    )
    held = f"{100 * (1 - (score.surely_epsilon or 0)):.1f} %"
    return (
        f"At least {least} of {whose} is outside of the support of {other}, by tests that at least "
        f"{held} of {other} pass ({known}): {listed}."
    )


def _listed(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, rows[:_MOST_ROWS]))
    return f"row{'s' * (len(rows) > 1)} {shown}{', …' * (len(rows) > _MOST_ROWS)}"


def _with_spread(score: Score) -> str:
    if score.interval is None:
        return f"{score.value:.3f}"
    low, high = score.interval
    return f"{score.value:.3f}, interval {low:.3f} – {high:.3f}"


def _outside_and_reweighted(moved: float, ends: tuple[float, float] | None, name: str) -> str:
    """Mass that is elsewhere, where some of it is outside of a support."""
    return (
        f"About {100 * moved:.0f} % of the mass is elsewhere: what is outside of a support and "
        f"what is re-weighted, together ({_variation(ends, name)})."
    )


def _variation(ends: tuple[float, float] | None, name: str) -> str:
    spread = "" if ends is None else f", interval {100 * ends[0]:.0f} – {100 * ends[1]:.0f} %"
    return f"total variation by the {name} curve{spread}"


def _reweighting(moved: float, ends: tuple[float, float] | None, name: str) -> str:
    """Mass that is in the wrong proportion, as far as no support is known to be left."""
    by = _variation(ends, name)
    if moved < _CLEAR:
        return f"Little is re-weighted: about {100 * moved:.0f} % of the mass ({by})."
    return f"About {100 * moved:.0f} % of the mass is re-weighted, missing mass included ({by})."


def _rows(what: str, samples: Sequence[Extreme]) -> list[str]:
    listed = ", ".join(str(sample.row) for sample in samples[:_MOST_ROWS])
    return [f"Look at the {what} samples: rows {listed}."] if samples else []
