"""Mixtures of labelled clusters, whose expected curves are rectangles (Simon et al. 2019 §6)."""

import functools

import numpy as np

from precall.curves.pr_curve import Curve
from precall.truth import Gaussian, Mixture, true_curve

FIRST, SHARED, HALF = "first classes", "shared classes", "one half"
N_MANY = 80  # Figure 3: classes of each side
FEMALE = 0.6  # Figure 4


@functools.cache
def _classes(n_classes: int, n_features: int, spread: float) -> tuple[Gaussian, ...]:
    """Return unit Gaussians around random centres, the same at every call."""
    centers = np.random.default_rng(0).normal(0, spread, (n_classes, n_features))
    return tuple(Gaussian(center) for center in centers)


def _mixture_of(classes: tuple[Gaussian, ...], first: int, n: int) -> Mixture:
    """Return n classes of equal weight, from a first one on."""
    chosen = np.arange(len(classes))
    return Mixture(classes, ((chosen >= first) & (chosen < first + n)).astype(float))


def labelled_pair(part: str, value: float) -> tuple[Mixture, Mixture]:
    """Return real and generated.

    Parameters
    ----------
    part
        ``FIRST``: real has five classes, generated the first of ten (Figure 2); ``SHARED``: both
        have 80 (Figure 3); ``HALF``: real has two halves, generated one of them (Figure 4).
    value
        Number of generated classes, share of classes in common, or share of the first half.
    """
    if part == FIRST:
        classes = _classes(10, 64, 1.0)
        return _mixture_of(classes, 0, 5), _mixture_of(classes, 0, round(value))
    if part == SHARED:
        classes = _classes(2 * N_MANY, 256, 4.0)
        first = N_MANY - round(value * N_MANY)
        return _mixture_of(classes, 0, N_MANY), _mixture_of(classes, first, N_MANY)
    # Two halves that differ in one feature, while eight others vary more: clusters follow these.
    deviations = np.ones(64)
    deviations[1:9] = 4.0
    centers = np.zeros((2, 64))
    centers[1, 0] = 6.0
    halves = tuple(Gaussian(center, deviations**2) for center in centers)
    return Mixture(halves, np.array([value, 1 - value])), Mixture(halves, np.array([1.0, 0.0]))


@functools.cache
def rectangle(part: str, value: float) -> Curve:
    """Return the expected rectangle (§6)."""
    return true_curve(*labelled_pair(part, value), labelled=True)
