"""What is wrong with a model, in words."""

from collections.abc import Sequence

from precall.curves.pr_curve import PRCurve, PrecisionRecall
from precall.findings.modes import Mode
from precall.findings.samples import Extreme, Extremes

_CLEAR = 0.02  # share of mass below which nothing is said to be missing
_WIDE = 0.1
_HIGH, _LOW = 0.9, 0.8  # precision and recall
_WEIGHT = 8.0  # of F_8 and F_{1/8}
_TINY = 1e-12
_MOST_MODES = 8
_MOST_ROWS = 5


def diagnose(
    curve: PRCurve | None,
    halves: Sequence[float | None],
    modes: Sequence[Mode],
    extremes: Extremes,
    sizes: tuple[int, int],
) -> list[str]:
    """Return sentences: what is invented, what is dropped, what is re-weighted, and which modes.

    Read off the best curve at F_{1/8}, F_8, whose intervals have half the widths ``halves``, and
    the PR median (Sykes et al. 2024 §5.1): never at the extremes α_∞ and β_0, which a single
    outlier can move to 1; see :func:`corner`.
    """
    if curve is None:
        return ["A diagnosis needs curves, and a split to judge them by.", *_modes(modes)]
    precision, recall = corner(curve)
    sentences = [
        _overall(precision, recall, curve.f_score(1)),
        _mass("generated is unlike anything real", 1 - precision, halves[0]),
        _mass("real is never generated", 1 - recall, halves[1]),
        _reweighting(curve, precision, recall),
        *_modes(modes),
        *_rows("least realistic generated", extremes.worst_generated),
        *_rows("least covered real", extremes.least_covered_real),
    ]
    if max(half or 0.0 for half in halves) > _WIDE:
        known = f"{sizes[0]} real and {sizes[1]} generated samples"
        sentences.append(f"With {known} all of this is uncertain; take more.")
    return sentences


def corner(curve: PRCurve) -> PrecisionRecall:
    """Return the corner of the rectangle that has the curve's F_{1/8} and F_8.

    Where modes are only dropped or invented the curve is that rectangle, and these are the shares
    of mass that are not. F-scores alone mix the two: F_{1/8} of a perfectly precise model that
    covers a quarter is .956.
    """
    b2 = _WEIGHT**-2
    u, v = ((1 + b2) / max(curve.f_score(b), _TINY) for b in (1 / _WEIGHT, _WEIGHT))
    # u = 1/precision + b²/recall and v = b²/precision + 1/recall
    inverses = (u - b2 * v) / (1 - b2**2), (v - b2 * u) / (1 - b2**2)
    return PrecisionRecall(*(1 / max(inverse, 1.0) for inverse in inverses))


def _overall(precision: float, recall: float, overlap: float) -> str:
    """The quadrant of the tutorial."""
    if min(precision, recall) >= _HIGH:
        if overlap >= _HIGH:
            return "The two distributions are hard to tell apart."
        return (
            "High precision and recall, but in the wrong proportions: some is over-produced, some "
            "under-produced."
        )
    words = f"{_word(precision).capitalize()} precision, {_word(recall)} recall"
    invented = "much is unrealistic" if precision < _LOW else "some of it is unrealistic"
    missing = f"{'part' if recall < _LOW else 'a little'} of the data is missing"
    if precision >= _HIGH:
        return f"{words}: realistic, but {missing}."
    if recall >= _HIGH:
        return f"{words}: everything is covered, but {invented}."
    return f"{words}: {invented}, and {missing}."


def _word(share: float) -> str:
    return "high" if share >= _HIGH else "low" if share < _LOW else "fair"


def _mass(what: str, share: float, half: float | None) -> str:
    spread = "" if half is None else f" ± {100 * half:.1f}"
    if share < max(_CLEAR, half or 0.0):
        return f"No clear sign that part of {what} ({100 * share:.1f}{spread} %)."
    return f"About {100 * share:.1f}{spread} % of {what}."


def _reweighting(curve: PRCurve, precision: float, recall: float) -> str:
    """What total variation is left after dropped and invented mass."""
    median = curve.median()
    moved = curve.total_variation - max(1 - precision, 1 - recall)
    if moved < 0.05:
        return "Little is re-weighted beyond that."
    return (
        f"Beyond that about {100 * moved:.0f} % of the mass is in the wrong proportion (PR median: "
        f"precision {median.precision:.2f}, recall {median.recall:.2f})."
    )


def _modes(modes: Sequence[Mode]) -> list[str]:
    different = [mode for mode in modes if mode.finding != "as it should be"]
    if not different and modes:
        return [f"None of {len(modes)} modes is produced too often or too rarely."]
    sentences = [
        f"A mode with {_share(mode.real_mass, mode.real_interval)} of real and "
        f"{_share(mode.generated_mass, mode.generated_interval)} of generated is {mode.finding}."
        for mode in different[:_MOST_MODES]
    ]
    if len(different) > _MOST_MODES:
        n_left = len(different) - _MOST_MODES
        sentences.append(f"So are {n_left} smaller modes, one way or another.")
    if any(mode.finding == "dropped" for mode in different):
        sentences.append("Where a mode is dropped the others must be produced more often.")
    return sentences


def _rows(what: str, samples: Sequence[Extreme]) -> list[str]:
    listed = ", ".join(str(sample.row) for sample in samples[:_MOST_ROWS])
    return [f"Look at the {what} samples: rows {listed}."] if samples else []


def _share(mass: float, interval: tuple[float, float]) -> str:
    return f"{100 * mass:.1f} % ({100 * interval[0]:.1f} – {100 * interval[1]:.1f})"
