"""How two models differ, as far as that is clear of chance, and what may be said about it.

All differences of a comparison are looked at together, so that what is called clear must be clear
among them all: intervals and bands hold at once, all with the confidence of the comparison.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from precall.results.tables import shown_trade_off
from precall.scores import HEADLINE
from precall.uncertainty.simultaneous import BandOfDifference

_MOST_NAMED = 3

Naming = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of one model less that of another.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, a, b = np.random.default_rng(0).normal(size=(3, 600, 4))
    >>> found = precall.compare(real, {"a": a, "b": b + 1}, estimators=(), scores=["coverage"])
    >>> (difference,) = found.differences
    >>> difference.first, difference.second, difference.value > 0, difference.is_clear
    ('a', 'b', True, True)
    """

    what: str  # the score, or the curve and its summary
    first: str  # model
    second: str  # model
    value: float
    interval: tuple[float, float] | None  # with all others of the comparison; None if there is none

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]

    @property
    def clarity(self) -> float:
        """The value in units of how far its interval reaches towards 0; clear from 1 on."""
        if self.interval is None or self.value == 0:
            return 0.0
        low, high = self.interval
        towards = self.value - low if self.value > 0 else high - self.value
        return abs(self.value) / towards if towards > 0 else float("inf")


@dataclass(frozen=True, slots=True)
class CurveDifference:
    """One curve of one model less that of another, trade-off by trade-off.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, a, b = np.random.default_rng(0).normal(size=(3, 600, 4))
    >>> found = precall.compare(real, {"a": a, "b": b + 1}, estimators=["knn"], scores=())
    >>> (difference,) = found.curve_differences
    >>> difference.curve, difference.dominance  # a is clearly better somewhere, and worse nowhere
    ('knn', ('a', 'b'))
    """

    curve: str
    first: str  # model
    second: str  # model
    band: BandOfDifference

    @property
    def dominance(self) -> tuple[str, str] | None:
        """Which model is clearly better somewhere and clearly worse nowhere, and than which."""
        if bool(self.band.better) == bool(self.band.worse):
            return None
        pair = self.first, self.second
        return pair if self.band.better else pair[::-1]


def most_telling(differences: Sequence[Difference]) -> list[Difference]:
    """Return the clear ones: those of the headline, then the clearest of the others."""
    clear = [difference for difference in differences if difference.is_clear]
    first = [difference for difference in clear if difference.what in HEADLINE]
    others = [difference for difference in clear if difference.what not in HEADLINE]
    return first + sorted(others, key=lambda difference: -difference.clarity)


def sentence_of_pair(differences: Sequence[Difference], naming: Naming) -> str:
    """Name the few differences of two models that tell most, and count the others."""
    pair = differences[0]
    n_known = sum(difference.interval is not None for difference in differences)
    clear = most_telling(differences)
    if not clear:
        return f"{pair.first} and {pair.second}: none of {n_known} differences is clear of chance."
    named = [_written(difference, naming) for difference in clear[:_MOST_NAMED]]
    more = f"{len(clear)} of {n_known} differences are clear of chance"
    rest = f"; {more}" if len(clear) > _MOST_NAMED else ""
    return f"{pair.first} less {pair.second}: {', '.join(named)}{rest}."


def _written(difference: Difference, naming: Naming) -> str:
    low, high = difference.interval or (difference.value, difference.value)
    ends = f"({low:+.3f} to {high:+.3f})"
    return f"{naming(difference.what)} {difference.value:+.3f} {ends}"


def sentence_of_curves(difference: CurveDifference, naming: Naming) -> str | None:
    """Say where one curve is above another, if it is anywhere."""
    band, curve = difference.band, naming(difference.curve)
    if (dominance := difference.dominance) is not None:
        better, worse = dominance
        where = _range(band.better or band.worse)
        return (
            f"{better} dominates {worse}: its {curve} curve is clearly higher {where}, and "
            "clearly lower nowhere."
        )
    if band.better:
        return (
            f"{difference.first} is better than {difference.second} {_range(band.better)} and "
            f"worse {_range(band.worse)}, by the {curve} curve."
        )
    return None


def _range(trade_offs: Sequence[float]) -> str:
    least, most = (shown_trade_off(lam, digits=2) for lam in (min(trade_offs), max(trade_offs)))
    return f"at λ = {least}" if least == most else f"at λ from {least} to {most}"
