"""gate(): whether a model got worse than is allowed, more than chance explains."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from precall.curves.summaries import CURVE_SUMMARIES
from precall.errors import InputError
from precall.monitoring.comparable import why_not_comparable
from precall.monitoring.stored_differences import Measured, interval_of_difference
from precall.results.evaluation import Evaluation
from precall.results.flat_numbers import FlatNumber, compared_summary, flat_numbers
from precall.results.tables import Table, decimals, interval

_CONFIDENCE = 0.95
_MOST_NAMED = 12
_WITH_ENDS = [key for key, summary in CURVE_SUMMARIES.items() if summary.has_interval]


@dataclass(frozen=True, slots=True)
class Check:
    """One number, and by how much it got worse."""

    what: str  # flat name of the number
    baseline: float
    value: float
    is_distance: bool  # whether more is worse
    allowed: float  # by how much it may get worse
    least: float  # by how much it surely got worse, with all checks of the gate at once
    most: float  # by how much it may have

    @property
    def worse_by(self) -> float:
        """By how much it got worse, as measured; negative if it got better."""
        return self.value - self.baseline if self.is_distance else self.baseline - self.value

    @property
    def fails(self) -> bool:
        """Whether it got worse by more than is allowed, clear of chance."""
        return self.least > self.allowed

    def __str__(self) -> str:
        verb, other = ("rose", "fell") if self.is_distance else ("fell", "rose")
        change = self.worse_by
        moved = (
            f"{self.what} {verb if change >= 0 else other} by {decimals(abs(change))}, from "
            f"{decimals(self.baseline)} to {decimals(self.value)}"
        )
        allowed = f"the {decimals(self.allowed)} that is allowed"
        if self.fails:
            return f"{moved}: surely by {decimals(self.least)}, more than {allowed}."
        if self.most <= 0:
            return f"{moved}: surely not worse."
        return f"{moved}: not surely worse by more than {allowed} (at most {decimals(self.most)})."


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of :func:`precall.gate`.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, before, after = rng.normal(size=(3, 600, 4))
    >>> how = {"estimators": (), "scores": ["coverage"], "intervals": True}
    >>> baseline = precall.evaluate(real, before, **how)
    >>> result = precall.evaluate(real, after, **how)
    >>> found = precall.gate(result, baseline, max_drop={"coverage": 0.02})
    >>> found.passed, len(found.checks)
    (True, 1)
    """

    checks: tuple[Check, ...]
    confidence: float  # of all checks at once

    @property
    def passed(self) -> bool:
        """Whether no check fails."""
        return not any(check.fails for check in self.checks)

    @property
    def title(self) -> str:
        """The verdict in one sentence."""
        n_failed = sum(check.fails for check in self.checks)
        if not n_failed:
            return "passed: nothing is worse by more than is allowed and chance explains."
        whole = f"{n_failed} of {len(self.checks)} numbers" if len(self.checks) > 1 else "a number"
        verb = "is" if n_failed == 1 else "are"
        return f"failed: {whole} {verb} worse by more than is allowed and chance explains."

    def table(self) -> Table:
        """One row a check."""
        rows = [
            [
                check.what,
                decimals(check.baseline),
                decimals(check.value),
                decimals(check.worse_by),
                interval((check.least, check.most)),
                decimals(check.allowed),
                "failed" if check.fails else "passed",
            ]
            for check in self.checks
        ]
        headings = ["number", "baseline", "now", "worse by", "surely – at most", "allowed", ""]
        return Table("What may not get worse", headings, rows)

    def to_markdown(self) -> str:
        """Return the verdict and a table of all checks."""
        return f"**precall gate {self.title}**\n\n{self.table().to_markdown()}\n{self._note}\n"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"- {check}" for check in self.checks), self._note])

    @property
    def _note(self) -> str:
        together = " together" if len(self.checks) > 1 else ""
        return (
            f"If nothing got worse by more than is allowed, all checks{together} pass with at "
            f"least {100 * self.confidence:.4g} % probability."
        )


