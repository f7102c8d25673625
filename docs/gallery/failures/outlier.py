"""
One outlier decides
===================

A single row far away has a ball that holds everything. Improved recall jumps from 0 to 1; the
result names the row, and what the score would be without it.
"""

import numpy as np

import precall

rng = np.random.default_rng(0)
real, generated = rng.normal(size=(1000, 16)), rng.normal(-2, 0.1, (1000, 16))
names = ["recall", "coverage", "recall_cover"]
before = precall.evaluate(real, generated, estimators=(), scores=names)
generated[7] = 50
after = precall.evaluate(real, generated, estimators=(), scores=names)
for name in names:
    print(f"{name:12} {before.scores[name].value:.2f} → {after.scores[name].value:.2f}")

# %%
for influence in after.influences:
    print(influence)
assert after.scores["recall"].value > 0.99
assert after.influences[0].rows == (7,)

# %%
# Where it is:
from precall.report import plot_map

plot_map(real, generated, after.samples)
