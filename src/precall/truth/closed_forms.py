"""Closed forms: what scores are expected to be where P = Q, and how many samples they want.

For continuous distributions. n is the number of real samples, m that of generated ones.
"""

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from precall.errors import InputError
from precall.truth import Distribution

__all__ = [
    "CoverGuarantee",
    "clipped_calibration",
    "cover_guarantee",
    "expected_clipped_coverage",
    "expected_cover",
    "expected_coverage",
    "expected_density",
    "fixed_k_risk",
    "smallest_k_for_coverage",
]

_MOST = 2**53


def _check_counts(**values: int) -> None:
    for name, value in values.items():
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_integer or not 1 <= value < _MOST:
            raise InputError(f"{name} must be a positive integer below {_MOST}; got {value!r}.")


def _check_between(name: str, value: float, low: float, high: float) -> None:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not low < value < high:
        raise InputError(f"{name} must be a number between {low:g} and {high:g}; got {value!r}.")


def _check_neighbors(k: int, n: int, name: str) -> None:
    if k >= n:
        raise InputError(f"{name}={k} needs at least {k + 1} samples; got {n}.")


def expected_coverage(n: int, m: int, k: int) -> float:
    """E[coverage] = 1 − ∏_{i=1..k} (n−i)/(n+m−i) where P = Q (Naeem et al. 2020, Lemma 2).

    Of the other samples of a real one, the k nearest must not all be real before one generated.
    The mirror, ``precision_coverage``, has n and m exchanged.

    Examples
    --------
    >>> round(expected_coverage(10_000, 10_000, 5), 4)
    0.9688
    """
    _check_counts(n=n, m=m, k=k)
    _check_neighbors(k, n, "k")
    return 1.0 - math.prod((n - i) / (n + m - i) for i in range(1, k + 1))


def expected_density(n: int, m: int, k: int) -> float:
    """E[density] = 1 where P = Q: each real ball holds a share k/n of the distribution.

    Examples
    --------
    >>> from precall.theory import expected_density
    >>> expected_density(1000, 500, k=5)
    1.0
    """
    _check_counts(n=n, m=m, k=k)
    _check_neighbors(k, n, "k")
    return 1.0


def expected_cover(n: int, m: int, k: int, k_prime: int) -> float:
    """E[precision_cover] = P(BetaBinomial(n; k′, m − k′) ≥ k) where P = Q.

    Cheema & Urner 2023, Definition 2.

    The mass of the k′-ball of a generated sample is Beta(k′, m − k′), and the number of real
    samples in it binomial. The mirror, ``recall_cover``, has n and m exchanged.

    Examples
    --------
    >>> round(expected_cover(1000, 1000, 3, 9), 4)
    0.9678
    """
    _check_counts(n=n, m=m, k=k, k_prime=k_prime)
    _check_neighbors(k_prime, m, "k_prime")
    return float(scipy.stats.betabinom(n, k_prime, m - k_prime).sf(k - 1))


def expected_clipped_coverage(n: int, good: np.ndarray, k: int) -> np.ndarray:
    """Expected uncalibrated clipped coverage where ``good`` of the generated are like the real.

    E[min(J, k)]/k with J ~ BetaBinomial(good; k, n − k), and 0 where good < k, as its authors have
    it (Salvy et al. 2025, Theorem 1).

    Examples
    --------
    >>> from precall.theory import expected_clipped_coverage
    >>> [round(float(x), 2) for x in expected_clipped_coverage(1000, [0, 500, 1000], k=5)]
    [0.0, 0.47, 0.75]
    """
    _check_counts(n=n, k=k)
    _check_neighbors(k, n, "k")
    good = np.atleast_1d(good)
    j = np.arange(k)[:, None]
    probabilities = scipy.stats.betabinom(np.maximum(good, 1), k, n - k).pmf(j)
    expected = 1.0 - ((k - j) * probabilities).sum(axis=0) / k
    return np.where(good < k, 0.0, expected)


@functools.lru_cache(maxsize=64)  # blocks of the samples are of few sizes
def clipped_calibration(n: int, m: int, k: int) -> np.ndarray:
    """Expected uncalibrated clipped coverage of 0 to m good samples, (m + 1,).

    Examples
    --------
    >>> from precall.theory import clipped_calibration
    >>> table = clipped_calibration(100, 100, 5)
    >>> len(table), float(table[0]), bool((table[1:] >= table[:-1]).all())
    (101, 0.0, True)
    """
    expected = expected_clipped_coverage(n, np.arange(m + 1), k)
    expected.flags.writeable = False
    return expected


