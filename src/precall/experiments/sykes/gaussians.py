"""The Gaussians of Sykes et al. 2024, and the four methods whose curves are drawn of them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from precall.curves.analytic import GaussianShiftCurve
from precall.curves.error_rates import Evidence
from precall.curves.pr_curve import Curve, PRCurve
from precall.data.feature_sets import FeatureSet
from precall.data.splits import Split
from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator
from precall.evaluation.evidence_pool import plan_folds, pool_evidence
from precall.experiments.scoring import Samples, curves_of
from precall.neighbors.sweeps import open_sweeps
from precall.truth import Gaussian, Mixture

METHODS = ("ipr", "knn", "parzen", "coverage")  # in the order of the paper's tables
K_OF: dict[str, int | Literal["sqrt"]] = {"4": 4, "√n": "sqrt"}
# Sykes et al. 2024 §4.2: of each mode the mean in every coordinate, and the weight under real and
# under generated.
FIGURE_3A = (0.0, -5.0, 3.0, 5.0), (0.3, 0.2, 0.5, 0.0), (0.0, 0.5, 0.2, 0.3)


def gaussian_mixture(
    means: Sequence[float], weights: Sequence[float], n_features: int = 64, variance: float = 1.0
) -> Mixture:
    """Return Σ w_ℓ N(μ_ℓ·1, variance·I) in ``n_features`` dimensions (Sykes et al. 2024 §4.2)."""
    modes = [Gaussian(np.full(n_features, mean), np.array(variance)) for mean in means]
    return Mixture(tuple(modes), np.array(weights))


@dataclass(frozen=True, slots=True)
class ShiftedGaussians:
    """N(0, I) for real, N(μ·1, I) for generated, with μ = δ/√d (Sykes et al. 2024 §4.1)."""

    shift: float  # δ ≥ 0, the distance of the two means
    n_features: int = 64  # d

    @property
    def distributions(self) -> tuple[Gaussian, Gaussian]:
        """P and Q."""
        d = self.n_features
        return Gaussian(np.zeros(d)), Gaussian(np.full(d, self.shift / math.sqrt(d)))

    def draw(self, n: int, rng: np.random.Generator) -> Samples:
        """Draw ``n`` real and ``n`` generated samples."""
        p, q = self.distributions
        return p.draw(n, rng), q.draw(n, rng)

    @property
    def truth(self) -> Curve:
        """The true curve, in closed form; the whole square where P = Q."""
        if self.shift == 0:
            return PRCurve(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
        return GaussianShiftCurve(self.shift)


def method_curves(
    samples: Samples, split: bool, rng: np.random.Generator, ks: Iterable[str] = ("√n",)
) -> dict[str, PRCurve]:
    """Return the curve of every method with every k, named ``"{k} {method}"``."""
    estimators = {
        f"{k} {method}": NEIGHBOR_ESTIMATORS[method](K_OF[k]) for k in ks for method in METHODS
    }
    return curves_of(samples, estimators, split=split, seed=int(rng.integers(2**31)))


def weigh(
    estimators: Mapping[str, Estimator], samples: Samples, split: Split, seed: int
) -> dict[str, Evidence]:
    """Return the evidence of estimators with settled k, in one sweep over one fold."""
    sets = FeatureSet.of(samples[0], "real"), FeatureSet.of(samples[1], "generated")
    with open_sweeps() as sweeps, sweeps.placed(*sets):
        plans = plan_folds(sweeps, estimators, sets, split, seed)
        found = sweeps.measure([plan.ask for plan in plans])
        pools = pool_evidence(sweeps, estimators, sets, plans, found)
    return {name: pool.evidence[0] for name, pool in pools.items()}
