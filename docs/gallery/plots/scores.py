"""
Scores with intervals, expected values and ceilings
===================================================

:func:`precall.report.plot_scores` draws every score with its interval, what it would be if both
laws were the same (where that is known), and what real reaches against real.
"""

import numpy as np

import precall
from precall.report import plot_scores

rng = np.random.default_rng(0)
real, generated = rng.normal(0, 1, (1200, 12)), rng.normal(0.15, 0.9, (1200, 12))
result = precall.evaluate(
    real,
    generated,
    estimators=(),
    headline=False,
    scores=["precision", "recall", "density", "coverage", "precision_cover", "frechet_distance"],
    intervals=True,
    ceiling=True,
)
plot_scores(result)
