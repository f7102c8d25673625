"""
Curves of several models
========================

Of a comparison :func:`precall.report.plot_curves` draws one curve a model, the best of all
estimators unless another one is named.
"""

import numpy as np

import precall
from precall.report import plot_curves

rng = np.random.default_rng(0)
centres = rng.normal(0, 4, (5, 8))


def draw(weights, n=1000):
    return centres[rng.choice(5, n, p=weights)] + rng.normal(size=(n, 8))


real = draw([0.2, 0.2, 0.2, 0.2, 0.2])
models = {
    "as real": draw([0.2, 0.2, 0.2, 0.2, 0.2]),
    "drops one of five": draw([0.25, 0.25, 0.25, 0.25, 0.0]),
    "re-weights": draw([0.4, 0.3, 0.1, 0.1, 0.1]),
}
found = precall.compare(real, models, estimators=["coverage"], scores=["coverage"])
plot_curves(found)

# %%
# What may be said of the differences:

print(*found.verdicts(), sep="\n")
