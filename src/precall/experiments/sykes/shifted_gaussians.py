"""Two Gaussians, one of them shifted: the toy of most experiments of Sykes et al. 2024 (§4.1)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from precall.curves.analytic import GaussianShiftCurve
from precall.curves.error_rates import Evidence
from precall.curves.pr_curve import Curve, PRCurve
from precall.data.feature_sets import FeatureSet
from precall.data.splits import Split
from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator
from precall.evaluation.evidence_pool import plan_folds, pool_evidence
from precall.experiments.drawing import Axes, draw_mean_curve, label_pr_axes
from precall.experiments.experiment import Floats, Measurements
from precall.experiments.methods import COLOR_OF, K_OF, LABEL_OF, METHODS
from precall.experiments.scoring import curves_of
from precall.neighbors.sweeps import open_sweeps
from precall.truth import Gaussian


@dataclass(frozen=True, slots=True)
class ShiftedGaussians:
    """N(0, I) for real, N(μ·1, I) for generated, with μ = δ/√d.

    Parameters
    ----------
    shift
        δ ≥ 0, the distance of the two means.
    n_features
        Dimension d.
    """

    shift: float
    n_features: int = 64

    @property
    def distributions(self) -> tuple[Gaussian, Gaussian]:
        """P and Q."""
        d = self.n_features
        return Gaussian(np.zeros(d)), Gaussian(np.full(d, self.shift / math.sqrt(d)))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
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
    samples: tuple[Floats, Floats],
    split: bool | Split,
    rng: np.random.Generator,
    ks: Iterable[str] = ("√n",),
) -> dict[str, PRCurve]:
    """Return the curve of every method with every k, named ``"{k} {method}"``."""
    estimators = {
        f"{k} {method}": NEIGHBOR_ESTIMATORS[method](K_OF[k]) for k in ks for method in METHODS
    }
    return curves_of(samples, estimators, split=split, seed=int(rng.integers(2**31)))


def weigh(
    estimators: Mapping[str, Estimator],
    samples: tuple[Floats, Floats],
    split: Split,
    seed: int,
) -> dict[str, Evidence]:
    """Return the evidence of estimators with settled k, in one sweep over one fold."""
    sets = FeatureSet.of(samples[0], "real"), FeatureSet.of(samples[1], "generated")
    with open_sweeps() as sweeps, sweeps.placed(*sets):
        plans = plan_folds(sweeps, estimators, sets, split, seed)
        found = sweeps.measure([plan.ask for plan in plans])
        pools = pool_evidence(sweeps, estimators, sets, plans, found)
    return {name: pool.evidence[0] for name, pool in pools.items()}


def draw_methods(
    ax: Axes,
    found: Measurements,
    key: str,
    shift: float,
    title: str,
    methods: Sequence[str] = METHODS,
) -> None:
    """Draw the mean curve of every method, kept as ``"{key} {method}"``, and the truth."""
    label_pr_axes(ax, title, ShiftedGaussians(shift).truth)
    for method in methods:
        line = {"color": COLOR_OF[method], "label": LABEL_OF[method]}
        draw_mean_curve(ax, found, f"{key} {method}", **line)