def smallest_k_for_coverage(n: int, m: int, target: float = 0.95) -> int:
    """Smallest k whose expected coverage, where P = Q, is at least ``target``.

    Examples
    --------
    >>> smallest_k_for_coverage(10_000, 10_000, 0.95), smallest_k_for_coverage(10_000, 1000, 0.95)
    (5, 32)
    """
    _check_counts(n=n, m=m)
    _check_between("target", target, 0, 1)
    missed = 1.0
    for k in range(1, n):
        missed *= (n - k) / (n + m - k)
        if 1.0 - missed >= target:
            return k
    raise InputError(f"target={target} is reached by no k below n={n} with m={m}; lower target.")


@dataclass(frozen=True, slots=True)
class CoverGuarantee:
    """What makes Cheema & Urner 2023, Theorem 4 promise that all covered points are found.

    Examples
    --------
    >>> from precall.theory import cover_guarantee
    >>> needed = cover_guarantee(1000, 2, 0.5)
    >>> needed.n > 1_000_000, needed.k_prime > needed.k
    (True, True)
    """

    n: int  # samples of the covering distribution
    k: int
    k_prime: int
    feasible: bool  # whether a k′-th neighbour exists among m points at all


def cover_guarantee(
    m: int,
    d: int,
    omega: float,
    *,
    delta: float = 0.05,
    C: float = 3.0,  # noqa: N803 - the paper's letter
    form: Literal["appendix", "printed"] = "appendix",
) -> CoverGuarantee:
    """Sample size and k, k′ that Cheema & Urner 2023, Theorem 4 asks for.

    With probability 1 − 2δ, all of m points whose k′-ball has P/Q > ω are then found covered. Only
    the form of appendix A.2.2, n ≥ 72 m ln(8/δ)/(Cω) · ln(9m/(Cω)), implies step (5) of the proof;
    the theorem as printed lacks the factor m.

    Examples
    --------
    >>> cover_guarantee(10_000, 64, 0.5).feasible
    False
    """
    _check_counts(m=m, d=d)
    _check_between("omega", omega, 1e-100, 1e100)
    _check_between("delta", delta, 1e-100, 1.0)
    _check_between("C", C, 1.0, 1e100)
    if form not in ("appendix", "printed"):
        raise InputError(f"form must be 'appendix' or 'printed'; got {form!r}.")
    factor = m if form == "appendix" else 1
    ratio = max(9 * m / (C * omega), 1.0)
    n = 72 * factor * math.log(8 / delta) / (C * omega) * math.log(ratio)
    k = math.floor(9 * ((d + 1) * math.log(2 * m) + math.log(8 / delta))) + 1
    k_prime = math.ceil(C * k)
    return CoverGuarantee(max(1, math.ceil(n)), k, k_prime, k_prime < m)


def fixed_k_risk(
    p: Distribution,
    q: Distribution,
    k: int,
    trade_off: float = 1.0,
    *,
    n_per_m: float = 1.0,
    n_samples: int = 100_000,
    seed: int = 0,
) -> float:
    """α_λ that the kNN curve tends to as the samples grow and k stays.

    Sykes et al. 2024, Eq. 10–11, corrected: as printed, ties are counted in neither error.
    The neighbours of z are k independent draws, real with probability η = nP/(nP + mQ), so

    α_λ = min over j = 0…k+1 of λ·E_P[P(Bin(k, η) < j)] + E_Q[P(Bin(k, η) ≥ j)].

    The expectations are means over ``n_samples`` draws.

    Parameters
    ----------
    trade_off
        λ.
    n_per_m
        n/m, real samples to each generated one.

    Examples
    --------
    >>> from precall.distributions import Gaussian
    >>> fixed_k_risk(Gaussian([0.0]), Gaussian([0.0]), 4)
    1.0
    """
    _check_counts(k=k, n_samples=n_samples)
    if trade_off != 0:
        _check_between("trade_off", trade_off, 0, math.inf)
    _check_between("n_per_m", n_per_m, 0, math.inf)
    errors = []
    for distribution, rng in zip((p, q), np.random.default_rng(seed).spawn(2), strict=True):
        rows = distribution.draw(n_samples, rng)
        log_ratio = p.log_density(rows) - q.log_density(rows)
        with np.errstate(over="ignore"):
            eta = 1.0 / (1.0 + np.exp(-log_ratio) / n_per_m)
        errors.append([float(scipy.stats.binom.cdf(j - 1, k, eta).mean()) for j in range(k + 2)])
    below_p, below_q = np.array(errors)
    return float(np.min(trade_off * below_p + 1.0 - below_q))
