"""
How much a score depends on k
=============================

:func:`precall.report.plot_k_sensitivity` draws scores that were computed at several k, and dashed
what they would be if both laws were the same. A conclusion that holds at one k only is a conclusion
about k.
"""

import numpy as np

import precall
from precall.report import plot_k_sensitivity

rng = np.random.default_rng(0)
real, generated = rng.normal(0, 1, (1500, 16)), rng.normal(0.25, 1, (1500, 16))
result = precall.evaluate(
    real,
    generated,
    estimators=(),
    headline=False,
    scores=["precision", "recall", "density", "coverage", "precision_cover"],
    score_k=[1, 2, 3, 5, 10, 20, 40],
)
plot_k_sensitivity(result)
