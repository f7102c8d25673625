"""α-precision and β-recall: how samples fill spheres around a centre (Alaa 2022).

In the space of the features themselves, without the authors' one-class embedding. Both are their
integrated scores: 1 − 2∫|P_α − α| dα, by the same 30 steps.
"""

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.scores.frechet import mean_of

Floats = NDArray[np.float64]

_STEPS = 30
_ROWS_AT_A_TIME = 4096


def alpha_precision(real: FeatureSet, generated: FeatureSet) -> float:
    """How evenly generated samples fill the spheres that hold a share α of the real ones."""
    center = mean_of(real)
    of_real, of_generated = (_distances(features, center) for features in (real, generated))
    alphas = np.linspace(0.0, 1.0, _STEPS)
    radii = np.quantile(of_real, alphas)
    return _evenness(alphas, (of_generated[:, None] <= radii).mean(axis=0))


def beta_recall(
    generated: FeatureSet, nearest: NDArray[np.int64], is_near: NDArray[np.bool_]
) -> float:
    """How evenly real samples are met by generated ones, from the centre of these outwards.

    Parameters
    ----------
    nearest
        (n,) the nearest generated sample of each real one.
    is_near
        (n,) whether it is as near as the nearest other real sample.
    """
    of_nearest = _distances(generated, mean_of(generated))[nearest]
    betas = np.linspace(0.0, 1.0, _STEPS)
    radii = np.quantile(of_nearest, betas)
    return _evenness(betas, (is_near[:, None] & (of_nearest[:, None] <= radii)).mean(axis=0))


def _evenness(shares: Floats, found: Floats) -> float:
    return float(1.0 - 2.0 * np.abs(shares - found).sum() * (shares[1] - shares[0]))


def _distances(features: FeatureSet, center: Floats) -> Floats:
    tiles = features.rows.tiles(_ROWS_AT_A_TIME)
    return np.concatenate([np.sqrt(((tile - center) ** 2).sum(axis=1)) for tile in tiles])