def gate(
    result: Evaluation,
    baseline: Evaluation,
    *,
    max_drop: Mapping[str, float] | None = None,
    max_rise: Mapping[str, float] | None = None,
    confidence: float = _CONFIDENCE,
) -> Gate:
    """Find out whether a model is worse than another by more than is allowed, clear of chance.

    Both were evaluated against the same real samples, in the same way and with intervals. Each of
    the numbers gets an equal part of the error (Bonferroni), and the interval of its difference is
    taken from those of both results (Zou & Donner 2008).

    Parameters
    ----------
    result, baseline
        Of the model that is judged, and of the one that it must not fall behind.
    max_drop
        By how much numbers may fall, by their names in :meth:`precall.Evaluation.to_flat_dict`:
        ``{"recall": 0.02, "knn_curve_area": 0.05}``; ``"area"``, ``"f_1"`` and so on stand for
        those of the curve that models are compared by.
    max_rise
        Likewise of numbers that are better the lower they are, such as ``"frechet_distance"``.
    confidence
        The chance that a model passes that is worse in nothing by more than is allowed, at least.

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, before, after = rng.normal(size=(3, 1000, 4))
    >>> after[:, 0] = abs(after[:, 0])  # drops half of the data
    >>> options = {"estimators": (), "scores": ["recall"], "intervals": True}
    >>> baseline = precall.evaluate(real, before, **options)
    >>> found = precall.gate(
    ...     precall.evaluate(real, after, **options), baseline, max_drop={"recall": 0.02}
    ... )
    >>> found.passed
    False
    >>> print(found.checks[0])
    recall fell by 0.384, from 0.951 to 0.567: surely by 0.352, more than the 0.020 that is
    allowed.
    """
    if not isinstance(confidence, float) or not 0.5 <= confidence < 1:
        raise InputError(f"confidence must lie between 0.5 and 1; got {confidence!r}.")
    wanted = [(name, allowed, False) for name, allowed in (max_drop or {}).items()]
    wanted += [(name, allowed, True) for name, allowed in (max_rise or {}).items()]
    if not wanted:
        raise InputError(
            "a gate needs at least one number that may not get worse, such as "
            "max_drop={'recall': 0.02}."
        )
    each = 1 - 2 * (1 - confidence) / len(wanted)  # one-sided
    checks = [_checked(result, baseline, *one, confidence=each) for one in wanted]
    names = [check.what for check in checks]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{twice[0]} is named twice.")
    return Gate(tuple(checks), confidence)


def _checked(
    result: Evaluation,
    baseline: Evaluation,
    given: str,
    allowed: float,
    is_rise: bool,
    *,
    confidence: float,
) -> Check:
    if not isinstance(allowed, int | float) or not 0 <= allowed < math.inf:
        raise InputError(f"{given} may get worse by a number of at least 0; got {allowed!r}.")
    name = _full_name(given, baseline)
    then, now = (
        _found(name, of, role) for of, role in ((baseline, "baseline"), (result, "result"))
    )
    if now.is_distance != is_rise:
        better, option = ("lower", "max_rise") if now.is_distance else ("higher", "max_drop")
        raise InputError(f"{name} is better the {better} it is: use {option}.")
    _check_comparable(name, (result, now), (baseline, then))
    ours = Measured.of(now, result.confidence or _CONFIDENCE)
    theirs = Measured.of(then, baseline.confidence or _CONFIDENCE)
    worse = (ours, theirs) if is_rise else (theirs, ours)
    least, most = interval_of_difference(*worse, confidence)
    return Check(name, theirs.value, ours.value, is_rise, float(allowed), least, most)


def _full_name(given: str, baseline: Evaluation) -> str:
    """Return the flat name of what a caller named: a summary may stand without its curve."""
    if given in baseline.scores or given not in CURVE_SUMMARIES:
        return given
    return compared_summary(baseline, given) or given


def _found(name: str, result: Evaluation, role: str) -> FlatNumber:
    numbers = flat_numbers(result)
    if name not in numbers:
        known = [known for known, number in numbers.items() if number.interval is not None]
        raise InputError(f"the {role} has no {name}{_among(known)}.")
    number = numbers[name]
    if number.curve is not None and name.removeprefix(f"{number.curve}_curve_") not in _WITH_ENDS:
        raise InputError(f"{name} never has an interval; choose from {', '.join(_WITH_ENDS)}.")
    if number.interval is None or not math.isfinite(number.value):
        raise InputError(
            f"the {role} has no interval of {name}, so that chance cannot be told from a "
            "difference. Evaluate with intervals=True (--intervals), and enough samples."
        )
    return number


def _among(known: Sequence[str]) -> str:
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"; choose from {', '.join(known[:_MOST_NAMED])}{more}" if known else ""


def _check_comparable(
    name: str, ours: tuple[Evaluation, FlatNumber], theirs: tuple[Evaluation, FlatNumber]
) -> None:
    (result, now), (baseline, then) = ours, theirs
    reason = why_not_comparable(result, baseline, of_curve=now.curve is not None)
    if reason is None and now.k != then.k:
        reason = f"its k differs ({now.k} and {then.k})"
    if reason is None and now.curve is not None:
        made = [_estimators(of, now.curve) for of in (result, baseline)]
        if made[0] != made[1]:
            reason = f"its curve is another one ({made[0]} and {made[1]})"
    if reason is not None:
        raise InputError(
            f"{name} of the result cannot be compared with that of the baseline: {reason}."
        )


def _estimators(result: Evaluation, curve: str) -> str:
    """Write what makes a curve; the best is made of all."""
    known = result.protocol.estimators
    return known[curve] if curve in known else ", ".join(known.values())
