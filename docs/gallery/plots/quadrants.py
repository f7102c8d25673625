"""
Models by precision and recall
==============================

:func:`precall.report.plot_quadrants` places models by any two scores, by default improved
precision and recall; here by the headline.
"""

import numpy as np

import precall
from precall.report import plot_quadrants

rng = np.random.default_rng(0)
real = rng.normal(size=(800, 8))
noisy = rng.normal(size=(800, 8))
noisy[:500] *= 6
models = {
    "as real": rng.normal(size=(800, 8)),
    "narrow": rng.normal(0, 0.6, (800, 8)),
    "noisy": noisy,
    "elsewhere": rng.normal(4, 1, (800, 8)),
}
found = precall.compare(real, models, estimators=())
plot_quadrants(found, precision="support_precision", recall="recall_at_half")
