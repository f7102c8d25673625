"""
Curves, with their bands
========================

:func:`precall.report.plot_curves` draws every curve of a result. Here the truth is known.
"""

import precall
from precall.distributions import Gaussian

p, q = Gaussian([0.0] * 8), Gaussian([0.35] * 8)
result = precall.evaluate(p.sample(1500, seed=0), q.sample(1500, seed=1), intervals=True)
precall.report.plot_curves(result, truth=precall.true_curve(p, q))
