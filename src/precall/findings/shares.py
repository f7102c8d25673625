"""Shares of real and of generated samples that belong to something, and whether they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Finding = Literal["as it should be", "dropped", "invented", "under-produced", "over-produced"]
Interval = tuple[float, float]

_GONE = 0.1  # of q/p: below it a part is dropped, above its inverse invented


@dataclass(frozen=True, slots=True)
class SharesCompared:
    """How much of real and of generated is in one part of several."""

    real: float
    generated: float
    real_interval: Interval
    generated_interval: Interval
    finding: Finding
    p_value: float  # of equal shares, by Fisher's exact test, corrected for the number of parts


def compare_shares(
    counts: Sequence[tuple[int, int]], n: int, m: int, level: float
) -> list[SharesCompared]:
    """Compare the shares of every part, of which n real and m generated samples have so many each.

    The chance to find anything in equal distributions is at most ``level``, over all parts
    together (Fisher's exact tests, corrected by Holm 1979).
    """
    from scipy.stats import fisher_exact

    p_values = holm([float(fisher_exact([[a, n - a], [b, m - b]])[1]) for a, b in counts])
    return [
        SharesCompared(
            a / n,
            b / m,
            clopper_pearson(a, n, level),
            clopper_pearson(b, m, level),
            _finding(a, b, n, m, level / len(counts)) if p <= level else "as it should be",
            p,
        )
        for (a, b), p in zip(counts, p_values, strict=True)
    ]


def _finding(a: int, b: int, n: int, m: int, level: float) -> Finding:
    """Name what is wrong with a of n and b of m, by bounds on q/p: of a + b, b is binomial."""
    bounds = clopper_pearson(b, a + b, level)
    low, high = (np.inf if share == 1 else share / (1 - share) * n / m for share in bounds)
    if high < _GONE:
        return "dropped"
    if low > 1 / _GONE:
        return "invented"
    return "under-produced" if b / m < a / n else "over-produced"


def clopper_pearson(successes: int, trials: int, level: float) -> Interval:
    """Return the exact interval of a share (Clopper & Pearson 1934)."""
    from scipy.stats import beta

    if trials == 0:
        return 0.0, 1.0
    low = 0.0 if successes == 0 else float(beta.ppf(level / 2, successes, trials - successes + 1))
    if successes == trials:
        return low, 1.0
    return low, float(beta.ppf(1 - level / 2, successes + 1, trials - successes))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    out = np.empty(len(order))
    out[order] = np.minimum(np.maximum.accumulate(corrected), 1.0)
    return [float(p) for p in out]
