"""The f-divergences that a precision–recall curve determines (Siry et al. 2023).

A curve's hull is a polygon whose edges are the levels of the likelihood ratio: edge i carries the
mass p_i of real and q_i of generated, and D_f(P‖Q) = Σ q_i f(p_i / q_i), with q_i f(0) where
p_i = 0 and p_i f′(∞) where q_i = 0.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Masses = NDArray[np.float64]  # (n_edges,) non-negative, summing to 1


def jensen_shannon(p: Masses, q: Masses) -> float:
    """½ KL(P‖M) + ½ KL(Q‖M) with M the mean of both, in nats."""
    mean = (p + q) / 2
    return max(0.0, (kl(p, mean) + kl(q, mean)) / 2)


def hellinger(p: Masses, q: Masses) -> float:
    """√(1 − Σ √(p·q))."""
    return math.sqrt(max(0.0, 1.0 - math.fsum(np.sqrt(p * q))))


def kl(p: Masses, q: Masses) -> float:
    """Σ p ln(p/q); infinite where real has mass and generated has none."""
    return _sum(lambda p, q: p * np.log(p / q), p, q)


def chi2(p: Masses, q: Masses) -> float:
    """Σ p²/q − 1; infinite where real has mass and generated has none."""
    return max(0.0, _sum(lambda p, q: p**2 / q, p, q) - 1.0)


def _sum(term: Callable[[Masses, Masses], Masses], p: Masses, q: Masses) -> float:
    carried = p > 0
    if (q[carried] == 0).any():
        return math.inf
    return max(0.0, math.fsum(term(p[carried], q[carried])))
