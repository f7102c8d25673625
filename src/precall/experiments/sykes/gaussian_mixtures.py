"""Gaussian mixtures whose modes lie far apart, so that their weights alone decide the curve."""

from collections.abc import Sequence

import numpy as np

from precall.truth import Gaussian, Mixture

# Sykes et al. 2024 §4.2: the mean of each mode in every coordinate, its weight under real and under
# generated.
DROPPED_INVENTED_REWEIGHTED = (
    (0.0, -5.0, 3.0, 5.0),
    (0.3, 0.2, 0.5, 0.0),
    (0.0, 0.5, 0.2, 0.3),
)


def gaussian_mixture(
    means: Sequence[float], weights: Sequence[float], n_features: int, variance: float = 1.0
) -> Mixture:
    """Return Σ w_ℓ N(μ_ℓ·1, variance·I) in ``n_features`` dimensions (Sykes et al. 2024 §4.2)."""
    modes = [Gaussian(np.full(n_features, mean), np.array(variance)) for mean in means]
    return Mixture(tuple(modes), np.array(weights))
