"""The true precision–recall curve of two known distributions."""

import itertools
import math

import numpy as np

from precall.curves.analytic import GaussianShiftCurve
from precall.curves.error_rates import ErrorRates
from precall.curves.pr_curve import Curve, PRCurve
from precall.errors import InputError, check_integer
from precall.estimators.likelihood import Likelihood
from precall.truth.families import Distribution, Gaussian, Mixture, UniformBox


def true_curve(
    p: Distribution,
    q: Distribution,
    *,
    labelled: bool = False,
    n_samples: int = 100_000,
    seed: int = 0,
) -> Curve:
    """Return the curve of ``p`` (real) against ``q`` (generated).

    In closed form for two Gaussians with equal covariance, exact for two boxes and for mixtures
    whose components are either shared or apart. Otherwise a Monte Carlo estimate: the likelihood
    ratio classifier (Simon et al. 2019, Theorem 4) judges ``n_samples`` draws of each distribution,
    which puts α_λ within about (λ + 1)·√(1/n_samples) of the truth.

    Parameters
    ----------
    p, q
        Distributions of one dimension.
    labelled
        Take two mixtures as if every sample came with the name of its component: the curve of their
        weights, as on labelled data (Simon et al. 2019 §6).
    n_samples, seed
        Of the Monte Carlo estimate.

    Examples
    --------
    >>> from precall.distributions import UniformBox
    >>> curve = true_curve(UniformBox([0, 0], [10, 10]), UniformBox([6, 6], [16, 16]))
    >>> round(curve.max_precision, 4), round(curve.max_recall, 4)
    (0.16, 0.16)
    """
    if not (isinstance(p, Distribution) and isinstance(q, Distribution)):
        raise InputError(f"p and q must be distributions; got {p!r} and {q!r}.")
    if p.n_features != q.n_features:
        raise InputError(
            f"p and q must have the same number of features; got {p.n_features} and {q.n_features}."
        )
    if labelled:
        if not (isinstance(p, Mixture) and isinstance(q, Mixture)):
            raise InputError("labelled=True needs p and q to be mixtures.")
        return _curve_of_weights(p, q)
    if isinstance(p, Gaussian) and isinstance(q, Gaussian) and _same_covariance(p, q):
        shift = float(np.linalg.norm(p.whiten((p.mean - q.mean)[None, :])))
        return GaussianShiftCurve(shift) if shift > 0 else PRCurve.from_histograms([1], [1])
    if isinstance(p, UniformBox) and isinstance(q, UniformBox):
        return _curve_of_boxes(p, q)
    mixtures = [d if isinstance(d, Mixture) else Mixture((d,)) for d in (p, q)]
    if all(_apart(a, b) for a, b in itertools.combinations(_distinct(*mixtures), 2)):
        return _curve_of_weights(*mixtures)
    check_integer("n_samples", n_samples, 1)
    streams = np.random.default_rng(seed).spawn(2)
    samples = [d.draw(n_samples, rng) for d, rng in zip((p, q), streams, strict=True)]
    return PRCurve.of(ErrorRates.of(Likelihood(p, q).weigh(*samples)))


def _same_covariance(p: Gaussian, q: Gaussian) -> bool:
    if p.covariance.ndim < 2 and q.covariance.ndim < 2:
        return bool((p.covariance == q.covariance).all())
    return np.array_equal(p.covariance_matrix(), q.covariance_matrix())


def _curve_of_boxes(p: UniformBox, q: UniformBox) -> PRCurve:
    """Each density is constant, so only the share of each box inside the other matters."""
    sides = np.minimum(p.high, q.high) - np.maximum(p.low, q.low)
    if (sides <= 0).any():
        return PRCurve.from_histograms([1, 0], [0, 1])
    shared_p, shared_q = (math.prod(sides / (box.high - box.low)) for box in (p, q))
    return PRCurve.from_histograms([shared_p, 1 - shared_p, 0], [shared_q, 0, 1 - shared_q])


def _distinct(*mixtures: Mixture) -> list[Distribution]:
    """Components that some mixture carries, each once."""
    distinct: list[Distribution] = []
    for component in (c for mixture in mixtures for c, _ in mixture.carried()):
        if not any(component.same_as(known) for known in distinct):
            distinct.append(component)
    return distinct


def _apart(a: Distribution, b: Distribution) -> bool:
    bounds_a, bounds_b = a.bounds(), b.bounds()
    if bounds_a is None or bounds_b is None:
        return False
    (low_a, high_a), (low_b, high_b) = bounds_a, bounds_b
    return bool(((high_a <= low_b) | (high_b <= low_a)).any())


def _curve_of_weights(p: Mixture, q: Mixture) -> PRCurve:
    distinct = _distinct(p, q)
    real, generated = (
        [math.fsum(w for c, w in side.carried() if c.same_as(known)) for known in distinct]
        for side in (p, q)
    )
    return PRCurve.from_histograms(real, generated)
