"""
Realism of single samples
=========================

:func:`precall.report.plot_realism` draws how realistic each generated sample is (Kynkäänniemi et
al. 2019): left of 1 no real ball holds it. A tenth of what is generated here is noise.
"""

import numpy as np

import precall
from precall.report import plot_realism

rng = np.random.default_rng(0)
real, generated = rng.normal(size=(2, 1500, 6))
generated[:150] *= 3
result = precall.evaluate(real, generated, estimators=(), headline=False)
plot_realism(result.samples)

# %%
# The least realistic ones, to look at:

print(result.samples.worst_generated(5)["index"])
