"""
Everything is shifted
=====================

Usually a mistake of preprocessing: every sample is off by a little in the same direction. The curve
is round. In many dimensions neighbours hardly see it, and a trained classifier does.
"""

import numpy as np

import precall
from precall.report import plot_curves

rng = np.random.default_rng(0)
real, generated = rng.normal(0, 1, (1200, 64)), rng.normal(0.2, 1, (1200, 64))
result = precall.evaluate(
    real, generated, estimators=["ipr", "coverage", "classifier"], scores=(), intervals=True
)
plot_curves(result, truth=precall.GaussianShiftCurve(0.2 * 8))

# %%
# Is there any difference at all?
print(precall.two_sample_test(real, generated, split=True))
