"""
Dropped modes
=============

The model never makes two of eight modes. Precision does not see it; recall, coverage and the right
edge of the curve do, and :func:`precall.find_modes` names the modes.
"""

import numpy as np

import precall
from precall.report import plot_curves, plot_modes

rng = np.random.default_rng(0)
centres = rng.normal(0, 4, (8, 8))


def draw(kinds, n=1200):
    return centres[rng.choice(kinds, n)] + rng.normal(size=(n, 8))


real, generated = draw(8), draw(6)
result = precall.evaluate(real, generated, estimators=["coverage"], intervals=True, modes="auto")
plot_curves(result)

# %%
plot_modes(result.modes)

# %%
for name in ("support_precision", "recall_at_half", "precision", "recall", "coverage"):
    print(f"{name:18} {result.scores[name].value:.2f}")
print(*result.diagnosis(), sep="\n")
assert abs(result.scores["recall_at_half"].value - 0.75) < 0.04
assert result.scores["support_precision"].value > 0.98
