"""
Curves with their bands
=======================

:func:`precall.report.plot_curves` draws every curve of a result, with its band where there are
intervals. Here the truth is known, two shifted Gaussians, and drawn dashed: all curves are upper
bounds on it, and the best one hugs it.
"""

import precall
from precall.distributions import Gaussian
from precall.report import plot_curves

p, q = Gaussian([0.0] * 8), Gaussian([0.45] * 8)
real, generated = p.sample(1500, seed=0), q.sample(1500, seed=1)
result = precall.evaluate(real, generated, scores=(), intervals=True)
plot_curves(result, truth=precall.true_curve(p, q))

# %%
# The same, curve by curve, as numbers:

print(result.table("curves").to_markdown())
